/**
 * What git commands do to another one's uncommitted work, told by git itself, against what the guard says of them: each
 * is asked of the guard, and run in a copy of the repository whatever the answer was.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { claudeCode } from "../../hooks/claude-code/adapter.ts";
import { GuardWorld } from "./guard-world.ts";

const w = new GuardWorld();
let uses = 0;

beforeAll(() => w.start("deny", claudeCode));
afterAll(() => w.dispose());

/** What ann has not committed, and what is in it; `staged.ts` is staged where a world says so. */
const work: Readonly<Record<string, string>> = {
  "a.ts": "ann's\n",
  "new.ts": "ann's new\n",
  "out.log": "ann's, ignored\n",
  "dir/deep.log": "ann's, ignored\n",
};

interface Setting {
  readonly dir: string;
  readonly bob: string;
}

const git = (dir: string, ...args: string[]) =>
  w.git(dir, "-c", "user.name=t", "-c", "user.email=t@t", ...args);

function commit(dir: string, files: Readonly<Record<string, string | null>>): void {
  for (const [file, text] of Object.entries(files)) {
    if (text === null) git(dir, "rm", "-q", file);
    else {
      w.put(dir, file, text);
      git(dir, "add", "-f", file);
    }
  }
  git(dir, "commit", "-qm", Object.keys(files).join(" "));
}

/** A repository with branches that change ann's files or not, and one beside it that it pulls from. */
function repository(name: string): string {
  const dir = w.repo(name, ["a.ts", "b.ts", "far.ts", "far2.ts", "staged.ts", "gone.ts"]);
  commit(dir, { ".gitignore": "*.log\n" });
  commit(dir, { "far2.ts": "two\n" });
  commit(dir, { "a.ts": "two\n" });
  commit(dir, { "far2.ts": "three\n" });
  const branch = (to: string, files: Readonly<Record<string, string | null>>) => {
    git(dir, "switch", "-qc", to, "main");
    commit(dir, files);
    git(dir, "switch", "-q", "main");
  };
  branch("near", { "far.ts": "near\n", "near.ts": "near\n" });
  branch("hit", { "a.ts": "hit\n", "far.ts": "hit\n" });
  branch("news", { "new.ts": "other\n" });
  branch("logs", { "out.log": "other\n" });
  branch("folder", { dir: "a file\n" });
  branch("stages", { "staged.ts": "other\n" });
  branch("takes", { "gone.ts": null });
  git(dir, "init", "-q", "--bare", `${dir}.git`);
  git(dir, "remote", "add", "origin", `${dir}.git`);
  git(dir, "push", "-q", "origin", "main", "near:only", "hit:hit");
  git(dir, "switch", "-qc", "ahead", "main");
  commit(dir, { "far.ts": "ahead\n" });
  git(dir, "push", "-q", "origin", "ahead:main", "ahead:fresh");
  git(dir, "switch", "-q", "main");
  git(dir, "branch", "-q", "-u", "origin/main");
  git(dir, "update-ref", "-d", "refs/remotes/origin/fresh");
  // Few files: a copy is made of it for each setting, and of that one for each line.
  for (const of of [join(dir, ".git"), `${dir}.git`]) {
    execFileSync("git", ["gc", "-q"], { cwd: of, env: shellEnv() });
    rmSync(join(of, "hooks"), { recursive: true, force: true });
  }
  return dir;
}

let original: string | null = null;

/** A copy of it with ann's work in it. */
async function setting(
  name: string,
  prepare: (dir: string) => void,
  more: Readonly<Record<string, string>> = {},
  base = work,
) {
  original ??= repository("original");
  const dir = join(w.folder, name);
  execFileSync("cp", ["-a", original, dir]);
  execFileSync("cp", ["-a", `${original}.git`, `${dir}.git`]);
  git(dir, "remote", "set-url", "origin", `${dir}.git`);
  // The files of the copy are others than the index knows.
  git(dir, "update-index", "-q", "--refresh");
  prepare(dir);
  const [ann, bob] = [`ann-${name}`, `bob-${name}`];
  for (const [file, text] of Object.entries({ ...base, ...more })) await edit(ann, dir, file, text);
  await edit(bob, dir, "b.ts", "bob's\n");
  return { dir, bob };
}

