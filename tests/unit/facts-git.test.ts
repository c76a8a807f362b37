import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import { nodeProber } from "../../daemon/facts/prober.ts";
import { GitFacts } from "../../daemon/facts/repositories.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const top = temporaryFolder("kite-git-");
let main = "";

function git(cwd: string, ...args: string[]): void {
  const config = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"];
  const env = { PATH: process.env["PATH"] ?? "", HOME: top, GIT_CONFIG_NOSYSTEM: "1" };
  execFileSync("git", [...config, "-c", "init.defaultBranch=trunk", ...args], { cwd, env, stdio: "pipe" });
}

beforeAll(() => {
  main = join(top, "main");
  mkdirSync(join(main, "src", "deep"), { recursive: true });
  git(main, "init");
  git(main, "commit", "--allow-empty", "-m", "first");
});

const at = (cwd: string) => new GitFacts().repositoryOf(cwd);

test("a repository, from its top and from below", async () => {
  const expected = { project: main, worktree: main, branch: "trunk", gitDir: `${main}/.git` };
  expect(await at(main)).toEqual(expected);
  expect(await at(`${main}/src/deep`)).toEqual(expected);
  expect(await at(`${main}/src/`)).toEqual(expected);
  symlinkSync(`${main}/src`, join(top, "link"));
  expect(await at(join(top, "link"))).toEqual(expected);
});

test("a worktree is the same project", async () => {
  const tree = join(top, "tree");
  git(main, "worktree", "add", "-b", "feature/x", tree);
  expect(await at(tree)).toEqual({
    project: main,
    worktree: tree,
    branch: "feature/x",
    gitDir: `${main}/.git/worktrees/tree`,
  });
});

test("a submodule is a project of its own", async () => {
  const outer = join(top, "outer");
  mkdirSync(outer);
  git(outer, "init");
  git(outer, "submodule", "add", main, "inner");
  const inner = await at(join(outer, "inner"));
  expect(inner).toMatchObject({ project: `${outer}/.git/modules/inner`, worktree: `${outer}/inner` });
  expect(inner).toMatchObject({ branch: "trunk" });
  expect(await at(outer)).toMatchObject({ project: outer });
});

test("a bare repository, and worktrees of one", async () => {
  const bare = join(top, "bare.git");
  git(top, "clone", "--bare", main, bare);
  expect(await at(bare)).toEqual({ project: bare, worktree: bare, branch: "trunk", gitDir: bare });
  git(bare, "worktree", "add", join(top, "from-bare"));
  expect(await at(join(top, "from-bare"))).toMatchObject({ project: bare, worktree: join(top, "from-bare") });
});

test("a git directory somewhere else", async () => {
  const work = join(top, "work");
  git(top, "init", "--separate-git-dir", join(top, "elsewhere"), work);
  expect(await at(work)).toEqual({
    project: join(top, "elsewhere"),
    worktree: work,
    branch: "trunk",
    gitDir: join(top, "elsewhere"),
  });
});

test("a detached HEAD has no branch, one that is a link has", async () => {
  const loose = join(top, "loose");
  git(main, "worktree", "add", "--detach", loose);
  expect(await at(loose)).toMatchObject({ project: main, branch: null });
  const old = join(top, "old");
  mkdirSync(old);
  git(old, "init");
  rmSync(join(old, ".git", "HEAD"));
  symlinkSync("refs/heads/ancient", join(old, ".git", "HEAD"));
  expect(await at(old)).toMatchObject({ project: old, branch: "ancient" });
});

test("no repository: the working directory's real path", async () => {
  const plain = join(top, "plain");
  mkdirSync(plain);
  symlinkSync(plain, join(top, "plain-link"));
  const expected = { project: plain, worktree: plain, branch: null, gitDir: null };
  expect(await at(plain)).toEqual(expected);
  expect(await at(join(top, "plain-link"))).toEqual(expected);
  expect(await at(join(top, "not-there"))).toMatchObject({ project: join(top, "not-there"), gitDir: null });
});

