import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import { GitChild, oidOf } from "../../daemon/facts/git/process.ts";
import { GitFacts } from "../../daemon/facts/repositories.ts";
import { SharedRuns } from "../../daemon/facts/work-clock.ts";
import { StateFacts, type WorktreeState } from "../../daemon/facts/worktree-state.ts";
import { limits } from "../../protocol/limits.ts";
import { Random } from "../simulation/random.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const top = temporaryFolder("kite-state-");
let count = 0;

const environment = () => ({ PATH: process.env["PATH"] ?? "", HOME: top, GIT_CONFIG_NOSYSTEM: "1" });

function git(cwd: string, ...args: string[]): string {
  const who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"];
  const options = { cwd, env: environment(), stdio: "pipe", encoding: "utf8" } as const;
  return execFileSync("git", [...who, "-c", "init.defaultBranch=trunk", ...args], options);
}

/** The first repository with these committed files; each test gets a copy. */
const first = new Map<string, string>();

/** A repository with some committed files, that the index knows for sure. */
function repo(files: Record<string, string> = { "a.ts": "a\n", "src/b.ts": "b\n" }): string {
  const dir = join(top, `r${count++}`);
  const known = JSON.stringify(files);
  const origin = first.get(known) ?? commit(files);
  first.set(known, origin);
  cpSync(origin, dir, { recursive: true, preserveTimestamps: true });
  git(dir, "update-index", "-q", "--refresh");
  return dir;
}

function commit(files: Record<string, string>): string {
  const dir = join(top, `first${first.size}`);
  mkdirSync(dir);
  git(dir, "init");
  for (const [file, text] of Object.entries(files)) write(dir, file, text);
  git(dir, "add", "-A");
  git(dir, "commit", "-m", "first", "--allow-empty");
  settle(dir);
  return dir;
}

function write(dir: string, file: string, text: string): void {
  mkdirSync(dirname(join(dir, file)), { recursive: true });
  writeFileSync(join(dir, file), text);
}

/** Makes the index newer than the files: they count as unchanged by their stat alone. */
function settle(dir: string): void {
  const past = new Date(Date.now() - 60_000);
  for (const file of git(dir, "ls-files", "-z").split("\0"))
    if (file !== "" && lstatSync(join(dir, file)).isFile()) utimesSync(join(dir, file), past, past);
  git(dir, "update-index", "-q", "--refresh");
}

function facts(outside = new BudgetedFs(), child = new GitChild(environment())): StateFacts {
  const repositories = new GitFacts({ outside });
  return new StateFacts(outside, child, directory => repositories.lookUp(directory));
}

const gitDirs = new Map<string, string>();

function gitDirOf(dir: string): string {
  const gitDir = gitDirs.get(dir) ?? git(dir, "rev-parse", "--absolute-git-dir").trim();
  gitDirs.set(dir, gitDir);
  return gitDir;
}

async function asked(dir: string, from = facts()) {
  return from.of({ worktree: dir, gitDir: gitDirOf(dir) });
}

async function state(dir: string, from = facts()): Promise<WorktreeState> {
  const found = await asked(dir, from);
  if ("unreachable" in found) throw new Error(found.unreachable);
  return found;
}

const blob = (text: string) => oidOf(Buffer.from(text), 40);
const changed = async (dir: string) => Object.fromEntries((await state(dir)).changed);

