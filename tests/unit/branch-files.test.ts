/** The files that a branch changed, as git tells them. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import { branchFiles } from "../../daemon/facts/git/changes.ts";
import { GitChild } from "../../daemon/facts/git/process.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";

function repository(branch = "main") {
  const worktree = join(temporaryFolder("kite-branch-"), "app");
  mkdirSync(worktree);
  const env = { PATH: process.env["PATH"] ?? "", HOME: worktree, GIT_CONFIG_NOSYSTEM: "1" };
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
      ...{ cwd: worktree, env, stdio: "pipe", encoding: "utf8" },
    }).trim();
  const write = (name: string, text: string) => writeFileSync(join(worktree, name), text);
  const commit = () => {
    git("add", "-A");
    git("commit", "--allow-empty", "-m", "work");
  };
  const look = () =>
    branchFiles(new BudgetedFs(), new GitChild(), { worktree, gitDir: join(worktree, ".git") });
  git("init", `--initial-branch=${branch}`);
  return { worktree, git, write, commit, look };
}

test("are those that its commits changed since it left its base, each with its content's id", async () => {
  const { worktree, git, write, commit, look } = repository();
  expect(await look()).toEqual([]);
  for (const name of ["kept.ts", "changed.ts", "gone.ts"]) write(name, `${name} of before`);
  commit();
  expect(await look()).toEqual([]);
  git("checkout", "-b", "paging");
  write("changed.ts", "after");
  write("ü and new.ts", "new");
  rmSync(join(worktree, "gone.ts"));
  commit();
  write("kept.ts", "not committed");
  // What the base has since is not the branch's.
  git("stash");
  git("checkout", "main");
  write("base.ts", "of the base");
  commit();
  git("checkout", "paging");
  expect(await look()).toEqual([
    ["changed.ts", git("rev-parse", "HEAD:changed.ts")],
    ["gone.ts", null],
    ["ü and new.ts", git("rev-parse", "HEAD:ü and new.ts")],
  ]);
});

test("count from what the remote calls its own branch, and there are none without a base", async () => {
  const { git, write, commit, look } = repository("trunk");
  write("a.ts", "1");
  commit();
  expect(await look()).toEqual([]);
  git("update-ref", "refs/remotes/origin/trunk", "HEAD");
  git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk");
  write("b.ts", "1");
  commit();
  expect(await look()).toEqual([["b.ts", git("rev-parse", "HEAD:b.ts")]]);
});

test("are bounded", async () => {
  const { git, write, commit, look } = repository();
  commit();
  git("checkout", "-b", "wide");
  for (let n = 0; n <= limits.branchFilesMax; n += 1) write(`${n}.ts`, "1");
  commit();
  expect(await look()).toHaveLength(limits.branchFilesMax);
});