test("garbage is passed over", async () => {
  const cases: Record<string, (dir: string) => void> = {
    nonsense: dir => writeFileSync(join(dir, ".git"), "\0\0\0 nothing"),
    nowhere: dir => writeFileSync(join(dir, ".git"), "gitdir: /does/not/exist\n"),
    empty: dir => mkdirSync(join(dir, ".git")),
    huge: dir => writeFileSync(join(dir, ".git"), `gitdir: ${"x".repeat(limits.smallFileBytes)}`),
    fifo: dir => execFileSync("mkfifo", [join(dir, ".git")]),
  };
  for (const [name, make] of Object.entries(cases)) {
    const dir = join(main, "src", name);
    mkdirSync(dir);
    make(dir);
    expect(await at(dir), name).toMatchObject({ project: main, worktree: main });
  }
});

test("a HEAD that is a FIFO or nonsense gives no branch", async () => {
  for (const name of ["fifo", "nonsense"]) {
    const dir = join(top, `head-${name}`);
    mkdirSync(dir);
    git(dir, "init");
    const head = join(dir, ".git", "HEAD");
    rmSync(head);
    if (name === "fifo") execFileSync("mkfifo", [head]);
    else writeFileSync(head, "\0garbage");
    expect(await at(dir), name).toMatchObject({ project: dir, branch: null });
  }
});

test("a repository around a mount is not that of what is mounted", async () => {
  const mount = join(main, "src");
  const prober: typeof nodeProber = {
    ...nodeProber,
    lstat: async path => {
      const stat = await nodeProber.lstat(path);
      if (path === mount || path.startsWith(`${mount}/`)) stat.dev += 1n;
      return stat;
    },
  };
  const facts = new GitFacts({ outside: new BudgetedFs(prober) });
  expect(await facts.repositoryOf(`${mount}/deep`)).toMatchObject({ project: `${mount}/deep`, gitDir: null });
});

test("a disk that hangs is said", async () => {
  const mounts = async () => [{ point: "/", local: false }];
  const outside = new BudgetedFs({ ...nodeProber, mounts, lstat: () => new Promise(() => {}) });
  expect(await new GitFacts({ outside }).repositoryOf(main)).toHaveProperty("unreachable");
});

test("what was read counts for a moment", async () => {
  let now = 0;
  let reads = 0;
  const prober: typeof nodeProber = {
    ...nodeProber,
    readSmall: (path, max) => {
      reads++;
      return nodeProber.readSmall(path, max);
    },
  };
  const facts = new GitFacts({ outside: new BudgetedFs(prober, () => now) });
  await facts.repositoryOf(main);
  const once = reads;
  await facts.repositoryOf(main);
  expect(reads).toBe(once);
  git(main, "checkout", "-b", "other");
  now += limits.repositoryKeptMs;
  expect(await facts.repositoryOf(main)).toMatchObject({ branch: "other" });
  // Who asks for it as it is now has it, and so have all after it.
  git(main, "checkout", "-b", "third");
  expect(await facts.repositoryOf(main, true)).toMatchObject({ branch: "third" });
  expect(await facts.repositoryOf(main)).toMatchObject({ branch: "third" });
});

test("that it could not be told counts for nobody who asks later", async () => {
  let isOut = true;
  const prober: typeof nodeProber = {
    ...nodeProber,
    lstat: path => {
      const error = Object.assign(new Error("no"), { code: "EIO", syscall: "lstat" });
      return isOut ? Promise.reject(error) : nodeProber.lstat(path);
    },
  };
  const facts = new GitFacts({ outside: new BudgetedFs(prober, () => 0) });
  expect(await facts.repositoryOf(main)).toHaveProperty("unreachable");
  isOut = false;
  expect(await facts.repositoryOf(main)).toMatchObject({ project: main });
});
