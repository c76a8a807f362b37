/** What a shell line does to HEAD, to branches and to operations in progress. */
import { describe, expect, test } from "vitest";
import { guardShell } from "../../hooks/git/commands.ts";
import type { RefUse } from "../../protocol/guard.ts";

function usesOf(line: string): readonly RefUse[] {
  return guardShell(line, "/p").commands.flatMap(({ refs }) => refs ?? []);
}

const move = (by: string, more: object) => ({ does: "move", by, ...more }) as RefUse;
const end = (operation: string, how: string) => ({ does: "end", operation, how }) as RefUse;

describe("HEAD goes elsewhere", () => {
  test.each<[line: string, use: RefUse]>([
    ["git switch topic", move("switch", { to: "topic" })],
    ["git switch -", move("switch", { to: "@{-1}" })],
    ["git switch -c new", move("switch", { to: "HEAD", newBranch: "new" })],
    [
      "git switch -C new origin/main",
      move("switch", { to: "origin/main", newBranch: "new", isForced: true }),
    ],
    ["git switch --orphan bare", move("switch", { to: "HEAD", newBranch: "bare", isOrphan: true })],
    ["git switch --detach v1", move("switch", { to: "v1", isDetached: true })],
    ["git switch -d", move("switch", { to: "HEAD", isDetached: true })],
    ["git switch -t origin/topic", move("switch", { to: "origin/topic", newBranch: "topic" })],
    ["git checkout topic", move("checkout", { to: "topic", orPath: true })],
    ["git checkout topic --", move("checkout", { to: "topic" })],
    ["git checkout -b new", move("checkout", { to: "HEAD", newBranch: "new" })],
    ["git checkout -B new main", move("checkout", { to: "main", newBranch: "new", isForced: true })],
    ["git checkout --orphan bare", move("checkout", { to: "HEAD", newBranch: "bare", isOrphan: true })],
    ["git checkout --detach", move("checkout", { to: "HEAD", isDetached: true })],
    ["git checkout HEAD~2", move("checkout", { to: "HEAD~2", orPath: true })],
    ["git stash branch new", move("stash branch", { to: "stash@{0}^", newBranch: "new" })],
    ["git stash branch new 1", move("stash branch", { to: "stash@{1}^", newBranch: "new" })],
    ["git branch -m new", move("branch", { to: "HEAD", newBranch: "new" })],
    ["git branch -M old new", move("branch", { to: "HEAD", newBranch: "new", onlyOn: "old" })],
    ["git branch -f topic main", move("branch", { to: "main", onlyOn: "topic" })],
    ["git symbolic-ref HEAD refs/heads/x", move("symbolic-ref", { to: "refs/heads/x" })],
    ["git update-ref HEAD main", move("update-ref", { to: "main" })],
    ["git update-ref refs/heads/x main", move("update-ref", { to: "main", onlyOn: "x" })],
    ["git bisect start", move("bisect", { to: null })],
    ["git -C . bisect start HEAD v1", move("bisect", { to: null })],
    ['git switch "$B"', move("switch", { to: null })],
    ['git checkout -b "$B"', move("checkout", { to: "HEAD", newBranch: null })],
  ])("%s", (line, use) => {
    expect(usesOf(line)).toEqual([use]);
  });
});

describe("its branch goes elsewhere", () => {
  test.each<[line: string, use: RefUse]>([
    ["git reset HEAD~1", move("reset", { to: "HEAD~1", orPath: true })],
    ["git reset --soft HEAD~1", move("reset", { to: "HEAD~1" })],
    ["git reset --hard origin/main", move("reset", { to: "origin/main" })],
    ["git reset --hard", move("reset", { to: "HEAD" })],
    ["git reset", move("reset", { to: "HEAD" })],
    ["git rebase main", move("rebase", { to: "main", ifApart: true })],
    ["git rebase", move("rebase", { to: "@{upstream}", ifApart: true })],
    ["git rebase -i HEAD~3", move("rebase", { to: "HEAD~3" })],
    ["git rebase --onto main a b", move("rebase", { to: "main", branch: "b" })],
    ["git rebase --root", move("rebase", { to: "HEAD" })],
    ["git pull --rebase", move("pull", { to: "@{upstream}", ifApart: true })],
    ["git pull -r origin main", move("pull", { to: "refs/remotes/origin/main", ifApart: true })],
    ["git pull", move("pull", { to: "@{upstream}", ifApart: true, ifSet: "pull.rebase" })],
    ["git -c pull.rebase=true pull", move("pull", { to: "@{upstream}", ifApart: true })],
  ])("%s", (line, use) => {
    expect(usesOf(line)).toEqual([use]);
  });
});

describe("other uses", () => {
  test.each<[line: string, ...uses: RefUse[]]>([
    ["git commit -m x", { does: "add" }],
    ["git commit -qam x", { does: "add" }],
    ["git merge topic", { does: "add" }],
    ["git pull --ff-only", { does: "add" }],
    ["git pull --no-rebase", { does: "add" }],
    ["git pull --rebase=false", { does: "add" }],
    ["git cherry-pick abc", { does: "add" }],
    ["git revert HEAD", { does: "add" }],
    ["git am x.patch", { does: "add" }],
    ["git commit --amend --no-edit", { does: "rewrite" }],
    ["git filter-branch --all", { does: "rewrite", revisions: ["--branches"] }],
    ["git filter-branch --msg-filter cat a..b", { does: "rewrite", revisions: ["a..b"] }],
    ["git merge --abort", end("merge", "abort")],
    ["git rebase --continue", end("rebase", "continue")],
    ["git rebase --skip", end("rebase", "skip")],
    ["git cherry-pick --quit", end("cherry-pick", "quit")],
    ["git am --resolved", end("am", "continue")],
    ["git bisect good", end("bisect", "continue")],
    ["git bisect reset", end("bisect", "abort")],
    ["git branch -D a b", { does: "delete", branches: ["a", "b"] }],
    ["git push", { does: "push", remote: null, refs: [] }],
    ["git push -f origin main", { does: "push", remote: "origin", refs: ["main"], isForced: true }],
    ["git push origin --delete x", { does: "push", remote: "origin", refs: ["x"], isDeleting: true }],
    [
      "git switch a && git commit -m x && git push",
      move("switch", { to: "a" }),
      { does: "add" },
      {
        does: "push",
        remote: null,
        refs: [],
      },
    ],
  ])("%s", (line, ...uses) => {
    expect(usesOf(line)).toEqual(uses);
  });

  test.each([
    "git checkout -- a.ts",
    "git checkout a.ts b.ts",
    "git checkout main -- a.ts",
    "git checkout -p main",
    "git reset -- a.ts",
    "git reset HEAD a.ts b.ts",
    "git commit --dry-run",
    "git push --dry-run",
    "git branch",
    "git branch new",
    "git branch -r",
    "git symbolic-ref HEAD",
    "git status",
    "git log --oneline",
    "git bisect log",
    "git rebase --edit-todo",
    "git stash pop",
    "git switch --help",
    // The program behind it may not be git.
    "foo git push",
  ])("none: %s", line => {
    expect(usesOf(line)).toEqual([]);
  });
});