describe("the state of a worktree", () => {
  test("is its commit, and nothing else while no file differs", async () => {
    const dir = repo();
    const first = await state(dir);
    expect(first).toMatchObject({ commit: git(dir, "rev-parse", "HEAD").trim(), changed: new Map() });
    expect(first.dirty).toMatch(/^[0-9a-f]{64}$/);
    git(dir, "commit", "--allow-empty", "-m", "second");
    const second = await state(dir);
    expect(second.commit).not.toBe(first.commit);
    expect(second.dirty).toBe(first.dirty);
  });

  test("names each kind of change by mode and content", async () => {
    const dir = repo({
      "a.ts": "a\n",
      "src/b.ts": "b\n",
      gone: "g\n",
      exec: "e\n",
      link: "l\n",
      same: "s\n",
    });
    write(dir, "a.ts", "aa\n");
    write(dir, "src/b.ts", "staged\n");
    git(dir, "add", "src/b.ts");
    unlinkSync(join(dir, "gone"));
    chmodSync(join(dir, "exec"), 0o755);
    unlinkSync(join(dir, "link"));
    symlinkSync("a.ts", join(dir, "link"));
    write(dir, "same", "s\n");
    write(dir, "new/c.ts", "c\n");
    expect(await changed(dir)).toEqual({
      "a.ts": `100644 ${blob("aa\n")}`,
      exec: `100755 ${blob("e\n")}`,
      gone: "gone",
      link: `120000 ${blob("a.ts")}`,
      "new/c.ts": `100644 ${blob("c\n")}`,
      "src/b.ts": `100644 ${blob("staged\n")}`,
    });
  });

  test("is the same for the same content, staged or not, and another for any other", async () => {
    const dir = repo();
    const seen = new Set<string>([(await state(dir)).dirty]);
    for (const text of ["x\n", "y\n", "x\ny\n"]) {
      write(dir, "a.ts", text);
      const { dirty } = await state(dir);
      expect(seen.has(dirty)).toBe(false);
      seen.add(dirty);
      git(dir, "add", "a.ts");
      expect((await state(dir)).dirty).toBe(dirty);
      git(dir, "reset", "-q");
      expect((await state(dir)).dirty).toBe(dirty);
    }
    write(dir, "a.ts", "a\n");
    expect((await state(dir)).changed.size).toBe(0);
  });

  test("leaves out what git ignores, and what is as committed however the index has it", async () => {
    const dir = repo({ "a.ts": "a\n", ".gitignore": "*.log\nout/\n", "kept.log": "k\n" });
    write(dir, "x.log", "1");
    write(dir, "out/y.ts", "2");
    expect(await changed(dir)).toEqual({});
    git(dir, "rm", "-q", "--cached", "a.ts");
    expect(await changed(dir)).toEqual({});
    write(dir, "a.ts", "other\n");
    git(dir, "add", "a.ts");
    write(dir, "a.ts", "a\n");
    expect(await changed(dir)).toEqual({});
    write(dir, "only-staged.ts", "1");
    git(dir, "add", "only-staged.ts");
    unlinkSync(join(dir, "only-staged.ts"));
    expect(await changed(dir)).toEqual({});
    git(dir, "add", "-f", "x.log");
    expect(await changed(dir)).toEqual({ "x.log": `100644 ${blob("1")}` });
  });

  test("sees a change of the same length in the index's own second", async () => {
    const dir = repo();
    for (const text of ["x\n", "y\n", "z\n"]) {
      write(dir, "a.ts", text);
      git(dir, "add", "a.ts");
      write(dir, "a.ts", text.replace(/./, "q"));
      expect(await changed(dir)).toEqual({ "a.ts": `100644 ${blob("q\n")}` });
    }
  });

  test("sees what is hidden from git status by marks in the index", async () => {
    const dir = repo({ a: "a\n", b: "b\n", c: "c\n" });
    git(dir, "update-index", "--assume-unchanged", "a");
    git(dir, "update-index", "--skip-worktree", "b", "c");
    write(dir, "a", "hidden\n");
    write(dir, "b", "hidden too\n");
    unlinkSync(join(dir, "c"));
    expect(git(dir, "status", "--porcelain")).toBe("");
    // A file that is marked and absent is a sparse checkout's.
    expect(Object.keys(await changed(dir))).toEqual(["a", "b"]);
  });

  test("before the first commit is of all files", async () => {
    const dir = join(top, `r${count++}`);
    mkdirSync(dir);
    git(dir, "init");
    expect(await state(dir)).toMatchObject({ commit: null, changed: new Map() });
    write(dir, "a", "1");
    write(dir, "b", "2");
    git(dir, "add", "a");
    expect(await state(dir)).toMatchObject({ commit: null });
    expect(Object.keys(await changed(dir))).toEqual(["a", "b"]);
  });

  test("of a linked worktree is its own", async () => {
    const dir = repo();
    const tree = join(top, `t${count++}`);
    git(dir, "worktree", "add", "-q", "-b", "other", tree);
    write(tree, "a.ts", "other\n");
    expect(Object.keys(await changed(tree))).toEqual(["a.ts"]);
    expect(await changed(dir)).toEqual({});
  });

  test("counts a linked worktree in it as one directory: it has a state of its own", async () => {
    const dir = repo();
    git(dir, "worktree", "add", "-q", "-b", "inner", join(dir, "inner"));
    const before = await state(dir);
    expect(Object.fromEntries(before.changed)).toEqual({ "inner/": "a worktree" });
    write(dir, "inner/a.ts", "work of another session\n");
    expect((await state(dir)).dirty).toBe(before.dirty);
    // One that only says so is a repository like any other.
    rmSync(join(dir, ".git", "worktrees", "inner", "gitdir"));
    const strange = await state(dir);
    expect(strange.changed.get("inner/")).toMatch(/^a repository at /);
    write(dir, "inner/a.ts", "other work\n");
    expect((await state(dir)).dirty).not.toBe(strange.dirty);
  });

  test("includes the commit and the work of a repository that git does not track, and of one in that", async () => {
    const dir = repo();
    for (const inner of ["inner", "inner/deep"]) {
      mkdirSync(join(dir, inner));
      git(join(dir, inner), "init");
    }
    const seen = new Set<string>();
    const isNew = async () => {
      const { dirty } = await state(dir);
      const known = seen.has(dirty);
      seen.add(dirty);
      return !known;
    };
    expect(await isNew()).toBe(true);
    for (const [file, text] of [
      ["inner/x", "1"],
      ["inner/x", "2"],
      ["inner/deep/y", "1"],
      ["inner/deep/y", "2"],
    ] as const) {
      write(dir, file, text);
      expect(await isNew(), `${file} ${text}`).toBe(true);
    }
    git(join(dir, "inner"), "add", "x");
    git(join(dir, "inner"), "commit", "-qm", "x");
    expect(await isNew()).toBe(true);
  });

  test("differs once a submodule is emptied, and is not told if files hide in one", async () => {
    const inner = repo({ x: "x\n" });
    const dir = repo();
    git(dir, "submodule", "--quiet", "add", inner, "lib");
    git(dir, "commit", "-qm", "lib");
    const full = await state(dir);
    git(dir, "submodule", "--quiet", "deinit", "-f", "lib");
    const empty = await state(dir);
    expect([empty.changed.size, empty.dirty === full.dirty]).toEqual([0, false]);
    expect(full.absent).toBe("");
    expect(empty.absent).not.toBe("");
    write(dir, "lib/x", "nobody's\n");
    expect(await asked(dir)).toEqual({
      unreachable: expect.stringContaining("a submodule without its repository, and there are files in it"),
    });
  });

  test("differs once a file is left out that the index marks, and once another one is", async () => {
    const dir = repo({ a: "a\n", b: "b\n" });
    git(dir, "update-index", "--skip-worktree", "a", "b");
    const states = [await state(dir)];
    unlinkSync(join(dir, "a"));
    states.push(await state(dir));
    write(dir, "a", "a\n");
    unlinkSync(join(dir, "b"));
    states.push(await state(dir));
    expect(new Set(states.map(({ dirty }) => dirty)).size).toBe(3);
    expect(states.map(({ changed }) => changed.size)).toEqual([0, 0, 0]);
  });

  test("is that of the commit itself, whatever refs replace it, its trees or its blobs", async () => {
    const dir = repo({ a: "a\n" });
    const first = git(dir, "rev-parse", "HEAD").trim();
    const before = await state(dir);
    write(dir, "a", "b\n");
    git(dir, "commit", "-qam", "second");
    const second = git(dir, "rev-parse", "HEAD").trim();
    git(dir, "reset", "-q", "--hard", first);
    git(dir, "replace", first, second);
    git(dir, "reset", "-q", "--hard");
    settle(dir);
    expect(readFileSync(join(dir, "a"), "utf8")).toBe("b\n");
    expect(git(dir, "status", "--porcelain")).toBe("");
    const after = await state(dir);
    expect(after.commit).toBe(before.commit);
    expect(Object.fromEntries(after.changed)).toEqual({ a: `100644 ${blob("b\n")}` });
  });

  test("follows a submodule's repository at once, also if another one was there a moment ago", async () => {
    const inner = repo({ x: "x\n" });
    const dir = repo();
    git(dir, "submodule", "--quiet", "add", inner, "lib");
    git(dir, "commit", "-qm", "lib");
    const from = facts();
    const before = await state(dir, from);
    const other = repo({ x: "x\n", y: "y\n" });
    writeFileSync(join(dir, "lib", ".git"), `gitdir: ${other}/.git\n`);
    const after = await state(dir, from);
    expect(after.dirty).not.toBe(before.dirty);
    expect(after.changed.get("lib")).toContain(git(other, "rev-parse", "HEAD").trim());
  });

  test("is not told if another repository took the place of the one that was asked for", async () => {
    const dir = repo();
    const place = { worktree: dir, gitDir: gitDirOf(repo()) };
    expect(await facts().of(place)).toEqual({
      unreachable: expect.stringContaining("another repository than before"),
    });
  });

  test("of a conflict counts the file as changed, with its content", async () => {
    const dir = repo({ a: "1\n" });
    git(dir, "checkout", "-q", "-b", "side");
    write(dir, "a", "2\n");
    git(dir, "commit", "-qam", "side");
    git(dir, "checkout", "-q", "trunk");
    write(dir, "a", "3\n");
    git(dir, "commit", "-qam", "trunk");
    expect(() => git(dir, "merge", "side")).toThrow();
    const conflict = await changed(dir);
    expect(Object.keys(conflict)).toEqual(["a"]);
    write(dir, "a", "3\n");
    expect(await changed(dir)).toEqual({ a: `100644 ${blob("3\n")}` });
  });

  test("includes the commit and the work of submodules", async () => {
    const inner = repo({ x: "x\n" });
    const dir = repo();
    git(dir, "submodule", "--quiet", "add", inner, "lib");
    git(dir, "commit", "-qm", "lib");
    expect(await changed(dir)).toEqual({});
    write(dir, "lib/x", "work\n");
    const work = await changed(dir);
    expect(Object.keys(work)).toEqual(["lib"]);
    write(dir, "lib/x", "other work\n");
    expect(await changed(dir)).not.toEqual(work);
    git(join(dir, "lib"), "commit", "-qam", "next");
    const next = git(join(dir, "lib"), "rev-parse", "HEAD").trim();
    expect(await changed(dir)).toEqual({ lib: `160000 ${next}` });
    git(dir, "submodule", "--quiet", "deinit", "-f", "lib");
    git(dir, "checkout", "-q", "--", "lib");
    expect(await changed(dir)).toEqual({});
  });

  test("of a large file is its stat, which every write changes", async () => {
    const dir = repo();
    write(dir, "large", "x".repeat(limits.hashBytes + 1));
    const before = await state(dir);
    expect(before.changed.get("large")).toMatch(/^100644 of \d+/);
    expect((await state(dir)).dirty).toBe(before.dirty);
    write(dir, "large", "y".repeat(limits.hashBytes + 1));
    expect((await state(dir)).dirty).not.toBe(before.dirty);
  });

  test("waits for no pipe, and tells what it is", async () => {
    const dir = repo();
    unlinkSync(join(dir, "a.ts"));
    execFileSync("mkfifo", [join(dir, "a.ts")]);
    expect(await changed(dir)).toEqual({ "a.ts": "no regular file" });
  });

  test("follows a folder that became a link no further than git does, and is changed by it", async () => {
    const dir = repo();
    const elsewhere = join(top, `e${count++}`);
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, "b.ts"), "b\n");
    rmSync(join(dir, "src"), { recursive: true });
    symlinkSync(elsewhere, join(dir, "src"));
    expect(Object.keys(await changed(dir))).toContain("src");
  });
});

