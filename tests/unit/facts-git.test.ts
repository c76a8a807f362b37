/** What git tells: repositories, worktrees, branches, and git as a child. */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import { commitDiff } from "../../daemon/facts/git/changes.ts";
import { GitChild, GitProgram } from "../../daemon/facts/git/process.ts";
import { nodeProber } from "../../daemon/facts/prober.ts";
import { GitFacts } from "../../daemon/facts/repositories.ts";
import { Allowance, WorkClock } from "../../daemon/facts/work-clock.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { FixedGit } from "./fixed-git.ts";
import { FakeMachine, settled } from "./work-drive.ts";

describe("repositories", () => {
  const top = temporaryFolder("kite-git-");
  let main = "";

  function git(cwd: string, ...args: string[]): void {
    const config = [
      "-c",
      "user.name=t",
      "-c",
      "user.email=t@example.org",
      "-c",
      "protocol.file.allow=always",
    ];
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
    expect(await at(join(top, "from-bare"))).toMatchObject({
      project: bare,
      worktree: join(top, "from-bare"),
    });
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
    expect(await facts.repositoryOf(`${mount}/deep`)).toMatchObject({
      project: `${mount}/deep`,
      gitDir: null,
    });
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
    const own = join(top, "own");
    git(top, "clone", main, own);
    const facts = new GitFacts({ outside: new BudgetedFs(prober, () => now) });
    await facts.repositoryOf(own);
    const once = reads;
    await facts.repositoryOf(own);
    expect(reads).toBe(once);
    git(own, "checkout", "-b", "other");
    now += limits.repositoryKeptMs;
    expect(await facts.repositoryOf(own)).toMatchObject({ branch: "other" });
    // Who asks for it as it is now has it, and so have all after it.
    git(own, "checkout", "-b", "third");
    expect(await facts.repositoryOf(own, true)).toMatchObject({ branch: "third" });
    expect(await facts.repositoryOf(own)).toMatchObject({ branch: "third" });
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
});

// The files in which two commits differ, as git tells them.
describe("two commits", () => {
  test("differ in the files that were changed, added and removed, each with its content's id", async () => {
    const worktree = join(temporaryFolder("kite-commits-"), "app");
    mkdirSync(worktree);
    const env = { PATH: process.env["PATH"] ?? "", HOME: worktree, GIT_CONFIG_NOSYSTEM: "1" };
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
        ...{ cwd: worktree, env, stdio: "pipe", encoding: "utf8" },
      }).trim();
    const write = (name: string, text: string) => writeFileSync(join(worktree, name), text);
    const commit = () => {
      git("add", "-A");
      git("commit", "-m", "work");
      return git("rev-parse", "HEAD");
    };
    git("init", "--initial-branch=main");
    for (const name of ["kept.ts", "changed.ts", "gone.ts"]) write(name, `${name} of before`);
    const before = commit();
    const was = (name: string) => `100644 ${git("rev-parse", `${before}:${name}`)}`;
    write("changed.ts", "after");
    write("ü and new.ts", "new");
    rmSync(join(worktree, "gone.ts"));
    const after = commit();
    write("kept.ts", "not committed");
    const is = (name: string) => `100644 ${git("rev-parse", `${after}:${name}`)}`;
    const place = { worktree, gitDir: join(worktree, ".git") };
    expect(await commitDiff(new BudgetedFs(), new GitChild(), place, [before, after])).toEqual(
      new Map([
        ["changed.ts", [was("changed.ts"), is("changed.ts")]],
        ["gone.ts", [was("gone.ts"), "gone"]],
        ["ü and new.ts", ["gone", is("ü and new.ts")]],
      ]),
    );
  });
});

const folder = temporaryFolder("kite-child-");

const enough = () => new Allowance(new WorkClock(), 60_000, 60_000);
const never = { code: null, out: "" };

