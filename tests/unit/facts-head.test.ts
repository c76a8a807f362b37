/** Where HEAD is and what is in progress, as git itself leaves it. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import { HeadFacts } from "../../daemon/facts/git/head.ts";
import { GitFacts } from "../../daemon/facts/repositories.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const top = temporaryFolder("kite-head-");
const env = {
  PATH: process.env["PATH"] ?? "",
  HOME: top,
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_AUTHOR_NAME: "t",
  GIT_AUTHOR_EMAIL: "t@t",
  GIT_COMMITTER_NAME: "t",
  GIT_COMMITTER_EMAIL: "t@t",
};
let count = 0;
let dir = "";
const git = (...args: string[]) =>
  execFileSync("git", args, { cwd: dir, env, stdio: "pipe" }).toString().trim();
const fails = (...args: string[]) => spawnSync("git", args, { cwd: dir, env, stdio: "ignore" }).status !== 0;
const place = () => ({ worktree: dir, gitDir: `${dir}/.git` });
const outside = new BudgetedFs();
const facts = new HeadFacts(outside, new GitFacts({ outside }));

function commit(file: string, text: string): string {
  writeFileSync(join(dir, file), text);
  git("add", file);
  git("commit", "-qm", text);
  return git("rev-parse", "HEAD");
}

/** `topic` and `main` each changed the same file. */
function forked(): void {
  commit("a", "one");
  git("switch", "-qc", "topic");
  commit("a", "topic");
  git("switch", "-q", "main");
  commit("a", "main");
}

beforeEach(() => {
  count += 1;
  dir = join(top, `r ${count}`);
  mkdirSync(dir);
  git("init", "-q", "-b", "main");
});

describe("HEAD", () => {
  test("on a branch: without a commit, loose, packed, moved, detached", async () => {
    const none = { operation: null, of: null };
    expect(await facts.now(place())).toEqual({ ref: "refs/heads/main", commit: null, ...none });
    const first = commit("a", "one");
    expect(await facts.now(place())).toEqual({ ref: "refs/heads/main", commit: first, ...none });
    git("pack-refs", "--all");
    expect(await facts.now(place())).toEqual({ ref: "refs/heads/main", commit: first, ...none });
    git("switch", "-qc", "x/y");
    expect(await facts.now(place())).toEqual({ ref: "refs/heads/x/y", commit: first, ...none });
    const second = commit("a", "two");
    expect(await facts.now(place())).toEqual({ ref: "refs/heads/x/y", commit: second, ...none });
    git("checkout", "-q", "--detach");
    expect(await facts.now(place())).toEqual({ ref: null, commit: second, ...none });
  });

  test("of a worktree of its own", async () => {
    const first = commit("a", "one");
    git("worktree", "add", "-q", "-b", "side", join(top, `w${count}`));
    const side = { worktree: join(top, `w${count}`), gitDir: `${dir}/.git/worktrees/w${count}` };
    expect(await facts.now(side)).toMatchObject({ ref: "refs/heads/side", commit: first });
    expect(await facts.worktreeOn(place(), "refs/heads/side")).toBe(side.worktree);
    expect(await facts.worktreeOn(side, "refs/heads/main")).toBe(dir);
    expect(await facts.worktreeOn(place(), "refs/heads/main")).toBeNull();
    expect(await facts.worktreeOn(side, "refs/heads/side")).toBeNull();
  });

  test("in the form that git alone reads, and unreadable", async () => {
    const first = commit("a", "one");
    if (!fails("refs", "migrate", "--ref-format=reftable"))
      expect(await facts.now(place())).toMatchObject({ ref: "refs/heads/main", commit: first });
    writeFileSync(`${dir}/.git/HEAD`, "ref: ../../etc/passwd\n");
    expect(await facts.now(place())).toHaveProperty("unreachable");
  });

  test("is read again when a file changed under the same stats' eyes", async () => {
    commit("a", "one");
    await new Promise(resolve => setTimeout(resolve, 150));
    await facts.now(place());
    for (const branch of ["b1", "b2", "b3"]) {
      git("switch", "-qc", branch);
      expect(await facts.now(place())).toMatchObject({ ref: `refs/heads/${branch}` });
    }
  });
});

describe("in progress", () => {
  test.each<[kind: string, of: string | null, ...line: string[]]>([
    ["merge", null, "merge", "topic"],
    ["rebase", "main", "rebase", "topic"],
    ["rebase", "main", "rebase", "--apply", "topic"],
    ["cherry-pick", null, "cherry-pick", "topic"],
    ["revert", null, "revert", "HEAD~1"],
  ])("%s of %s", async (operation, of, ...line) => {
    forked();
    if (operation === "revert") commit("a", "more");
    expect(fails(...line)).toBe(true);
    expect(await facts.now(place())).toMatchObject({ operation, of });
    git(operation, "--abort");
    expect(await facts.now(place())).toMatchObject({ ref: "refs/heads/main", operation: null });
  });

  test("am and bisect", async () => {
    forked();
    writeFileSync(join(dir, "p"), git("format-patch", "--stdout", "-1", "topic"));
    expect(fails("am", "p")).toBe(true);
    expect(await facts.now(place())).toMatchObject({ operation: "am" });
    git("am", "--abort");
    git("bisect", "start", "HEAD", "HEAD~1");
    expect(await facts.now(place())).toMatchObject({ operation: "bisect", of: "main" });
    git("bisect", "reset");
    expect(await facts.now(place())).toMatchObject({ operation: null });
  });
});

test("a commit is ahead if it has the other among its ancestors, or amends it", async () => {
  const first = commit("a", "one");
  const second = commit("a", "two");
  const third = commit("a", "three");
  expect(await facts.isAhead(place(), first, third)).toBe(true);
  expect(await facts.isAhead(place(), null, first)).toBe(true);
  expect(await facts.isAhead(place(), third, second)).toBe(false);
  git("reset", "-q", "--hard", second);
  expect(await facts.isAhead(place(), third, second)).toBe(false);
  expect(await facts.isAhead(place(), first, second)).toBe(true);
  git("commit", "-q", "--amend", "-m", "other");
  expect(await facts.isAhead(place(), second, git("rev-parse", "HEAD"))).toBe(true);
  git("config", "core.logAllRefUpdates", "false");
  expect(await facts.isAhead(place(), third, second)).toBe(false);
});

test("a revision is found by any name that git has for it", async () => {
  const first = commit("a", "one");
  git("branch", "topic");
  git("tag", "v1");
  expect(await facts.revision(place(), "topic")).toEqual({ commit: first, ref: "refs/heads/topic" });
  expect(await facts.revision(place(), "v1")).toEqual({ commit: first, ref: "refs/tags/v1" });
  expect(await facts.revision(place(), first.slice(0, 8))).toEqual({ commit: first, ref: null });
  expect(await facts.revision(place(), "nothing")).toBeNull();
  expect(await facts.revision(place(), "-q")).toBeNull();
  git("switch", "-q", "topic");
  expect(await facts.revision(place(), "@{-1}")).toEqual({ commit: first, ref: "refs/heads/main" });
  expect(await facts.setting(place(), "pull.rebase")).toBeNull();
  git("config", "pull.rebase", "true");
  expect(await facts.setting(place(), "pull.rebase")).toBe("true");
});