describe("a state that cannot be told", () => {
  test("names the reason: too many files differ", async () => {
    const dir = repo();
    for (let n = 0; n <= limits.stateChangedMax; n += 1) write(dir, `new/${n}`, "");
    expect(await asked(dir)).toEqual({
      unreachable: `more than ${limits.stateChangedMax} files differ from the commit; let .gitignore name what is made`,
    });
  });

  test("names the reason: a file's name is no text", async () => {
    const dir = repo();
    writeFileSync(Buffer.concat([Buffer.from(`${dir}/odd-`), Buffer.from([0xff])]), "1");
    expect(await asked(dir)).toEqual({ unreachable: expect.stringContaining("is not UTF-8") });
    git(dir, "add", "-A");
    expect(await asked(dir)).toEqual({ unreachable: expect.stringContaining("is not UTF-8") });
  });

  test("names the reason: git is stopped while it waits for a pipe of the project", async () => {
    const dir = repo();
    execFileSync("mkfifo", [join(dir, ".gitignore")]);
    expect(await asked(dir)).toEqual({ unreachable: expect.stringContaining("git did not answer within") });
  });

  test("names the reason: git is broken, or there is none", async () => {
    const dir = repo();
    writeFileSync(join(dir, ".git", "index"), "no index");
    expect(await asked(dir)).toEqual({ unreachable: expect.stringMatching(/index|signature/) });
    const none = new GitChild({ PATH: top }, { for: () => null } as never);
    expect(await asked(repo(), facts(new BudgetedFs(), none))).toEqual({
      unreachable: expect.stringContaining("git cannot be started"),
    });
  });

  test("names the reason: the index changes again and again", async () => {
    const dir = repo();
    const child = new GitChild(environment());
    let n = 0;
    const busy = {
      run: (...[args, ...rest]: Parameters<GitChild["run"]>) => {
        if (args.includes("--others"))
          git(dir, "update-index", "--add", "--cacheinfo", `100644,${blob("a\n")},n${n++}`);
        return child.run(args, ...rest);
      },
    } as GitChild;
    expect(await asked(dir, facts(new BudgetedFs(), busy))).toEqual({
      unreachable: "git's index changed again and again; try again when no git command runs",
    });
    expect(n).toBe(limits.stateTriesMax);
  });
});

