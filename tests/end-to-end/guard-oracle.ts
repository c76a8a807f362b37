/**
 * What git commands do to another one's uncommitted work, told by git itself, against what the guard says of them: each
 * is asked of the guard, and run in a copy of the repository whatever the answer was.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type Files, LineWorld } from "./guard-scene.ts";
import { makesOld } from "./guard-world.ts";

/** What ann has not committed, and what is in it; `staged.ts` is staged where a setting says so. */
export const work: Readonly<Record<string, string>> = {
  "a.ts": "ann's\n",
  "new.ts": "ann's new\n",
  "out.log": "ann's, ignored\n",
  "dir/deep.log": "ann's, ignored\n",
};

/** Makes branches that change ann's files or not, and a repository beside this one that it pulls from. */
const repository = `
set -e
commit() { git add -fA; git commit -qm "$1"; }
branch() { git switch -qc "$1" main; eval "$2"; commit "$1"; git switch -q main; }
git init -q -b main; commit first
echo '*.log' >.gitignore; commit ignores
echo two >far2.ts; commit two
echo two >a.ts; commit a
echo three >far2.ts; commit three
branch near 'echo near | tee far.ts >near.ts'
branch hit 'echo hit | tee a.ts >far.ts'
branch news 'echo other >new.ts'
branch logs 'echo other >out.log'
branch folder 'echo a file >dir'
branch stages 'echo other >staged.ts'
branch takes 'rm gone.ts'
git init -q --bare "$PWD.git"
git remote add origin "$PWD.git"
git push -q origin main near:only hit:hit
branch ahead 'echo ahead >far.ts'
git push -q origin ahead:main ahead:fresh
git branch -q -u origin/main
git update-ref -d refs/remotes/origin/fresh
# Few files: a copy is made of them for each setting, and of that one for each line.
git gc -q; git -C "$PWD.git" gc -q; rm -rf .git/hooks "$PWD.git/hooks"
`;

export interface Setting {
  readonly dir: string;
  readonly bob: string;
}

export class OracleWorld extends LineWorld {
  #original: string | null = null;
  #copies = 0;

  /** Commits these files, or that they are gone. */
  commit(dir: string, files: Readonly<Record<string, string | null>>): void {
    for (const [file, text] of Object.entries(files)) {
      if (text === null) this.git(dir, "rm", "-q", file);
      else {
        this.put(dir, file, text);
        this.git(dir, "add", "-f", file);
      }
    }
    this.git(dir, "commit", "-qm", Object.keys(files).join(" "));
  }

  /** The repository of which each setting has a copy. */
  #repository(): string {
    const dir = join(this.folder, "repository");
    for (const file of ["a.ts", "b.ts", "far.ts", "far2.ts", "staged.ts", "gone.ts"]) {
      this.put(dir, file, `${file}\n`);
    }
    this.shell(dir, `${repository}\n${makesOld}`);
    return dir;
  }

  /** A copy of it with ann's work in it. */
  async setting(
    name: string,
    prepare: (dir: string) => void,
    more: Files = {},
    base = work,
  ): Promise<Setting> {
    this.#original ??= this.#repository();
    const dir = join(this.folder, name);
    const copies = [
      'cp -a "$1" "$2" && cp -a "$1.git" "$2.git" && cd "$2" && git remote set-url origin "$2.git"',
      // The files of the copy are others than the index knows.
      "git update-index -q --refresh",
    ];
    this.shell(this.folder, copies.join(" && "), this.#original, dir);
    prepare(dir);
    const [ann, bob] = [`ann-${name}`, `bob-${name}`];
    await this.work(ann, dir, { ...base, ...more });
    await this.work(bob, dir, { "b.ts": "bob's\n" });
    return { dir, bob };
  }

  /** Which of the files a line changes that ann has work in, in a copy; and whether git did what it was told. */
  changedBy({ dir }: Setting, command: string, files: readonly string[]) {
    this.#copies += 1;
    const copy = join(this.folder, `copy-${this.#copies}`);
    // The files of the copy are others than the index knows.
    const script = 'cp -a . "$1" && cd "$1" && { git update-index -q --refresh; exec bash -c "$2"; }';
    const { environment: env } = this;
    const { status, stderr } = spawnSync("bash", ["-c", script, "bash", copy, command], {
      cwd: dir,
      env,
      encoding: "utf8",
    });
    const read = (root: string, file: string) => {
      const path = join(root, file);
      return existsSync(path) ? readFileSync(path, "utf8") : null;
    };
    const changed = files.filter(file => read(copy, file) !== read(dir, file));
    rmSync(copy, { recursive: true });
    return { changed, status, stderr };
  }
}

/** Why a form is denied although git leaves others' work alone. */
const reasons = {
  refuses: "git itself refuses it for what is uncommitted in a file that it would change; Kite says whose",
  stashes:
    "it takes everything out of the files and puts it back: what does not fit any more stays in a stash",
  rare: "what it would change is not looked for; git itself refuses most of them",
  empty: "there is nothing to take just now, but there may be when it runs",
} as const;

export type Form = [line: string, why?: keyof typeof reasons | undefined];

/** Whatever ann's files it changes is denied; whatever leaves them alone passes, but for what is in the list. */
export function forms(
  w: OracleWorld,
  settingOf: () => Setting,
  files: readonly string[],
  all: readonly Form[],
): void {
  it.each<Form>(all)("%s", async (line, why) => {
    const where = settingOf();
    const denied = await w.isDenied(where.bob, where.dir, line);
    const { changed, status, stderr } = w.changedBy(where, line, files);
    const told = `${line} ended with ${status}: ${stderr}`;
    if (changed.length > 0) {
      expect(denied, `${told}\nchanged ${changed.join(", ")} and was let through`).toBe(true);
      expect(why, `${told}\nneeds no reason`).toBeUndefined();
    } else if (why === undefined) {
      expect(denied, `${told}\nchanged nothing and was denied`).toBe(false);
    } else {
      expect(denied, `${told}\nneeds no reason: it passes`).toBe(true);
      if (why === "refuses") expect(status, told).not.toBe(0);
    }
  });
}
