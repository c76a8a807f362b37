import { expect, it } from "vitest";
import { trailOf } from "../../daemon/trail/from-events.ts";
import { World } from "./core-world.ts";
import { claimOf, releaseOf, TaskWorld, updateOf } from "./task-world.ts";

it("writes down what ended by itself, and not what was given back", () => {
  const w = new World();
  w.begin("a", { name: "alice", project: "/shop" });
  w.lock("a", "x", { kind: "turn" });
  w.lock("a", "y");
  w.lock("b", "x", { kind: "turn" });
  w.pass(15_000);
  const yielded = w.steps.flatMap(step => trailOf(step.events, 7));
  expect(yielded).toEqual([
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
      why: "others waited and it was not touched, so it passed on",
    },
  ]);
  w.unlock("a", "y");
  expect(trailOf(w.steps.at(-1)?.events ?? [], 8)).toEqual([]);
});

it("writes down which tasks nobody works on any more, and not what was given back", () => {
  const w = new TaskWorld();
  w.create("it");
  const ends: unknown[] = [];
  for (const cause of ["anchor_gone", "deregistered", "ended"] as const) {
    w.begin("a", { name: "alice" });
    w.do(claimOf("a"));
    const { events } = w.step({ type: "session_end", session: "a", incarnation: null, cause });
    ends.push(...trailOf(events, 7).map(({ id, name, type, why }) => [id, name, type, why]));
  }
  expect(ends).toEqual([
    ["a", "alice", "anchor_gone", "its process is gone, t-0-1 can be claimed again"],
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