const hook = w.event.bind(w);

async function edit(session: string, dir: string, file: string, text: string): Promise<void> {
  expect(await w.wholeEdit(session, dir, file, text)).toBe("");
}

/** Whether the guard denies a line; it does not run here. */
async function isDenied({ dir, bob }: Setting, command: string): Promise<boolean> {
  uses += 1;
  const call = { tool_name: "Bash", tool_input: { command }, tool_use_id: `b${uses}` };
  const said = await hook(bob, dir, { hook_event_name: "PreToolUse", ...call });
  await hook(bob, dir, { hook_event_name: "PostToolUse", tool_response: {}, duration_ms: 5, ...call });
  if (said !== "") expect(said).toContain("may wipe uncommitted work of another agent");
  return said !== "";
}

function shellEnv(): NodeJS.ProcessEnv {
  const { PATH = "" } = process.env;
  const author = { GIT_AUTHOR_NAME: "b", GIT_AUTHOR_EMAIL: "b@b" };
  const committer = { GIT_COMMITTER_NAME: "b", GIT_COMMITTER_EMAIL: "b@b" };
  const home = { HOME: join(w.folder, "home"), GIT_CONFIG_NOSYSTEM: "1", GIT_EDITOR: "true" };
  return { PATH, ...home, ...author, ...committer };
}

