/** kite explain: from lines of the trail to sentences. */
import { describe, expect, it } from "vitest";
import { type Explained, LockHistory, Story } from "../../bin/trail/explained.ts";
import { explainLines } from "../../bin/trail/sentences.ts";
import type { TrailLine } from "../../daemon/trail/line.ts";
import { now, screen } from "./view-rows.ts";

function line(name: string, secondsAgo: number, more: Partial<TrailLine> = {}): TrailLine {
  return {
    at: now - secondsAgo * 1000,
    event: "PreToolUse",
    id: `${name}-0000-4000`,
    agent: null,
    name,
    project: "/home/ana/code/shop/.git",
    type: "PreToolUse",
    file: "/home/ana/code/shop/src/auth.ts",
    decision: "allow",
    ms: 2,
    ...more,
  };
}

/** What the lines tell, as the command reads them. */
function storyOf(
  lines: readonly TrailLine[],
  wanted: (line: TrailLine) => boolean = () => true,
  max = 100,
): readonly Explained[] {
  const history = new LockHistory();
  const story = new Story(wanted, max);
  for (const one of lines) {
    story.add(one, history);
    history.add(one);
  }
  return story.found;
}

const told = (lines: readonly TrailLine[], wanted?: (line: TrailLine) => boolean) =>
  storyOf(lines, wanted).flatMap(one => explainLines(one, screen(160)));

