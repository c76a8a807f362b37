/** One try of a merge: its worktree, its programs, and the move of its base. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { attempt, removeTrial } from "../../bin/lead/merge/attempt.ts";
import {
  type Git,
  GitFailed,
  gitOf,
  type Programs,
  programsIn,
  type Tried,
  type Trying,
} from "../../bin/lead/merge/git.ts";
import { temporaryFolder } from "../temporary-folder.ts";

describe("the worktree of a try", () => {
  const who = {
    GIT_AUTHOR_NAME: "t",
    GIT_AUTHOR_EMAIL: "t@e",
    GIT_COMMITTER_NAME: "t",
    GIT_COMMITTER_EMAIL: "t@e",
  };
  let dir: string;
  let repo: string;
  let git: Git;
  const run = (...args: string[]) =>
    execFileSync("git", args, { cwd: repo, env: { ...process.env, ...who }, encoding: "utf8" }).trim();

  beforeEach(() => {
    dir = temporaryFolder("kite-trial-");
    repo = join(dir, "repo");
    execFileSync("git", ["init", "-q", "-b", "main", repo]);
    run("commit", "-q", "--allow-empty", "-m", "first");
    run("switch", "-qc", "one");
    writeFileSync(join(repo, "one.ts"), "1\n");
    run("add", "-A");
    run("commit", "-qm", "one");
    run("switch", "-q", "main");
    git = gitOf({ ...process.env, ...who }, join(repo, ".git"), new AbortController().signal);
  });

  /** Git that cannot remove a worktree. */
  const keeping =
    (how: () => Promise<never> | Promise<{ code: number; out: string; stderr: string }>): Git =>
    (args, options) =>
      args[0] === "worktree" && args[1] === "remove" ? how() : git(args, options);
  const refuses = async () => ({ code: 1, out: "", stderr: "fatal: busy" });
  const late = async (): Promise<never> => {
    throw new GitFailed("git worktree took longer than 600 s and was ended");
  };

  describe("the worktree of a try that cannot be removed", () => {
    it("changes nothing about a merge that has moved the base, and the person hears of it", async () => {
      const said: string[] = [];
      const trying: Trying = {
        git: keeping(late),
        gitDir: join(repo, ".git"),
        // No system removes a folder by a name that ends so.
        folder: join(dir, "try", "x").replace(/x$/, "."),
        merge: {
          base: "refs/heads/main",
          branch: "refs/heads/one",
          rebase: false,
          checkOnly: false,
          commit: null,
        },
        on: null,
        checks: async () => null,
        trusted: new Map(),
        keepers: async () => new Map(),
        mayMove: async () => {},
        say: text => said.push(text),
      };
      expect(await attempt(trying)).toMatchObject({ is: "merged", already: false });
      expect(run("log", "--format=%s", "--first-parent", "main").split("\n")).toEqual([
        "Merge branch 'one' into main",
        "first",
      ]);
      expect(said).toEqual([
        expect.stringMatching(
          /^could not remove \S+: E\w+: .*; the next merge tries again, or remove it yourself$/,
        ),
      ]);
    });

    it("goes by other means if git does not remove it", async () => {
      for (const how of [refuses, late]) {
        const folder = join(dir, "try");
        run("worktree", "add", "-q", "--detach", folder, "one");
        expect(await removeTrial(keeping(how), folder)).toBeNull();
        expect(existsSync(folder)).toBe(false);
        run("worktree", "prune");
      }
    });
  });
});

