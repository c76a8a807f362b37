/** Hooks before a commit: which texts say that they change files, and how long edits wait for such a commit. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Actor, FileRef } from "../../daemon/core/frame/actors.ts";
import { saysRewrites } from "../../daemon/facts/git/hooks.ts";
import { HookedCommits } from "../../daemon/hooks/guard/memory.ts";
import { limits } from "../../protocol/limits.ts";

test.each<[text: string, rewrites: boolean]>([
  ["git stash push -k -u", true],
  ["exec git -C sub -c a=b stash -q", true],
  ["git diff --name-only | xargs git add", true],
  ["npx --no-install lint-staged", true],
  ["pre-commit run --all-files", true],
  ['exec pre-commit hook-impl --config="$C"', true],
  ['exec "$PYTHON" -mpre_commit "$@"', true],
  ["call_lefthook run pre-commit", false],
  ["lefthook run pre-commit", true],
  ["prettier --write .", true],
  ["eslint src --fix && black .", true],
  ["sed -Ei s/a/b/ x", true],
  ["# git stash\n  # lint-staged", false],
  ['echo "git add your files"\nprintf "run black"', false],
  ["npm test", false],
  ["git diff --check && git log -1", false],
  ["echo pre-commit hook", false],
  ["./scripts/pre-commit.sh", false],
])("%s", (text, rewrites) => {
  expect(saysRewrites(`#!/bin/sh\n${text}\n`)).toBe(rewrites);
});

describe("a commit that edits wait for", () => {
  const actor = (session: string): Actor => ({ session, agent: null, incarnation: 0 });
  const file = (path: string): FileRef => ({ file: path, lexical: path, key: `n:${path}`, dir: false });
  const engine = { state: { sessions: { worktrees: new Map([["/r/inner", new Set()]]) } } };
  const services = { engine } as unknown as Parameters<HookedCommits["over"]>[0];
  const place = { worktree: "/r", gitDir: "/r/.git" };
  const commit = {
    actor: actor("bob"),
    prompt: "p",
    place,
    project: "/r",
    hooks: "h",
    stashes: null,
    isPlain: true,
  };
  const over = (commits: HookedCommits, who: string, ...files: readonly string[]) =>
    commits.over(services, actor(who), files.map(file));

  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("covers the files of its worktree, for others", () => {
    const commits = new HookedCommits();
    expect(over(commits, "ann", "/r/a")).toBeNull();
    commits.began("t", commit, true);
    expect(over(commits, "ann", "/x", "/r/a")?.actor).toEqual(actor("bob"));
    expect(over(commits, "bob", "/r/a")).toBeNull();
    expect(over(commits, "ann", "/ra", "/r/.git/index", "/r/inner/a")).toBeNull();
    commits.began("u", { ...commit, place: { worktree: "/q", gitDir: "/q/.git" } }, false);
    expect(over(commits, "ann", "/q/a")).toBeNull();
  });

  test("ends when its line does, when its actor's turn does, and after a while", async () => {
    const commits = new HookedCommits();
    const ends = [
      () => commits.endWait("t"),
      () => commits.turnEnded({ session: "bob", agent: null }, null),
      () => commits.turnEnded({ session: "bob", agent: null }, "next"),
      () => void vi.advanceTimersByTime(limits.commitHookWaitMs),
    ];
    for (const end of ends) {
      commits.began("t", commit, true);
      const held = over(commits, "ann", "/r/a");
      vi.advanceTimersByTime(limits.commitHookWaitMs - 1);
      commits.turnEnded({ session: "bob", agent: null }, "p");
      commits.turnEnded({ session: "ann", agent: null }, null);
      expect(over(commits, "ann", "/r/a")).toBe(held);
      end();
      await held?.over;
      expect(over(commits, "ann", "/r/a")).toBeNull();
    }
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is told of once more while its line runs: it waits no longer for that", () => {
    const commits = new HookedCommits();
    commits.began("t", commit, true);
    vi.advanceTimersByTime(limits.commitHookWaitMs - 1);
    commits.began("t", commit, true);
    vi.advanceTimersByTime(1);
    expect(over(commits, "ann", "/r/a")).toBeNull();
    expect(commits.ended("t")).toEqual(commit);
    expect(commits.ended("t")).toBeNull();
  });
});
