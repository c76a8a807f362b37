/** Git's hook before a commit: who is refused, who is told, and what was there before. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { preCommitFile, preCommitText, putPreCommit } from "../../hooks/install/pre-commit.ts";
import { type Client, Home } from "./daemon.ts";
import { kiteProgram } from "./kite.ts";

let home: Home;
let client: Client;
let hook = "";

const identity = {
  GIT_AUTHOR_NAME: "A",
  GIT_AUTHOR_EMAIL: "a@b.c",
  GIT_COMMITTER_NAME: "A",
  GIT_COMMITTER_EMAIL: "a@b.c",
};
const ann = { CLAUDECODE: "1", CLAUDE_CODE_SESSION_ID: "ann", CODE: "0" };

interface Ran {
  readonly code: number | null;
  readonly said: string;
}

/** Runs git, by default for the agent of session `ann`. */
function git(args: readonly string[], env: Readonly<Record<string, string>> = ann, cwd = home.work): Ran {
  const own = { ...home.environment, ...identity, GIT_EDITOR: "true", ...env };
  const { status, stdout, stderr } = spawnSync("git", args, { cwd, env: own, encoding: "utf8" });
  return { code: status, said: `${stdout}${stderr}` };
}

/** The same of a command that has to succeed. */
function done(...args: readonly string[]): string {
  const { code, said } = git(args, {});
  if (code !== 0) throw new Error(`git ${args.join(" ")}: ${said}`);
  return said.trim();
}

function write(name: string, text: string): void {
  writeFileSync(join(home.work, name), text);
}

function lock(name: string, cwd = home.work): Promise<unknown> {
  return client.ask({ type: "file_lock", id: "bob", file: join(cwd, name) });
}

const person = (): Record<string, string> => ({});
const commits = () => Number(done("rev-list", "--count", "HEAD"));

beforeEach(async () => {
  home = new Home({ work: "my work's" });
  done("init", "-q", "-b", "main");
  for (const name of ["a.ts", "b.ts"]) write(name, "old\n");
  done("add", ".");
  done("commit", "-qm", "first");
  hook = join(home.work, ".git", "hooks", "pre-commit");
  await home.start();
  client = await home.connect();
  for (const id of ["ann", "bob"]) await client.ask({ type: "register", id, cwd: home.work, name: id });
});
afterEach(() => home.dispose());

const install = (...more: readonly string[]) =>
  home.kite("install", "--client", "git", "--project", home.work, ...more);
const uninstall = () => home.kite("uninstall", "--client", "git", "--project", home.work);

