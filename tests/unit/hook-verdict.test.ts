import { expect, test } from "vitest";
import { grantVerdict, guardVerdict, isHeldBack, refusalVerdict, stops } from "../../daemon/hooks/verdict.ts";
import { teamVerdict } from "../../daemon/lead/team-gate.ts";
import type { MergeNote } from "../../hooks/seam/outcomes.ts";
import { type Code, codes } from "../../protocol/codes.ts";
import type { GuardFinding } from "../../protocol/guard.ts";

const isACode = (name: string): name is Code => Object.hasOwn(codes, name);

test("only what another agent is in the way of is denied", () => {
  const denied = Object.keys(codes)
    .filter(isACode)
    .filter(code => refusalVerdict(code) === "deny");
  expect(denied.sort()).toEqual([
    "already_queued",
    "edits_held",
    "lock_deadlock",
    "lock_given_up",
    "lock_held",
    "lock_queue_full",
    "lock_timeout",
  ]);
});

test("an edit that has its lock runs, unless it would overwrite a change that it never saw", () => {
  const risk: MergeNote = { file: "a.ts", own: "/a", name: "bob", worktree: "/b", branch: null };
  const verdict = (
    overwrites: boolean,
    changedWhileWaiting: boolean,
    mergeRisks: MergeNote[] = [],
    unkept: string[] = [],
  ) => grantVerdict({ overwrites }, { changedWhileWaiting, mergeRisks, unkept });
  expect(verdict(false, false)).toBe("allow");
  expect(verdict(true, false)).toBe("allow");
  expect(verdict(false, true)).toBe("allow_with_note");
  expect(verdict(true, true)).toBe("deny");
  expect(verdict(true, false, [risk])).toBe("allow_with_note");
  expect(verdict(true, true, [risk])).toBe("deny");
  expect(verdict(false, false, [], ["/a/a.ts"])).toBe("allow_with_note");
  const unseen = { file: "/a/a.ts", name: "bob", lines: null, agoMs: 1 };
  const mayLose = (overwrites: boolean) =>
    grantVerdict({ overwrites }, { changedWhileWaiting: false, unseen, mergeRisks: [], unkept: [] });
  expect([false, true].map(mayLose)).toEqual(["deny", "deny"]);
});

test("a shell line with findings runs only where the guard warns, or is off", () => {
  const rest = { command: 0, foreign: [], more: 0, own: [], worktree: "/a" };
  const wipes: GuardFinding = { ...rest, verdict: "deny" };
  const takes: GuardFinding = { ...rest, verdict: "tell_first" };
  for (const found of [[wipes], [takes], [takes, wipes]]) {
    expect(guardVerdict("deny", found)).toBe("deny");
    expect(guardVerdict("warn", found)).toBe("allow_with_note");
    expect(guardVerdict("off", found)).toBe("allow");
  }
  for (const mode of ["deny", "warn", "off"] as const) expect(guardVerdict(mode, [])).toBe("allow");
});

test("a call that breaks a team's rule runs only where the rules warn, or are off", () => {
  const found = [{ rule: "dead_letter", to: "alice" }] as const;
  expect((["enforce", "warn", "off"] as const).map(mode => teamVerdict(mode, found))).toEqual([
    ...(["deny", "allow_with_note", "allow"] as const),
  ]);
  for (const mode of ["enforce", "warn", "off"] as const) expect(teamVerdict(mode, [])).toBe("allow");
  const outcome = { did: "gate_team", ok: true, findings: found, isTeammate: false } as const;
  expect(isHeldBack({ observes: false }, { ...outcome, verdict: "deny" })).toBe(true);
  expect(isHeldBack({ observes: false }, { ...outcome, verdict: "allow_with_note" })).toBe(false);
  expect(isHeldBack({ observes: true }, { ...outcome, verdict: "deny" })).toBe(false);
  expect([true, false].map(observes => stops({ observes }, "deny"))).toEqual([false, true]);
});