test("no program that the repository names is run", async () => {
  const dir = repo({ "a.ts": "a\n", ".gitattributes": "* filter=evil diff=evil merge=evil text\n" });
  const ran = join(top, "ran");
  const evil = join(dir, "evil.sh");
  writeFileSync(evil, `#!/bin/sh\necho "$0 $*" >> ${ran}\ncat\n`, { mode: 0o755 });
  for (const [key, value] of Object.entries({
    "filter.evil.clean": evil,
    "filter.evil.smudge": evil,
    "filter.evil.process": evil,
    "filter.evil.required": "true",
    "diff.evil.command": evil,
    "diff.evil.textconv": evil,
    "diff.external": evil,
    "core.fsmonitor": evil,
    "core.hooksPath": dir,
    "core.pager": evil,
    "core.editor": evil,
    "core.sshCommand": evil,
    "core.askPass": evil,
    "credential.helper": evil,
    "alias.ls-files": `!${evil}`,
    "alias.diff-index": `!${evil}`,
    "pager.ls-files": evil,
    "extensions.partialClone": "origin",
    "remote.origin.url": `ext::${evil}`,
    "remote.origin.promisor": "true",
    "protocol.ext.allow": "always",
  }))
    git(dir, "config", key, value);
  for (const hook of ["post-index-change", "fsmonitor-watchman", "query-watchman"])
    writeFileSync(join(dir, hook), readFileSync(evil), { mode: 0o755 });
  write(dir, "a.ts", "b\n");
  write(dir, "untracked.ts", "c\n");
  // As new as the index, so that its content is compared.
  utimesSync(join(dir, "a.ts"), new Date(), new Date());
  rmSync(ran, { force: true });
  const found = await asked(dir);
  expect("unreachable" in found ? found : [...found.changed.keys()]).toContain("a.ts");
  expect(existsSync(ran)).toBe(false);
  // The trap works: git status runs it.
  try {
    git(dir, "status");
  } catch {
    // The filter speaks no protocol: git complains after it ran it.
  }
  expect(existsSync(ran)).toBe(true);
});