describe("a commit", () => {
  beforeEach(async () => {
    await install();
    write("a.ts", "new\n");
    write("b.ts", "new\n");
    await lock("a.ts");
  });

  test("of a file that another agent holds is refused to an agent, who reads who it is and what to do", () => {
    const { code, said } = git(["commit", "-qam", "both"]);
    expect(code).toBe(1);
    expect(said).toBe(
      [
        "kite: git did not commit: other agents have files of this commit:",
        '  "a.ts": "bob" holds it',
        "Leave these files out of the commit, or commit when they are free: kite explain FILE says who has one and for " +
          "how long. To talk to the agent: kite message send bob TEXT",
        "",
      ].join("\n"),
    );
    expect(commits()).toBe(1);
  });

  test("goes on with the other files, with one's own, and without the check where somebody says so", async () => {
    expect(git(["commit", "-qm", "one", "b.ts"])).toEqual({ code: 0, said: "" });
    expect(git(["commit", "-qm", "one", "a.ts"]).code).toBe(1);
    done("add", "a.ts");
    write("c.ts", "new\n");
    done("add", "c.ts");
    // A commit of named files has an index of its own.
    expect(git(["commit", "-qm", "two", "--", "c.ts"]).code).toBe(0);
    expect(git(["commit", "-qm", "three"], { CLAUDECODE: "1", CLAUDE_CODE_SESSION_ID: "bob" }).code).toBe(0);
    write("a.ts", "newer\n");
    expect(git(["commit", "-qam", "four", "--no-verify"]).code).toBe(0);
    expect(commits()).toBe(5);
  });

  test("goes ahead for a person, who is told", () => {
    const { code, said } = git(["commit", "-qam", "both"], person());
    expect(code).toBe(0);
    expect(said).toContain('git commits files that other agents have:\n  "a.ts": "bob" holds it');
    expect(commits()).toBe(2);
  });

  test("is refused below a folder that another agent holds, and whatever a file is called", async () => {
    await client.ask({ type: "file_unlock", id: "bob", file: join(home.work, "a.ts") });
    mkdirSync(join(home.work, "dir"));
    write("dir/x.ts", "new\n");
    await client.ask({ type: "file_lock", id: "bob", file: join(home.work, "dir") });
    const odd = `a "b" 'c'\n$(d).ts`;
    write(odd, "new\n");
    await lock(odd);
    done("add", ".");
    const { code, said } = git(["commit", "-qm", "odd"]);
    expect(code).toBe(1);
    expect(said).toContain('"dir/x.ts": "bob" holds it');
    expect(said).toContain('$(d).ts": "bob" holds it');
    expect(said).not.toContain("'c'\n");
  });

  test("is of the other side where a merge or a rebase brings the file along", async () => {
    await client.ask({ type: "file_unlock", id: "bob", file: join(home.work, "a.ts") });
    expect(git(["commit", "-qam", "main"], person()).code).toBe(0);
    done("checkout", "-qb", "side", "HEAD~1");
    write("a.ts", "side\n");
    write("z.ts", "side\n");
    done("add", ".");
    done("commit", "-qm", "side");
    await lock("z.ts");
    done("checkout", "-q", "main");
    expect(git(["merge", "-q", "side"]).code).toBe(1);
    write("a.ts", "both\n");
    done("add", "a.ts");
    expect(git(["commit", "-qm", "merged"])).toEqual({ code: 0, said: "" });
    expect(git(["commit", "-q", "--amend", "-m", "again"])).toEqual({ code: 0, said: "" });

    done("checkout", "-q", "side");
    expect(git(["rebase", "-q", "main~1"]).code).toBe(1);
    write("a.ts", "both\n");
    done("add", "a.ts");
    expect(git(["rebase", "--continue"]).code).toBe(0);
    // What is resolved is one's own work.
    await lock("a.ts");
    write("a.ts", "more\n");
    expect(git(["commit", "-qa", "--amend", "-m", "again"]).code).toBe(1);
  });

  test("in another worktree has its own files, and the same hook", async () => {
    const other = join(home.root, "other");
    done("worktree", "add", "-q", other);
    writeFileSync(join(other, "a.ts"), "new\n");
    expect(git(["commit", "-qam", "other"], ann, other)).toEqual({ code: 0, said: "" });
    await lock("b.ts", other);
    writeFileSync(join(other, "b.ts"), "new\n");
    expect(git(["commit", "-qam", "other"], ann, other).code).toBe(1);
  });

  test("goes on where the daemon is gone, does not answer, or Kite is gone", async () => {
    home.daemon.signal("SIGSTOP");
    const stopped = git(["commit", "-qam", "hung"]);
    home.daemon.signal("SIGCONT");
    expect(stopped).toMatchObject({ code: 0 });
    expect(stopped.said).toContain("did not answer in time");
    write("a.ts", "newer\n");
    putPreCommit(
      preCommitFile(join(home.work, ".git", "hooks")),
      preCommitText({
        home: home.paths.home,
        socket: home.paths.socket,
        node: "/nowhere/node",
        kite: "/nowhere",
      }),
    );
    expect(git(["commit", "-qam", "no kite"])).toEqual({ code: 0, said: "" });
    await install();
    home.daemon.signal("SIGTERM");
    await home.daemon.exited;
    write("a.ts", "newest\n");
    expect(git(["commit", "-qam", "no daemon"])).toEqual({ code: 0, said: "" });
  });
});

