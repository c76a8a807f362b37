/** Whoever switches a checkout in the milliseconds around the move of a base: nothing of theirs moves, and no merge is lost. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { attempt } from "../../bin/lead/merge/attempt.ts";
import type { Tried } from "../../bin/lead/merge/git.ts";
import { type Git, gitOf } from "../../bin/lead/merge/git.ts";
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
const runIn = (cwd: string, ...args: string[]) =>
  execFileSync("git", args, { cwd, env: { ...process.env, ...who }, encoding: "utf8", stdio: "pipe" }).trim();
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