// Programs that a repository's own git configuration names: none runs in a merge before a person has trusted it.
describe("programs that git's configuration names", () => {
  let dir: string;
  let repo: string;
  let ran: string;
  let env: Record<string, string | undefined>;
  let git: Git;
  const run = (...args: string[]) =>
    execFileSync("git", args, { cwd: repo, env, encoding: "utf8", stdio: "pipe" }).trim();
  const write = (files: Readonly<Record<string, string>>) => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(repo, name), text);
  };
  const commit = (message: string) => {
    run("add", "-A");
    run("commit", "-qm", message);
  };

  beforeEach(() => {
    dir = temporaryFolder("kite-programs-");
    repo = join(dir, "repo");
    ran = join(dir, "ran");
    mkdirSync(join(dir, "home"));
    const who = {
      GIT_AUTHOR_NAME: "t",
      GIT_AUTHOR_EMAIL: "t@e",
      GIT_COMMITTER_NAME: "t",
      GIT_COMMITTER_EMAIL: "t@e",
    };
    env = {
      ...process.env,
      ...who,
      HOME: join(dir, "home"),
      XDG_CONFIG_HOME: join(dir, "home"),
      GIT_CONFIG_NOSYSTEM: "1",
    };
    execFileSync("git", ["init", "-q", "-b", "main", repo], { env });
    write({ a: "a\n", "x.m": "1\n2\n3\n4\n5\n" });
    commit("first");
    git = gitOf(env, join(repo, ".git"), new AbortController().signal);
  });

  /** A branch `one` with these files; main is checked out behind it. */
  function branch(files: Readonly<Record<string, string>>): void {
    run("switch", "-qc", "one");
    write(files);
    commit("one");
    run("switch", "-q", "main");
  }

  function merge(trusted: Programs = new Map(), more: { readonly rebase?: boolean } = {}): Promise<Tried> {
    return attempt({
      git,
      gitDir: join(repo, ".git"),
      folder: join(dir, "try"),
      merge: {
        base: "refs/heads/main",
        branch: "refs/heads/one",
        rebase: false,
        checkOnly: false,
        commit: null,
        ...more,
      },
      on: null,
      checks: async () => null,
      trusted,
      keepers: async () => new Map(),
      mayMove: async () => {},
      say: text => expect.fail(text),
    });
  }

  function refusal(key: string) {
    const text = expect.stringContaining(`the merge needs ${key} of the repository's own git configuration`);
    return { is: "stopped", reason: { code: "failed", text } };
  }

  it.each([
    ["filter.up.smudge", (line: string) => `${line}; cat`],
    ["filter.up.process", (line: string) => line],
  ])("%s is not run for a file that the branch brings, and the base stays", async (key, program) => {
    branch({ ".gitattributes": "*.f filter=up\n", "b.f": "b\n" });
    const main = run("rev-parse", "main");
    run("config", key, program(`echo ran >> ${ran}`));
    expect(await merge()).toMatchObject(refusal(key));
    expect(run("rev-parse", "main")).toBe(main);
    expect(existsSync(ran)).toBe(false);
    expect(existsSync(join(dir, "try"))).toBe(false);
    expect(run("status", "--porcelain")).toBe("");
  });

  it("runs a filter that a person trusted as it is, and none that changed since", async () => {
    branch({ ".gitattributes": "*.f filter=up\n", "b.f": "b\n" });
    run("config", "filter.up.smudge", `echo ran >> ${ran}; tr b B`);
    const trusted = await programsIn(git, [repo]);
    expect([...trusted.keys()]).toEqual(["filter.up.smudge"]);
    run("config", "filter.up.smudge", `echo other >> ${ran}; cat`);
    expect(await merge(trusted)).toMatchObject(refusal("filter.up.smudge"));
    expect(existsSync(ran)).toBe(false);
    run("config", "filter.up.smudge", `echo ran >> ${ran}; tr b B`);
    expect(await merge(trusted)).toMatchObject({ is: "merged" });
    expect(readFileSync(join(repo, "b.f"), "utf8")).toBe("B\n");
  });

  it.each([[false], [true]])(
    "a merge driver is not taken for a conflict of the branch (rebase: %j)",
    async rebase => {
      write({ ".gitattributes": "*.m merge=drv\n" });
      commit("attributes");
      branch({ "x.m": "one\n2\n3\n4\n5\n" });
      write({ "x.m": "1\n2\n3\n4\nfive\n" });
      commit("main");
      run("config", "merge.drv.driver", `echo ran >> ${ran}; cp %B %A`);
      expect(await merge(new Map(), { rebase })).toMatchObject(refusal("merge.drv.driver"));
      expect(existsSync(ran)).toBe(false);
      expect(await merge(await programsIn(git, [repo]), { rebase })).toMatchObject({ is: "merged" });
      expect(existsSync(ran)).toBe(true);
    },
  );

  it("a program that signs is refused where commits are signed, and only there", async () => {
    branch({ b: "b\n" });
    const signer = join(dir, "signer");
    writeFileSync(signer, `#!/bin/sh\necho ran >> ${ran}\n`, { mode: 0o755 });
    run("config", "gpg.program", signer);
    run("config", "commit.gpgSign", "true");
    expect(await merge()).toMatchObject(refusal("gpg.program"));
    expect(existsSync(ran)).toBe(false);
    run("config", "commit.gpgSign", "false");
    expect(await merge()).toMatchObject({ is: "merged" });
  });

  it("a program that no path needs keeps no merge back", async () => {
    branch({ b: "b\n" });
    run("config", "filter.up.smudge", `echo ran >> ${ran}; cat`);
    run("config", "merge.drv.driver", "false");
    expect(await merge()).toMatchObject({ is: "merged" });
    expect(existsSync(ran)).toBe(false);
  });

  it("what a person's own configuration names runs as always", async () => {
    branch({ ".gitattributes": "*.f filter=up\n", "b.f": "b\n" });
    run("config", "--global", "filter.up.smudge", "tr b B");
    expect(await merge()).toMatchObject({ is: "merged" });
    expect(readFileSync(join(repo, "b.f"), "utf8")).toBe("B\n");
  });

  it("a configuration that counts only in the worktree of the try is seen, too", async () => {
    branch({ ".gitattributes": "*.f filter=up\n", "b.f": "b\n" });
    writeFileSync(join(dir, "more"), `[filter "up"]\n\tsmudge = echo ran >> ${ran}; cat\n`);
    run("config", "includeIf.gitdir:**/worktrees/**.path", join(dir, "more"));
    expect(await merge()).toMatchObject(refusal("filter.up.smudge"));
    expect(existsSync(ran)).toBe(false);
  });
});