describe("a hook that is there", () => {
  const text = "#!/bin/sh\nprintf 'before\\n' >&2\nexit $CODE\n";
  beforeEach(() => {
    writeFileSync(hook, text);
    chmodSync(hook, 0o755);
  });

  test("runs first, and its exit code counts; afterwards it is as it was", async () => {
    expect(await install()).toContain("the hook that was there runs first");
    expect(await install()).toContain("already installed");
    write("a.ts", "new\n");
    await lock("a.ts");
    const failed = git(["commit", "-qam", "x"], { ...ann, CODE: "7" });
    expect(failed).toEqual({ code: 1, said: "before\n" });
    expect(git(["commit", "-qam", "x"]).said).toMatch(/^before\nkite: git did not commit/);
    expect(await uninstall()).toBe(`restored: ${hook}\n`);
    expect(readFileSync(hook, "utf8")).toBe(text);
    expect(lstatSync(hook).mode & 0o777).toBe(0o755);
    expect(existsSync(`${hook}.before-kite`)).toBe(false);
    expect(await uninstall()).toContain(`no Kite hooks in: ${hook}`);
  });

  test("does not run if git would not run it, and stays a link if it is one", async () => {
    chmodSync(hook, 0o644);
    await install();
    write("a.ts", "new\n");
    expect(git(["commit", "-qam", "x"]).said).not.toContain("before");
    await uninstall();
    expect(lstatSync(hook).mode & 0o777).toBe(0o644);

    writeFileSync(`${hook}.mine`, text);
    chmodSync(`${hook}.mine`, 0o755);
    spawnSync("rm", [hook]);
    symlinkSync("pre-commit.mine", hook);
    await install();
    write("a.ts", "newer\n");
    expect(git(["commit", "-qam", "x"]).said).toBe("before\n");
    await uninstall();
    expect(readlinkSync(hook)).toBe("pre-commit.mine");
  });

  test("of Kite's that somebody changed is left, and said", async () => {
    await install();
    writeFileSync(hook, `${readFileSync(hook, "utf8")}echo mine\n`);
    const changed = readFileSync(hook, "utf8");
    await expect(uninstall()).rejects.toThrow("somebody changed Kite's hook");
    await expect(install()).rejects.toThrow("somebody changed Kite's hook");
    expect(readFileSync(hook, "utf8")).toBe(changed);
  });
});

test("a folder of hooks that a team commits is not written: the line to add is printed, and works", async () => {
  const folder = join(home.work, ".hooks");
  mkdirSync(folder);
  done("config", "core.hooksPath", ".hooks");
  const failed = await install().catch((error: Error) => error.message);
  expect(failed).toContain("Add this line to the pre-commit hook there yourself: ");
  expect(existsSync(join(folder, "pre-commit"))).toBe(false);
  const [, line = ""] = /yourself: (.*)/.exec(String(failed)) ?? [];
  writeFileSync(join(folder, "pre-commit"), `#!/bin/sh -e\n${line}\n`);
  chmodSync(join(folder, "pre-commit"), 0o755);
  write("a.ts", "new\n");
  // Without Kite in the PATH.
  const bare = { ...ann, PATH: "/usr/bin:/bin" };
  expect(git(["commit", "-qam", "x"], bare)).toEqual({ code: 0, said: "" });
  await lock("a.ts");
  write("a.ts", "newer\n");
  const bin = join(home.root, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "kite"), `#!/bin/sh\nexec '${process.execPath}' '${kiteProgram}' "$@"\n`);
  chmodSync(join(bin, "kite"), 0o755);
  expect(git(["commit", "-qam", "x"], { ...ann, PATH: `${bin}:/usr/bin:/bin` }).code).toBe(1);
});

test("a folder of hooks elsewhere gets the hook, and uninstall --all takes it out", async () => {
  const folder = join(home.root, "my hooks");
  done("config", "core.hooksPath", folder);
  expect(await install()).toContain(`in each repository whose core.hooksPath is ${folder}`);
  write("a.ts", "new\n");
  await lock("a.ts");
  expect(git(["commit", "-qam", "x"]).code).toBe(1);
  expect(await home.kite("uninstall", "--all")).toContain(`removed: ${join(folder, "pre-commit")}`);
  expect(existsSync(join(folder, "pre-commit"))).toBe(false);
});

test("a home in which Kite never was gets the hook, and is left without a record of it", async () => {
  const fresh = new Home();
  try {
    spawnSync("git", ["init", "-q"], { cwd: fresh.work });
    const file = join(fresh.work, ".git", "hooks", "pre-commit");
    expect(await fresh.kite("install", "--client", "git")).toContain(`installed: ${file}`);
    expect(existsSync(file)).toBe(true);
    expect(lstatSync(fresh.paths.home).mode & 0o777).toBe(0o700);
    expect(await fresh.kite("uninstall", "--client", "git")).toBe(`removed: ${file}\n`);
    expect(existsSync(fresh.paths.commitHooks)).toBe(false);
  } finally {
    await fresh.dispose();
  }
});

test("outside of a repository nothing is written, and said", async () => {
  await expect(home.kite("install", "--client", "git", "--project", home.root)).rejects.toThrow(
    "is in no git worktree",
  );
});