/** Every file below a directory but git's, with mode and content id: read slowly, without an index. */
function* filesOf(dir: string, below = ""): Generator<readonly [string, string]> {
  for (const name of readdirSync(join(dir, below))) {
    if (name === ".git") continue;
    const file = below === "" ? name : `${below}/${name}`;
    const stat = lstatSync(join(dir, file));
    if (stat.isDirectory()) yield* filesOf(dir, file);
    else if (stat.isSymbolicLink()) yield [file, `120000 ${blob(readlinkSync(join(dir, file)))}`];
    else {
      const mode = (stat.mode & 0o100) === 0 ? "100644" : "100755";
      yield [file, `${mode} ${oidOf(readFileSync(join(dir, file)), 40)}`];
    }
  }
}

/** The files of the commit, with mode and content id. */
function committedIn(dir: string): ReadonlyMap<string, string> {
  const files = git(dir, "ls-tree", "-r", "-z", "HEAD").matchAll(/(\d{6}) blob (\w+)\t([^\0]*)\0/g);
  return new Map([...files].map(([, mode, oid, name = ""]) => [name, `${mode} ${oid}`]));
}

test("it is what a slow look at commit and files finds, after whatever was done", async () => {
  const random = new Random(7);
  const dir = repo({ ".gitignore": "*.log\n" });
  const names = ["a.ts", "src/b.ts", "src/deep/c.ts", "d.log", "src/e.log", "f"];
  const from = facts();
  let committed = committedIn(dir);
  for (let n = 0; n < 60; n += 1) {
    const file = random.pick(names);
    const path = join(dir, file);
    const roll = random.int(1, 10);
    if (roll <= 4) write(dir, file, `${random.int(1, 3)}\n`);
    else if (roll === 5) rmSync(path, { force: true });
    else if (roll === 6 && existsSync(path)) chmodSync(path, random.pick([0o644, 0o755]));
    else if (roll === 7) git(dir, "add", "-A");
    else if (roll === 8) {
      git(dir, "commit", "-q", "--allow-empty", "-m", "next");
      committed = committedIn(dir);
    } else if (roll === 9) git(dir, "reset", "-q");
    else git(dir, "add", "-f", "-A");
    const tracked = new Set(git(dir, "ls-files", "-z").split("\0"));
    const there = new Map(filesOf(dir));
    const wanted: [string, string][] = [];
    for (const name of [...new Set([...committed.keys(), ...there.keys()])].sort()) {
      const isIgnored = name.endsWith(".log") && !tracked.has(name) && !committed.has(name);
      const is = there.get(name) ?? "gone";
      if (!isIgnored && is !== committed.get(name)) wanted.push([name, is]);
    }
    expect([...(await state(dir, from)).changed], `after ${n}`).toEqual(wanted);
  }
});

