import { expect, it } from "vitest";
import type { CoreEvent } from "../../daemon/core/tables/entries.ts";
import { trailOf } from "../../daemon/trail/from-events.ts";
import { actor, lockOf, World } from "./core-world.ts";
import { claimOf, releaseOf, TaskWorld, updateOf } from "./task-world.ts";

/** The lines about tasks, in short. */
const tasksIn = (events: readonly CoreEvent[]) =>
  trailOf(events, 7)
    .filter(line => line.rule === "task")
    .map(({ id, name, type, why }) => [id, name, type, why]);

it("writes down waits, and how each lock ended and after how long", () => {
  const w = new World();
  w.begin("a", { name: "alice", project: "/shop" });
  w.lock("a", "x", { kind: "turn" });
  w.lock("a", "y");
  w.lock("b", "x", { kind: "turn" });
  w.pass(15_000);
  const told = () => trailOf(w.steps.at(-1)?.events ?? [], 7);
  const lines = w.steps.flatMap(step => trailOf(step.events, 7)).filter(line => line.rule === "lock");
  expect(lines).toEqual([
    {
      at: 7,
      event: "lock_queued",
      id: "b",
      agent: null,
      name: "b",
      project: "default",
      type: null,
      file: "/p/x",
      decision: "wait",
      rule: "lock",
      why: "behind alice, queue position 1",
    },
    {
      at: 7,
      event: "lock_released",
      id: "a",
      agent: null,
      name: "alice",
      project: "/shop",
      type: "yielded",
      file: "/p/x",
      decision: "note",
      rule: "lock",
      why: "others waited and it was not touched, so it passed on",
      heldMs: 15_000,
    },
  ]);
  w.unlock("a", "y");
  expect(told()).toMatchObject([
    { name: "alice", type: "unlocked", why: "its holder unlocked it", heldMs: 15_000 },
  ]);
  w.step({ type: "session_end", session: "a", incarnation: null, cause: "anchor_gone" });
  expect(told()).toMatchObject([{ event: "session_ended", name: "alice", why: "its process ended" }]);
});

it("writes down who froze which file, and when that ended", () => {
  const w = new World();
  w.begin("a", { name: "alice", project: "/p" });
  const hold = { files: lockOf("a", "x", 0).files, ttlMs: 2_500 };
  const freeze = { type: "broadcast", project: "/p", text: "secret", bytes: 6, hold, wallMs: 1 } as const;
  const last = () => trailOf(w.steps.at(-1)?.events ?? [], 7);
  w.do({ ...freeze, actor: actor("a") });
  expect(last()).toMatchObject([{ name: "alice", file: "/p/x", rule: "freeze", why: "froze it for 3 s" }]);
  expect(JSON.stringify(last())).not.toContain("secret");
  w.pass(2_500);
  expect(last()).toMatchObject([{ id: null, file: "/p/x", why: "the freeze ended: its time was over" }]);
  w.do({ ...freeze, actor: actor("a") });
  w.do({ type: "resume", actor: actor("a"), project: "/p", hold: null });
  expect(last()).toMatchObject([{ file: "/p/x", why: "the freeze ended: before its time, on request" }]);
});

it("writes down which tasks nobody works on any more, and not what was given back", () => {
  const w = new TaskWorld();
  w.create("it");
  const ends: unknown[] = [];
  for (const cause of ["anchor_gone", "deregistered", "ended"] as const) {
    w.begin("a", { name: "alice" });
    w.do(claimOf("a"));
    const { events } = w.step({ type: "session_end", session: "a", incarnation: null, cause });
    ends.push(...tasksIn(events));
  }
  expect(ends).toEqual([
    ["a", "alice", "anchor_gone", "its process ended, t-0-1 can be claimed again"],
    ["a", "alice", "deregistered", "its session ended, t-0-1 can be claimed again"],
    ["a", "alice", "ended", "its session ended, t-0-1 has failed: too many attempts"],
  ]);
  w.do(updateOf(null, "t-0-1", { status: "pending" }));
  w.do(claimOf("b"));
  expect(trailOf(w.step(releaseOf("b", "t-0-1")).events, 8)).toEqual([]);
});

it("writes down what a shell command changed past its holder", () => {
  const w = new World();
  w.begin("a", { name: "alice", project: "/p" });
  w.begin("b", { name: "bob", project: "/p" });
  w.lock("a", "x");
  const files = [{ key: "n:/p/x", file: "x", worktree: "/p", project: "/p" }];
  const actor = { session: "b", agent: null, incarnation: 0 };
  const noted = { files, by: "shell", ancestors: [], wallMs: 1 } as const;
  const { events } = w.step({ type: "writes_noted", actor, noted });
  expect(trailOf(events, 9)).toEqual([
    {
      at: 9,
      event: "bypassed",
      id: "b",
      agent: null,
      name: "bob",
      project: "/p",
      type: "shell",
      file: "/p/x",
      decision: "note",
      rule: "write",
      why: "changed by a shell command while alice holds it",
    },
  ]);
});

it("writes down a write that came after its lock had passed", () => {
  const w = new World();
  w.begin("a", { name: "alice" });
  w.begin("b", { name: "bob" });
  w.lock("a", "x", { kind: "turn", flight: "use" });
  w.pass(600_000);
  w.lock("b", "x");
  const step = w.step({
    type: "flight_end",
    actor: { session: "a", agent: null, incarnation: 0 },
    flight: "use",
    wrote: true,
  });
  expect(trailOf(step.events, 9)).toMatchObject([
    {
      event: "lost_update",
      name: "alice",
      file: "/p/x",
      why: "wrote after its lock had passed on; bob has it now",
    },
  ]);
});
