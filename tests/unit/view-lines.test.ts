import { describe, expect, it } from "vitest";
import { checkLines, verdict } from "../../bin/doctor/results.ts";
import { logLines } from "../../bin/trail/sentences.ts";
import { eventSentence, lockEventLine } from "../../bin/view/event-lines.ts";
import type { TrailLine } from "../../daemon/trail/line.ts";
import type { KiteEvent } from "../../protocol/events.ts";
import { personName } from "../../protocol/names.ts";
import { now, screen } from "./view-rows.ts";

describe("kite log", () => {
  const line: TrailLine = {
    at: now - 1_000,
    event: "file_lock",
    id: "bob-0000-4000",
    agent: null,
    name: "bob",
    project: "/home/ana/code/shop/.git",
    type: "file_lock",
    file: "/home/ana/code/shop/src/auth.ts",
    decision: "allow",
  };

  it("is a line for each decision: when, what, who, which file, why", () => {
    const denied: TrailLine = {
      ...line,
      event: "PreToolUse",
      type: "Edit",
      decision: "deny",
      code: "lock_timeout",
      why: "lock queue timeout (50s)",
      ms: 50_012,
    };
    const stashed: TrailLine = { ...line, event: "PreToolUse", type: "git stash push", file: null };
    expect(logLines(stashed, screen(200))).toEqual(["13:59:59  allow  bob               git stash push"]);
    expect([...logLines(line, screen(200)), ...logLines(denied, screen(200))]).toEqual([
      "13:59:59  allow  bob               file lock     src/auth.ts",
      "13:59:59  deny   bob               Edit          src/auth.ts  the file did not get free within 50 s  after 50s",
    ]);
  });

  it("says in words how a lock ended, why a line without a reason is there, and how long a hook took", () => {
    const ended: TrailLine = {
      ...line,
      event: "lock_released",
      type: "anchor_gone",
      decision: "note",
      why: "its process ended",
      heldMs: 42_000,
    };
    const bare: TrailLine = { ...line, decision: "deny", code: "lock_held" };
    const hook: TrailLine = { ...line, event: "Stop", type: null, file: null, decision: "event", ms: 1.5 };
    expect([ended, bare, hook].flatMap(one => logLines(one, screen(200)))).toEqual([
      "13:59:59  note   bob               lock released  src/auth.ts  its process ended  held 42s",
      "13:59:59  deny   bob               file lock     src/auth.ts  another agent has the file",
      "13:59:59  event  bob               Stop          1.5 ms",
    ]);
  });

  it("goes on below where the terminal is narrow", () => {
    const noted: TrailLine = { ...line, decision: "note", why: "the terminal was closed while it ran" };
    expect(logLines(noted, screen(50))).toEqual([
      "13:59:59  note   bob               file lock",
      "          src/auth.ts  the terminal was closed",
      "          while it ran",
    ]);
  });

  it("shows what names it has, cleaned", () => {
    const bare: TrailLine = { ...line, name: null, agent: "f00dcafe-1", project: null, file: "a\u001b[2Jb" };
    expect(logLines(bare, screen(200))).toEqual(["13:59:59  allow  bob-0000/f00dcafe  file lock     a [2Jb"]);
  });

  it("paints the decision alone", () => {
    expect(logLines(line, screen(200, { color: true }))[0]).toContain("  \u001b[32mallow\u001b[0m  bob");
  });
});

describe("kite status --locks --watch in a pipe", () => {
  const bob = { id: "b", agent: null, name: "bob" };
  const alice = { id: "a", agent: null, name: "alice" };
  const at = { files: ["a.ts"], paths: ["/shop/a.ts"] };
  const events: readonly (readonly [KiteEvent, string | null])[] = [
    [
      { event: "lock_granted", ...at, token: "t", holder: bob, waitedMs: 4_000 },
      "granted   /shop/a.ts to bob after 4s",
    ],
    [{ event: "lock_granted", ...at, token: "t", holder: bob, waitedMs: 0 }, "granted   /shop/a.ts to bob"],
    [
      { event: "lock_queued", ...at, waiter: bob, holder: alice, position: 2 },
      "queued    bob for /shop/a.ts, queue position 2, held by alice",
    ],
    [
      { event: "lock_released", ...at, holder: bob, cause: "unlocked" },
      "released  /shop/a.ts by bob: its holder unlocked it",
    ],
    [
      { event: "lock_wait_ended", ...at, waiter: bob, cause: "timeout" },
      "gave up   bob for /shop/a.ts: it waited as long as it could",
    ],
    [
      { event: "lock_revoked", ...at, more: 3, holder: bob, by: "alice" },
      "revoked   /shop/a.ts, 3 more from bob by alice",
    ],
    [{ event: "session_started", id: "b", name: "bob", project: "p" }, null],
  ];

  it.each(events)("says event %#", (event, said) => {
    const shown = lockEventLine({ type: "event", ...event }, { now });
    expect(shown).toBe(said === null ? null : `14:00:00  ${said}`);
  });
});

describe("kite doctor", () => {
  it("says what was found and below it what to do", () => {
    const check = {
      check: "home",
      result: "fail",
      detail: "/h/.kite is open to other users (mode 0755)",
    } as const;
    expect(checkLines({ ...check, todo: "if it is Kite's: chmod 700 '/h/.kite'" }, screen(50))).toEqual([
      "fail  home         /h/.kite is open to other users",
      "                   (mode 0755)",
      "                   -> if it is Kite's: chmod 700",
      "                      '/h/.kite'",
    ]);
  });

  it("ends with a verdict", () => {
    const of = (...results: ("ok" | "warn" | "fail")[]) =>
      verdict(
        results.map(result => ({ check: "x", result, detail: "" })),
        screen(80),
      );
    expect(of("ok", "ok")).toBe("all is well");
    expect(of("ok", "warn")).toBe("1 to look at");
    expect(of("fail", "warn", "warn")).toBe("1 failed, 2 to look at");
  });
});

describe("kite watch in a pipe", () => {
  it("says which check is green or red, where, and who ran it", () => {
    const recorded = { event: "check_recorded", project: "/p", worktree: "/p-two", check: "test" } as const;
    const told = (exit: number, by: { id: string; agent: null; name: string } | null) =>
      eventSentence({ type: "event", ...recorded, exit, commit: null, by });
    expect(told(0, { id: "b", agent: null, name: "bob" })).toBe("green     test in /p-two, run by bob");
    expect(told(2, null)).toBe(`red       test in /p-two, run by ${personName()}`);
  });
});
