import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { attempt, removeTrial } from "../../bin/lead/merge/attempt.ts";
import type { Trying } from "../../bin/lead/merge/git.ts";
import { type Git, GitFailed, gitOf } from "../../bin/lead/merge/git.ts";
import { temporaryFolder } from "../temporary-folder.ts";

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