/** Which of the files a line changes that ann has work in, in a copy; and whether git did what it was told. */
function changedBy({ dir }: Setting, command: string, files: readonly string[]) {
  const copy = join(w.folder, `copy-${uses}`);
  execFileSync("cp", ["-a", dir, copy]);
  mkdirSync(join(w.folder, "home"), { recursive: true });
  // The files of the copy are others than the index knows.
  const whole = `git update-index -q --refresh; ${command}`;
  const { status, stderr } = spawnSync("bash", ["-c", whole], {
    cwd: copy,
    env: shellEnv(),
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

/** Why a form is denied although git leaves others' work alone. */
const reasons = {
  refuses: "git itself refuses it for what is uncommitted in a file that it would change; Kite says whose",
  stashes:
    "it takes everything out of the files and puts it back: what does not fit any more stays in a stash",
  rare: "what it would change is not looked for; git itself refuses most of them",
  empty: "there is nothing to take just now, but there may be when it runs",
} as const;

type Form = readonly [line: string, why?: keyof typeof reasons | undefined];

/** Whatever ann's files it changes is denied; whatever leaves them alone passes, but for what is in the list. */
function forms(settingOf: () => Setting, files: readonly string[], all: readonly Form[]): void {
  it.each(all.map(([line, why]) => ({ line, why })))("$line", async ({ line, why }) => {
    const where = settingOf();
    const denied = await isDenied(where, line);
    const { changed, status, stderr } = changedBy(where, line, files);
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

describe("with work in files that are not staged", () => {
  let here: Setting;
  beforeAll(async () => {
    here = await setting("plain", () => {});
  });

  forms(() => here, Object.keys(work), [
    ["git merge near"],
    ["git merge --no-ff near"],
    ["git merge --squash near"],
    ["git merge hit", "refuses"],
    ["git merge --no-commit hit", "refuses"],
    ["git merge news"],
    ["git merge logs"],
    ["git merge folder"],
    ["git merge near takes"],
    ["git merge near hit", "refuses"],
    ["git merge -m 'a --autostash b' near"],
    ["git merge --autostash near", "stashes"],
    ["git merge --autostash hit"],
    ["git -c merge.autoStash=true merge near", "stashes"],
    ["git -c merge.autoStash=true merge --no-autostash near"],
    ["git config merge.autostash yes; git merge near", "stashes"],
    ["git merge HEAD~2"],
    ["git merge main"],
    ["git merge none"],
    ["git merge"],
    ["git merge --abort"],
    ["git merge --quit"],
    ["git merge near && git merge --abort"],
    ["git merge hit || git merge --abort", "refuses"],
    ["git pull"],
    ["git pull --ff-only"],
    ["git pull --no-rebase --no-edit"],
    ["git pull origin"],
    ["git pull origin main"],
    ["git pull origin fresh"],
    ["git pull origin hit", "refuses"],
    ["git pull --rebase"],
    ["git pull --autostash", "stashes"],
    ["git pull --rebase --autostash", "stashes"],
    ["git -c rebase.autoStash=true pull --rebase", "stashes"],
    ["git fetch && git merge origin/main"],
    ["git fetch"],
    ["git switch near"],
    ["git switch -q --no-guess near"],
    ["git switch hit", "refuses"],
    ["git switch news"],
    ["git switch logs"],
    ["git switch folder"],
    ["git switch takes"],
    ["git switch -"],
    ["git switch -c topic"],
    ["git switch -c topic near"],
    ["git switch -C topic hit", "refuses"],
    ["git switch --detach HEAD~1"],
    ["git switch --detach HEAD~2", "refuses"],
    ["git switch only"],
    ["git switch none"],
    ["git switch --orphan bare", "refuses"],
    ["git switch -f near"],
    ["git switch --discard-changes near"],
    ["git switch -m near", "rare"],
    ["git switch -m hit"],
    ["git checkout near"],
    ["git checkout near --"],
    ["git checkout hit", "refuses"],
    ["git checkout logs"],
    ["git checkout only"],
    ["git checkout -"],
    ["git checkout main"],
    ["git checkout HEAD~0"],
    ["git checkout HEAD~1"],
    ["git checkout -b topic near"],
    ["git checkout -B topic hit", "refuses"],
    ["git checkout --orphan bare"],
    ["git checkout --orphan bare hit", "refuses"],
    ["git checkout --detach"],
    ["git checkout -t origin/only"],
    ["git checkout none"],
    ["git checkout a.ts"],
    ["git checkout b.ts"],
    ["git checkout dir"],
    ["git checkout -f near"],
    ["git checkout -m hit"],
    ["git checkout -- b.ts"],
    ["git checkout -- ."],
    ["git checkout near -- far.ts"],
    ["git checkout hit -- a.ts"],
    ["git checkout hit ."],
    ["git cherry-pick near"],
    ["git cherry-pick -n near"],
    ["git cherry-pick main..near takes"],
    ["git cherry-pick hit", "refuses"],
    ["git cherry-pick main..hit", "refuses"],
    ["git cherry-pick logs"],
    ["git cherry-pick --abort"],
    ["git cherry-pick --quit"],
    ["git revert --no-edit HEAD"],
    ["git revert --no-edit HEAD~1", "refuses"],
    ["git revert --no-edit HEAD~2..HEAD", "refuses"],
    ["git revert --abort"],
    ["git rebase near"],
    ["git rebase hit", "refuses"],
    ["git rebase --onto near HEAD~1"],
    ["git rebase --autostash near", "stashes"],
    ["git rebase --autostash hit"],
    ["git -c rebase.autostash rebase near", "stashes"],
    ["git rebase -x true near", "rare"],
    ["git rebase --abort"],
    ["git rebase --skip"],
    ["git rebase --continue"],
    ["git am --abort"],
    ["git diff main near | git am"],
    ["git format-patch -q -1 hit --stdout | git am"],
    ["git reset --keep near"],
    ["git reset --keep hit", "refuses"],
    ["git reset --keep"],
    ["git reset --keep HEAD~1"],
    ["git reset --merge"],
    ["git reset --merge near"],
    ["git reset --merge hit", "refuses"],
    ["git reset --hard"],
    ["git reset --hard near"],
    ["git diff -R | git apply"],
    ["git diff -R >../p; git apply ../p"],
    ["git diff -R HEAD -- a.ts | git apply"],
    ["git diff -R -- b.ts | git apply"],
    ["git diff -R main near | git apply || true", "rare"],
    ["git diff main near | git apply"],
    ["git diff main near | git apply --check"],
    ["git apply <<'E'\n--- a/a.ts\n+++ b/a.ts\n@@ -1 +1 @@\n-ann's\n+bob's\nE"],
    ["git apply <<'E'\n--- a/b.ts\n+++ b/b.ts\n@@ -1 +1 @@\n-bob's\n+more\nE"],
    ["cd .. && cd - && git apply <<'E'\n--- a/new.ts\n+++ /dev/null\n@@ -1 +0,0 @@\n-ann's new\nE"],
    ["git reset --h"],
    ["return; git reset --hard"],
    ["break; git stash"],
    ["$NONE git stash"],
    ["git --icase-pathspecs checkout -- A.TS"],
    ["GIT_ICASE_PATHSPECS=1 git checkout -- A.TS"],
    ["git checkout-index --prefix=./ -fa"],
    ["git checkout-index -fa --prefix=../out/"],
    ["git checkout-index -fa --prefix=out/"],
    ["git reset --soft near"],
    ["git reset near"],
    ["git add -A -- b.ts && git reset --merge", "empty"],
    ["git stash"],
    ["git stash -u"],
    ["git stash -a"],
    ["git stash push -- b.ts"],
    ["git stash pop", "rare"],
    ["git stash drop", "rare"],
    ["git restore ."],
    ["git restore b.ts"],
    ["git clean -fd"],
    ["git clean -fdx"],
    ["git clean -fdX"],
    ["git clean -fX"],
    ["git rm -f a.ts"],
    ["git rm a.ts", "refuses"],
    ["git mv a.ts c.ts"],
    ["git bisect start HEAD HEAD~3", "rare"],
    ["git bisect reset"],
    ["git read-tree -m -u HEAD", "rare"],
    ["git read-tree --reset -u HEAD"],
    ["git sparse-checkout set dir", "rare"],
    ["git worktree add -q ../side near"],
    ["git branch -f near main"],
  ]);
});

describe("with work in files that git does not know", () => {
  const { "a.ts": _, ...unknown } = work;
  let here: Setting;
  beforeAll(async () => {
    here = await setting(
      "unknown",
      dir => {
        git(dir, "tag", "logs-tree", "logs^{tree}");
        w.put(dir, "staged.log", "stashed\n");
        git(dir, "add", "-f", "staged.log");
        git(dir, "stash", "-q");
      },
      { "staged.log": "ann's, ignored\n", "sub/new.ts": "ann's new\n" },
      unknown,
    );
  });

  forms(
    () => here,
    [...Object.keys(unknown), "staged.log", "sub/new.ts"],
    [
      ...["near", "news", "logs", "folder", "takes"].flatMap((to): Form[] => [
        [`git checkout ${to}`],
        [`git switch ${to}`],
        [`git checkout -m ${to}`],
        [`git switch -m ${to}`],
        [`git checkout -f ${to}`],
        [`git switch -f ${to}`],
        [`git switch --discard-changes -C topic ${to}`, to === "news" ? "refuses" : undefined],
        [`git checkout -fB topic ${to}`],
        [`git reset --hard ${to}`],
        [`git reset --keep ${to}`],
        [`git reset --merge ${to}`],
        [`git merge ${to}`],
        [`git merge --autostash ${to}`],
        [`git -c merge.autostash=true merge ${to}`],
        [`git rebase --autostash ${to}`],
        [`git cherry-pick ${to}`],
        [`git checkout ${to} -- .`],
        [`git checkout ${to} .`],
        [`git restore --source=${to} .`],
        [`git restore -s ${to} -SW .`],
        [`git restore -s ${to} --staged .`],
        [`git read-tree -u --reset ${to}`],
        [`git read-tree -u -m ${to}`],
        [`git read-tree ${to}`],
      ]),
      ["git checkout -f"],
      ["git checkout -- ."],
      ["git checkout -f logs-tree -- out.log"],
      ["git checkout news -- new.ts"],
      ["git checkout news new.ts"],
      ["git checkout news -- far.ts"],
      ["git checkout news~1 -- ."],
      ["git restore --source news new.ts"],
      ["git restore --source news far.ts"],
      ["git restore ."],
      ["git restore -SW ."],
      ["git reset --hard"],
      ["git reset --hard none"],
      ["git reset -q near"],
      ["git switch -f only"],
      ["git stash"],
      ["git stash pop"],
      ["git stash apply stash@{0}"],
      ["git stash apply 0"],
      ["git stash drop"],
      ["git mv -f far.ts new.ts"],
      ["git mv far.ts new.ts"],
      ["git mv -f far.ts ./out.log"],
      ["git mv -f far.ts sub/"],
      ["git mv -f far.ts sub"],
      ["mkdir x; git mv far.ts x/new.ts; git mv -f x/new.ts sub"],
      ["git mv -f far.ts far3.ts"],
      ["git rm -f far.ts"],
    ],
  );
});

describe("with work in folders that a pattern names", () => {
  const theirs = { "pkg/ui/src/a.ts": "ann's\n", "pkg/ui/new.ts": "ann's new\n" };
  let here: Setting;
  beforeAll(async () => {
    const known = { "pkg/ui/src/a.ts": "a\n", "pkg/core/src/c.ts": "c\n", "other/b.ts": "b\n" };
    here = await setting("folders", dir => commit(dir, known), {}, theirs);
  });

  forms(() => here, Object.keys(theirs), [
    ["git checkout -- pkg/*/src"],
    ["git checkout -- pkg/*/src/"],
    ["git checkout -- pkg/*/src//"],
    ["git checkout -- pkg/*/src/."],
    ["git checkout -- pkg/*/src/.."],
    ["git checkout HEAD -- */"],
    ["git restore ./*/"],
    ["git restore pkg/*/"],
    ["git restore p?g/"],
    ["git restore [op]*/"],
    ["git restore pkg/c*/"],
    ["git restore o*/"],
    ["git stash push -- pkg/*/src/"],
    ["git rm -rf pkg/*/"],
    ["git rm -rf o*/"],
    ["git clean -fdX"],
    ["git clean -fdX pkg"],
    ["git clean -fdx pkg"],
    ["git clean -fdq */"],
    ["git clean -fdq pkg/*/"],
    ["git clean -fdq o*/"],
    ["cd pkg && git checkout -- */src/"],
    ["cd pkg/ui && git checkout -- ../*/src/"],
    ["for d in p*/; do git checkout -- $d; done"],
    ['git checkout -- "$PWD"/*/'],
    ["git checkout -- pkg/{ui,core}/src/"],
  ]);
});

describe("with work in folders whose names look like patterns", () => {
  const theirs = { "app/[id]/page.tsx": "ann's\n", "app/[id]/more/new.tsx": "ann's new\n" };
  let here: Setting;
  beforeAll(async () => {
    const known = { "app/[id]/page.tsx": "a\n", "app/[id]/x/c.tsx": "c\n", "app/i/page.tsx": "c\n" };
    here = await setting("brackets", dir => commit(dir, known), {}, theirs);
  });

  forms(() => here, Object.keys(theirs), [
    ["git checkout -- 'app/[id]/page.tsx'"],
    ["git checkout -- app/\\[id\\]/page.tsx"],
    ["git checkout -- app/\\[id\\]/*.tsx"],
    ['git checkout -- "app/[id]"/*.tsx'],
    ['git checkout -- "app/[id]"/[op]*'],
    ["git checkout -- app/[[]id]/page.tsx"],
    ["git checkout -- app/[[:punct:]]id]/"],
    ["git checkout -- 'app/[id]/x'"],
    ['git checkout -- "app/[id]"/x/*'],
    ["D='app/[id]'; git restore \"$D\"/*.tsx"],
    ["cd 'app/[id]' && git checkout -- '*.tsx'"],
    ["cd 'app/[id]' && git checkout -- page.*"],
    ["cd 'app/[id]' && git checkout -- x/*"],
    ["cd 'app/[id]' && git clean -fdq -- '*.tsx'"],
    ["git -C 'app/[id]' checkout -- '*.tsx'"],
  ]);
});

describe("with work in a file that is out of the index", () => {
  let here: Setting;
  beforeAll(async () => {
    here = await setting("taken-out", () => {}, {}, { "a.ts": "ann's\n" });
    git(here.dir, "rm", "-q", "--cached", "a.ts");
  });

  forms(
    () => here,
    ["a.ts"],
    [
      ["git stash"],
      ["git reset --hard"],
      ["git checkout -f"],
      ["git checkout HEAD -- ."],
      ["git restore -SW ."],
      ["git restore ."],
      ["git switch near"],
    ],
  );
});

describe("with new work that a line puts into the index and takes out again", () => {
  const files = ["new.ts", "added.ts", "out.log"];
  let here: Setting;
  beforeAll(async () => {
    const theirs = Object.fromEntries(files.map(file => [file, "ann's\n"]));
    here = await setting("line", () => {}, {}, theirs);
    git(here.dir, "add", "added.ts");
  });

  forms(() => here, files, [
    ["git add -N new.ts && git rm -qf --cached new.ts && git stash"],
    ["git reset -q; git clean -fd -- b.ts"],
    ["git reset -q b.ts; git clean -fd -- added.ts"],
    ["git reset -q -- b.ts; git clean -fd -- added.ts"],
    ["git reset -q; git clean -fd -- added.ts"],
    ["git reset -q HEAD added.ts; git clean -fd -- added.ts"],
    ["git rm -q --cached added.ts && git clean -fd -- added.ts"],
    ["git update-index --force-remove added.ts && git clean -fd -- added.ts"],
    ["git restore --staged . && git clean -fd -- added.ts"],
    ["git restore --staged . && git stash -u -- added.ts"],
    ["git add -A && git rm -f new.ts"],
    ["git add . && git checkout -f near"],
    ["git add new.ts && git stash -- new.ts"],
    ["git add new.ts && git rm -f new.ts"],
    ["git add -f out.log && git rm -f out.log"],
    ["git add -N new.ts && git rm -f new.ts"],
    ["git update-index --add new.ts && git rm -f new.ts"],
    ["git add b.ts && git stash -- b.ts"],
    ["git add b.ts && git commit -qm b -- b.ts && git switch near"],
    ["git -C . add -A && (cd . && git rm -f new.ts)"],
  ]);
});

describe("with work that is staged, too", () => {
  let here: Setting;
  beforeAll(async () => {
    here = await setting("staged", () => {}, { "staged.ts": "ann's\n", "added.ts": "ann's\n" });
    git(here.dir, "add", "staged.ts", "added.ts");
  });

  forms(
    () => here,
    [...Object.keys(work), "staged.ts", "added.ts"],
    [
      ["git merge near"],
      ["git merge stages", "refuses"],
      ["git merge --abort"],
      ["git switch near"],
      ["git switch stages", "refuses"],
      ["git checkout -b topic near"],
      ["git cherry-pick near"],
      ["git cherry-pick -n near"],
      ["git revert --no-edit HEAD"],
      ["git rebase near"],
      ["git pull --ff-only"],
      ["git reset --keep near"],
      ["git reset --merge"],
      ["git reset --merge near"],
      ["git reset --hard"],
      ["git switch -m stages", "refuses"],
      ["git merge --autostash near", "stashes"],
    ],
  );
});

describe("in the middle of something that another one began", () => {
  const states: readonly (readonly [name: string, begin: string, end: readonly Form[]])[] = [
    [
      "merge",
      "git merge far || true",
      [
        ["git merge --abort"],
        ["git merge --quit"],
        ["git reset --merge"],
        ["git cherry-pick --abort"],
        ["git rebase --abort"],
      ],
    ],
    [
      "cherry-pick",
      "git cherry-pick far || true",
      [["git cherry-pick --abort"], ["git cherry-pick --skip"], ["git merge --abort"]],
    ],
    ["revert", "git revert --no-edit HEAD~1 || true", [["git revert --abort"], ["git merge --abort"]]],
    [
      "rebase",
      "git rebase far || true",
      [["git rebase --abort"], ["git rebase --skip"], ["git merge --abort"]],
    ],
  ];
  for (const [name, begin, end] of states) {
    describe(name, () => {
      let here: Setting;
      beforeAll(async () => {
        here = await setting(
          `during-${name}`,
          dir => {
            git(dir, "switch", "-qc", "far", "HEAD~1");
            commit(dir, { "far2.ts": "other\n" });
            git(dir, "switch", "-q", "main");
            commit(dir, { "far2.ts": "four\n" });
            commit(dir, { "far2.ts": "five\n" });
            execFileSync("bash", ["-c", begin], { cwd: dir, env: shellEnv(), stdio: "pipe" });
            expect(git(dir, "ls-files", "-u")).not.toBe("");
          },
          { "staged.ts": "ann's\n" },
        );
        git(here.dir, "add", "staged.ts");
      });
      forms(() => here, [...Object.keys(work), "staged.ts"], end);
    });
  }
});

describe("under somebody who holds a file or a folder", () => {
  const held = async (name: string, what: string) => {
    const here = await setting(name, dir => w.put(dir, "src/c.ts", "c\n"));
    const client = await w.client();
    expect(await client.ask({ type: "file_lock", id: `ann-${name}`, file: what })).toMatchObject({
      ok: true,
    });
    return here;
  };

  it("a file that would change stays as it is, others may change", async () => {
    const here = await held("held", "far.ts");
    expect(await isDenied(here, "git switch near")).toBe(true);
    expect(await isDenied(here, "git merge near")).toBe(true);
    expect(await isDenied(here, "git switch takes")).toBe(false);
    expect(await isDenied(here, "git revert --no-edit HEAD")).toBe(false);
  });

  it("a folder, with all that is in it", async () => {
    const here = await held("folder", "dir/");
    expect(await isDenied(here, "git switch folder")).toBe(true);
    expect(await isDenied(here, "git switch near")).toBe(false);
  });
});

describe("looking at what would change", () => {
  const traps: readonly (readonly [name: string, set: (dir: string, ran: string) => void])[] = [
    ["a diff of its own", (dir, ran) => git(dir, "config", "diff.external", `touch ${ran};`)],
    [
      "a driver for some files",
      (dir, ran) => {
        git(dir, "config", "diff.x.command", `touch ${ran};`);
        git(dir, "config", "diff.x.textconv", `touch ${ran};`);
        git(dir, "config", "filter.x.clean", `touch ${ran}; cat`);
        w.put(dir, ".git/info/attributes", "* diff=x filter=x\n");
      },
    ],
    ["a monitor of the files", (dir, ran) => git(dir, "config", "core.fsmonitor", `touch ${ran};`)],
    [
      "an editor, a pager and a hook",
      (dir, ran) => {
        git(dir, "config", "core.pager", `touch ${ran};`);
        git(dir, "config", "pager.diff-tree", `touch ${ran};`);
        git(dir, "config", "core.sshCommand", `touch ${ran};`);
        w.put(dir, ".git/hooks/post-checkout", `#!/bin/sh\ntouch ${ran}\n`);
      },
    ],
  ];

  it.each(traps)("runs nothing that a repository names: %s", async (name, set) => {
    const here = await setting(`trap-${traps.findIndex(([each]) => each === name)}`, () => {});
    const ran = join(w.folder, `ran-${uses}`);
    set(here.dir, ran);
    for (const line of [
      "git merge near",
      "git cherry-pick main..near",
      "git rebase near",
      "git checkout none",
      "git pull",
    ]) {
      expect(await isDenied(here, line), line).toBe(false);
    }
    expect(await isDenied(here, "git merge hit")).toBe(true);
    expect(existsSync(ran)).toBe(false);
  });

  it("words that only look like a branch do nothing to git", async () => {
    const here = await setting("words", () => {});
    const lines = [
      "git switch -- --output=x",
      "git merge '--upload-pack=x'",
      "git checkout 'a b'",
      "git cherry-pick '^near' hit",
      "git merge ''",
      "git checkout :/nothing",
      "git checkout '@{9999}'",
    ];
    for (const line of lines) await isDenied(here, line);
    expect(existsSync(join(here.dir, "x"))).toBe(false);
  });
});