describe("shared runs", () => {
  /** Runs that end when the test says so. */
  function runs(max: number) {
    const ends: (() => void)[] = [];
    const shared = new SharedRuns<number>(max);
    const ask = (name: string) =>
      shared.run(name, () => {
        const n = ends.length + 1;
        return new Promise(resolve => ends.push(() => resolve(n)));
      });
    const settled = () => new Promise<void>(resolve => setImmediate(resolve));
    return { ends, ask, settled };
  }

  test("begin after the question: who asks during a run shares the next", async () => {
    const { ends, ask, settled } = runs(2);
    const first = ask("a");
    const later = [ask("a"), ask("a")];
    expect(ends).toHaveLength(1);
    ends[0]?.();
    expect(await first).toBe(1);
    await settled();
    expect(ends).toHaveLength(2);
    const last = ask("a");
    ends[1]?.();
    expect(await Promise.all(later)).toEqual([2, 2]);
    await settled();
    ends[2]?.();
    expect(await last).toBe(3);
    await settled();
    expect(ends).toHaveLength(3);
  });

  test("are so many at a time, of all names", async () => {
    const { ends, ask, settled } = runs(1);
    const both = [ask("a"), ask("b")];
    await settled();
    expect(ends).toHaveLength(1);
    ends[0]?.();
    await settled();
    ends[1]?.();
    expect(await Promise.all(both)).toEqual([1, 2]);
  });

  test("go on after one that failed", async () => {
    const shared = new SharedRuns<number>(1);
    const failing = shared.run("a", () => Promise.reject(new Error("broken")));
    const next = shared.run("a", () => Promise.resolve(2));
    await expect(failing).rejects.toThrow("broken");
    expect(await next).toBe(2);
  });
});