// Whoever switches a checkout in the milliseconds around the move of a base: nothing of theirs moves, and no merge is lost.
describe("a checkout that is switched around a move", () => {
  const who = {
    GIT_AUTHOR_NAME: "t",
    GIT_AUTHOR_EMAIL: "t@e",
    GIT_COMMITTER_NAME: "t",
    GIT_COMMITTER_EMAIL: "t@e",
  };
  let dir: string;
  let repo: string;
  let git: Git;
  const runIn = (cwd: string, ...args: string[]) =>
    execFileSync("git", args, {
      cwd,
      env: { ...process.env, ...who },
      encoding: "utf8",
      stdio: "pipe",
    }).trim();
  const run = (...args: string[]) => runIn(repo, ...args);

  beforeEach(() => {
    dir = temporaryFolder("kite-moved-");
    repo = join(dir, "repo");
    execFileSync("git", ["init", "-q", "-b", "main", repo]);
    writeFileSync(join(repo, "a"), "first\n");
    run("add", "-A");
    run("commit", "-qm", "first");
    run("branch", "theirs");
    run("switch", "-qc", "one");
    writeFileSync(join(repo, "a"), "one\n");
    writeFileSync(join(repo, "one.ts"), "1\n");
    run("add", "-A");
    run("commit", "-qm", "one");
    run("switch", "-q", "main");
    git = gitOf({ ...process.env, ...who }, join(repo, ".git"), new AbortController().signal);
  });

  /** Tries the merge of `one` into main; `before` runs just before git's first command of this name, and `after` behind it. */
  async function tried(
    name: "merge" | "update-ref",
    {
      before = () => {},
      after = () => {},
      rebase = false,
    }: { readonly before?: () => void; readonly after?: () => void; readonly rebase?: boolean },
  ): Promise<{ readonly tried: Tried; readonly said: readonly string[] }> {
    const said: string[] = [];
    let isDone = false;
    const racing: Git = async (args, options) => {
      const isIt = args.includes(name) && (name === "update-ref" || args.includes("--ff-only"));
      if (isDone || !isIt) return git(args, options);
      isDone = true;
      before();
      const ran = await git(args, options);
      after();
      return ran;
    };
    const result = await attempt({
      git: racing,
      gitDir: join(repo, ".git"),
      folder: join(dir, "try"),
      merge: {
        base: "refs/heads/main",
        branch: "refs/heads/one",
        rebase,
        checkOnly: false,
        commit: null,
      },
      on: null,
      checks: async () => null,
      trusted: new Map(),
      keepers: async () => new Map(),
      mayMove: async () => {},
      say: text => said.push(text),
    });
    return { tried: result, said };
  }

  it("takes back the move of a branch that was switched to just before, and merges then", async () => {
    const theirs = run("rev-parse", "theirs");
    const { tried: result, said } = await tried("merge", { before: () => run("switch", "-q", "theirs") });
    expect(run("rev-parse", "theirs")).toBe(theirs);
    expect(readFileSync(join(repo, "a"), "utf8")).toBe("first\n");
    expect(run("status", "--porcelain")).toBe("");
    expect(result).toMatchObject({ is: "merged", commit: run("rev-parse", "main") });
    expect(said).toEqual([
      `${repo} was switched to theirs just before main moved there, and git moved theirs instead; Kite has taken that back`,
    ]);
  });

  it("says what is left to do if that cannot be taken back", async () => {
    const { tried: result } = await tried("merge", {
      before: () => run("switch", "-q", "theirs"),
      // Work in a file that the move changed: to take it back would lose it.
      after: () => writeFileSync(join(repo, "a"), "mine\n"),
    });
    expect(readFileSync(join(repo, "a"), "utf8")).toBe("mine\n");
    const [, old] = /git -C \S+ reset --keep ([0-9a-f]+)/.exec(JSON.stringify(result)) ?? [];
    expect(old).toBe(run("rev-parse", "main"));
    expect(result).toMatchObject({ is: "stopped", reason: { code: "base" } });
  });

  it("moves nothing of a branch that has the commit already", async () => {
    run("branch", "-f", "theirs", "one");
    const theirs = run("rev-parse", "theirs");
    const { tried: result, said } = await tried("merge", {
      before: () => run("switch", "-q", "theirs"),
      rebase: true,
    });
    expect(result).toMatchObject({ is: "merged", commit: theirs });
    expect([run("rev-parse", "theirs"), run("rev-parse", "main")]).toEqual([theirs, theirs]);
    expect(said).toEqual([]);
  });

  it("takes back a base that was checked out just before with the files of before, and merges with its files", async () => {
    run("switch", "-q", "theirs");
    const { tried: result, said } = await tried("update-ref", { before: () => run("switch", "-q", "main") });
    expect(result).toMatchObject({ is: "merged", commit: run("rev-parse", "main") });
    expect(run("status", "--porcelain")).toBe("");
    expect(existsSync(join(repo, "one.ts"))).toBe(true);
    expect(said).toEqual([
      `main was checked out in ${repo} just before it moved, with the files of before; Kite has taken the move back and tries again`,
    ]);
  });

  it("waits for a checkout that has begun before the move and ends behind it", async () => {
    run("switch", "-q", "theirs");
    const lock = join(repo, ".git/index.lock");
    const { tried: result, said } = await tried("update-ref", {
      before: () => writeFileSync(lock, ""),
      after: () =>
        void setTimeout(() => {
          // As git ends a checkout of main that it began from the old commit.
          writeFileSync(join(repo, ".git/HEAD"), "ref: refs/heads/main\n");
          rmSync(lock);
        }, 30),
    });
    expect(said).toHaveLength(1);
    expect(result).toMatchObject({ is: "merged" });
    expect(run("status", "--porcelain")).toBe("");
  });

  it("keeps a base that was checked out just behind the move, with the files of the merge", async () => {
    run("switch", "-q", "theirs");
    const { tried: result, said } = await tried("update-ref", { after: () => run("switch", "-q", "main") });
    expect(result).toMatchObject({ is: "merged", commit: run("rev-parse", "main") });
    expect(run("status", "--porcelain")).toBe("");
    expect(said).toEqual([]);
  });

  it("says that a commit there undoes the merge if it came first", async () => {
    run("switch", "-q", "theirs");
    const { tried: result } = await tried("update-ref", {
      before: () => run("switch", "-q", "main"),
      after: () => {
        writeFileSync(join(repo, "b"), "mine\n");
        run("add", "b");
        run("commit", "-qm", "mine");
      },
    });
    expect(result).toMatchObject({
      is: "stopped",
      reason: { code: "base", text: expect.stringContaining("undoes the merge") },
    });
  });
});