describe("the sentences", () => {
  it("tell who took a file, who waited for whom, who was denied, and how it ended", () => {
    const timeout = { decision: "deny", code: "lock_timeout", why: "lock queue timeout (50s)" } as const;
    expect(
      told([
        line("alice", 100),
        line("bob", 60, { ms: 12_300 }),
        line("carol", 10, { ...timeout, ms: 50_004 }),
        line("bob", 9, { event: "file_unlock" }),
        line("bob", 8, { event: "file_unlock", decision: "deny", why: "you do not hold it" }),
        line("alice", 5, { event: "SessionEnd", file: null, decision: "note", why: "logout" }),
        line("bob", 4, {
          event: "lock_yielded",
          decision: "note",
          why: "yielded to carol, untouched for 15s",
        }),
      ]),
    ).toEqual([
      "13:58:20  alice took src/auth.ts at once.",
      "13:59:00  bob waited 12s for src/auth.ts, then had it. alice had taken it at 13:58:20.",
      "13:59:50  carol was denied src/auth.ts after 50s: the file did not get free within 50 s. bob had taken it at 13:59:00.",
      "13:59:51  bob released src/auth.ts.",
      "13:59:52  bob could not release src/auth.ts: you do not hold it.",
      "13:59:55  alice's session ended (logout).",
      "13:59:56  bob, src/auth.ts: yielded to carol, untouched for 15s.",
    ]);
  });

  it("name the git command that was stopped or let run", () => {
    const index = { type: "git add -A", file: null } as const;
    const wipe = {
      type: "git stash push",
      decision: "deny",
      why: "would reach uncommitted work: src/auth.ts (bob)",
    } as const;
    expect(
      told([
        line("bob", 50),
        line("carol", 40, wipe),
        line("carol", 30, index),
        line("carol", 29, { ...index, ms: 2000 }),
      ]),
    ).toEqual([
      "13:59:10  bob took src/auth.ts at once.",
      "13:59:20  carol was denied `git stash push`: would reach uncommitted work: src/auth.ts (bob).",
      "13:59:30  carol ran `git add -A`, and again 1 time until 13:59:31.",
    ]);
    expect(told([line("carol", 29, { ...index, ms: 2000 })])).toEqual([
      "13:59:31  carol ran `git add -A` after 2s.",
    ]);
  });

  it("tell of a row of the same once, and of waits each", () => {
    expect(told([line("bob", 30), line("bob", 20), line("bob", 10), line("eve", 5), line("bob", 1)])).toEqual(
      [
        "13:59:30  bob took src/auth.ts at once, and again 2 times until 13:59:50.",
        "13:59:55  eve took src/auth.ts at once.",
        "13:59:59  bob took src/auth.ts at once.",
      ],
    );
    expect(told([line("bob", 30, { ms: 500 }), line("bob", 20, { ms: 500 })])).toHaveLength(2);
  });

  it("know from the others' lines who had the file, and forget who released it", () => {
    const isBob = (one: TrailLine) => one.name === "bob";
    const release = line("alice", 20, { event: "file_unlock" });
    const waited = line("bob", 10, { ms: 3_000, file: "src/auth.ts" });
    expect(told([line("alice", 30), waited], isBob)).toEqual([
      "13:59:50  bob waited 3s for src/auth.ts, then had it. alice had taken it at 13:59:30.",
    ]);
    expect(told([line("alice", 30), release, waited], isBob)).toEqual([
      "13:59:50  bob waited 3s for src/auth.ts, then had it.",
    ]);
  });

  it("name agents, strangers and files elsewhere, and nothing that moves the cursor", () => {
    expect(
      told([
        line("bob", 3, { agent: "a1b2c3d4e5", file: "/home/ana/x" }),
        line("", 2, { name: null, file: "/etc/\u001b[2Jhosts\u202e", project: null }),
        line("bob/Explore", 1, { agent: "a1b2c3d4e5", decision: "deny", why: "a\nb\u0007" }),
      ]),
    ).toEqual([
      "13:59:57  bob/a1b2c3d4 took ~/x at once.",
      "13:59:58  -0000-40 took /etc/ [2Jhosts at once.",
      "13:59:59  bob/Explore was denied src/auth.ts: a b.",
    ]);
  });

  it("keep to the width", () => {
    const [one] = storyOf([line("bob", 10, { ms: 3_000 })]);
    expect(one && explainLines(one, screen(40))).toEqual([
      "13:59:50  bob waited 3s for src/auth.ts,",
      "          then had it.",
    ]);
  });

  it("tell of a wait only until it is over, and how a lock ended after how long", () => {
    const wait = { event: "lock_queued", type: null, decision: "wait", rule: "lock" } as const;
    const behind = { ...wait, why: "behind alice, queue position 1" };
    const end = { event: "lock_released", decision: "note", rule: "lock" } as const;
    expect(
      told([
        line("alice", 100, { rule: "lock" }),
        line("bob", 90, behind),
        line("carol", 85, behind),
        line("alice", 80, { ...end, type: "turn ended", why: "its turn ended", heldMs: 20_000 }),
        line("bob", 80, { rule: "lock", ms: 10_000, waitedMs: 10_000 }),
        line("bob", 70, { rule: "lock", ms: 500 }),
        line("bob", 60, { ...end, type: "unlocked", why: "its holder unlocked it", heldMs: 20_000 }),
        line("dave", 50, {
          event: "session_started",
          file: null,
          decision: "note",
          why: "its session began",
        }),
        line("dave", 40, { event: "session_ended", file: null, decision: "note", why: "its process ended" }),
        line("", 30, {
          name: null,
          id: null,
          event: "hold_ended",
          decision: "note",
          why: "the freeze ended",
        }),
        line("eve", 20, { type: "Edit", rule: "ignore", why: "ignored: it needs no lock" }),
      ]),
    ).toEqual([
      "13:58:20  alice took src/auth.ts at once.",
      "13:58:35  carol began to wait for src/auth.ts: behind alice, queue position 1.",
      "13:58:40  alice's lock on src/auth.ts ended after 20s: its turn ended.",
      "13:58:40  bob waited 10s for src/auth.ts, then had it.",
      "13:58:50  bob took src/auth.ts at once.",
      "13:59:00  bob released src/auth.ts after 20s.",
      "13:59:10  dave's session began.",
      "13:59:20  dave's session ended (its process ended).",
      "13:59:30  src/auth.ts: the freeze ended.",
      "13:59:40  eve, src/auth.ts: ignored: it needs no lock.",
    ]);
  });

  it("tell what became of a task", () => {
    const task = { file: null, rule: "task", task: "t-1-1" } as const;
    const by = (name: string, event: string, more: Partial<TrailLine> = {}) =>
      line(name, 10, { ...task, event, type: event, ...more });
    expect(
      told([
        by("alice", "task_create"),
        by("bob", "task_claim"),
        by("carol", "task_claim", { decision: "deny", why: "bob works on t-1-1" }),
        by("bob", "task_released", {
          decision: "note",
          why: "its process ended, t-1-1 can be claimed again",
        }),
        by("carol", "task_update", { type: "done", why: "t-1-1 done" }),
        by("carol", "task_update"),
        by("carol", "task_release"),
        by("carol", "task_update", { type: "failed" }),
        by("dan", "task_release", { decision: "deny", why: "not his" }),
        by("dan", "task_update", { type: "pending" }),
        line("carol", 10, {
          file: null,
          rule: "task",
          event: "task_create",
          type: null,
          why: "t-1-2 pending",
        }),
      ]).map(text => text.slice(10)),
    ).toEqual([
      "alice created t-1-1.",
      "bob claimed t-1-1.",
      "carol could not claim t-1-1: bob works on t-1-1.",
      "bob lost t-1-1: its process ended, t-1-1 can be claimed again.",
      "carol finished t-1-1.",
      "carol changed t-1-1.",
      "carol gave t-1-1 back.",
      "carol gave t-1-1 up as failed.",
      "dan could not give t-1-1 back: not his.",
      "dan made t-1-1 pending again.",
      "carol created t-1-2 pending.",
    ]);
  });

  it("keep no more than is shown, however long the trail is", () => {
    const lines = Array.from({ length: 1_000 }, (_, i) => line("bob", 1_000 - i, { file: `/f${i}` }));
    expect(storyOf(lines, () => true, 3).map(({ file }) => file)).toEqual(["/f997", "/f998", "/f999"]);
  });
});