describe("git as a child", () => {
  it("is a sentence where it cannot be started, at once or a moment later, or is not there", async () => {
    for (const program of ["", "/no-such-program-here", null]) {
      const answer = await new GitChild({}, new FixedGit(program)).run(["version"], tmpdir(), enough());
      expect(answer).toMatchObject(never);
      expect(answer.errorText).toMatch(/^git cannot be started \(.+\)$/);
    }
  });

  it("goes on after one that could not be started", async () => {
    const git = new GitChild({}, new FixedGit(""));
    const all = Array.from({ length: 3 * limits.gitAtOnceMax }, () => git.run([], tmpdir(), enough()));
    for (const answer of await Promise.all(all)) expect(answer).toMatchObject(never);
  });

  it("is not started when its time is over", async () => {
    const answer = await new GitChild().run(["version"], tmpdir(), new Allowance(new WorkClock(), 0, 0));
    expect(answer).toMatchObject({ ...never, errorText: "git did not answer within 0 ms of work" });
  });

  it("is given up where the machine has no room for it, long before the allowance is over", async () => {
    const machine = new FakeMachine();
    let tries = 0;
    const full = {
      lend: () => {
        tries += 1;
        throw Object.assign(new Error("too many open files"), { code: "EMFILE" });
      },
      refill: () => {},
    };
    let said = "";
    const git = new GitChild({}, new FixedGit("/bin/true"), full);
    void git.run([], tmpdir(), new Allowance(new WorkClock(machine), 60_000, 60_000)).then(answer => {
      said = answer.errorText;
    });
    await machine.work(limits.gitCrowdedMs + 4 * limits.workBeatMs);
    await settled();
    expect(said).toMatch(/^git cannot be started/);
    expect(tries).toBeGreaterThan(1);
  });

  it("is stopped after its work, not after the time in which nothing had a processor", async () => {
    const machine = new FakeMachine();
    const clock = new WorkClock(machine);
    const program = join(folder, "sleeper");
    writeFileSync(program, "#!/bin/sh\nexec sleep 1000\n");
    chmodSync(program, 0o755);
    const env = { PATH: process.env["PATH"] };
    let isOver = false;
    const asked = new GitChild(env, new FixedGit(program)).run(
      [],
      tmpdir(),
      new Allowance(clock, 100, 1_000_000),
    );
    const answer = asked.then(given => {
      isOver = true;
      return given;
    });
    await machine.stall(50_000);
    await settled();
    expect(isOver).toBe(false);
    await machine.work(100);
    expect(await answer).toMatchObject({ ...never, errorText: "git did not answer within 100 ms of work" });
  });
});

describe("a project's own git", () => {
  let project: string;
  let ran: string;

  beforeEach(() => {
    project = temporaryFolder("kite-git-");
    ran = join(project, "ran");
    put(join(project, "git"));
    put(join(project, "node_modules", ".bin", "git"));
    put(join(project, "tools", "git"));
  });

  function put(path: string): void {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `#!/bin/sh\n>'${ran}'\necho git version 0 of the project\n`);
    chmodSync(path, 0o755);
  }

  const entries = [
    "./node_modules/.bin:/usr/bin:/bin",
    ".:/usr/bin:/bin",
    ":/usr/bin:/bin",
    "tools:/usr/bin:/bin",
  ];

  it.each(entries)("is not run where PATH is %j", async PATH => {
    const answer = await new GitChild({ PATH }).run(["version"], project, enough());
    expect(answer).toMatchObject({ code: 0, out: expect.stringMatching(/^git version [1-9]/) });
    expect(existsSync(ran)).toBe(false);
  });

  it("is not run by an absolute entry, for that project or any in which a session works", async () => {
    const env = { PATH: `${project}/node_modules/.bin:${project}/tools:/usr/bin:/bin` };
    const answer = await new GitChild(env).run(["version"], project, enough());
    expect(answer.out).toMatch(/^git version [1-9]/);
    const workedIn: string[] = [];
    const program = new GitProgram({ env, workedIn: () => workedIn });
    const git = new GitChild(env, program);
    workedIn.push(project);
    expect((await git.run(["version"], tmpdir(), enough())).out).toMatch(/^git version [1-9]/);
    expect(existsSync(ran)).toBe(false);
  });

  it("that was one is none any more when a session begins to work around it", async () => {
    const env = { PATH: `${project}/tools:/usr/bin:/bin` };
    const workedIn: string[] = [];
    const program = new GitProgram({ env, workedIn: () => workedIn });
    expect(program.for("/usr")?.path).toBe(join(project, "tools", "git"));
    workedIn.push(project);
    program.workedIn([tmpdir().concat("/elsewhere")]);
    expect(program.for("/usr")?.path).toBe(join(project, "tools", "git"));
    program.workedIn([project]);
    expect(program.for("/usr")?.path).toMatch(/^\/(?:usr\/)?bin\/git$/);
  });

  it("is found anew after it could not be started", async () => {
    const env = { PATH: `${project}/tools:/usr/bin:/bin` };
    const git = new GitChild(env);
    expect((await git.run(["version"], "/usr", enough())).out).toContain("of the project");
    rmSync(join(project, "tools"), { recursive: true });
    expect((await git.run(["version"], "/usr", enough())).code).toBeNull();
    expect((await git.run(["version"], "/usr", enough())).out).toMatch(/^git version [1-9]/);
  });
});
