/** The names of the agents within a session. */
import { expect, it } from "vitest";
import { actorRow } from "../../daemon/core/locks/replies.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import { limits } from "../../protocol/limits.ts";
import { World } from "./core-world.ts";

const begin = (w: World, agent: string, name: string | null) =>
  w.do({ type: "agent_begin", session: "lead", agent, name });
const nameOf = (w: World, agent: string) =>
  actorRow(w.state, { session: "lead", agent, incarnation: 0 }).name;

function world(): World {
  const w = new World();
  w.begin("lead");
  return w;
}

it("are unique in it: a teammate's own, or a subagent's type with a number", () => {
  const w = world();
  for (const agent of ["a1", "a2", "a3"]) begin(w, agent, "Explore");
  begin(w, "a4", "alice");
  expect(["a1", "a2", "a3", "a4"].map(agent => nameOf(w, agent))).toEqual([
    "lead/Explore",
    "lead/Explore-2",
    "lead/Explore-3",
    "lead/alice",
  ]);
});

it("stay: only one that nobody had named gets a name later", () => {
  const w = world();
  begin(w, "a0123456789", null);
  expect(nameOf(w, "a0123456789")).toBe("lead/a0123456");
  begin(w, "a0123456789", "Plan");
  begin(w, "a0123456789", "Explore");
  begin(w, "a0123456789", null);
  expect(nameOf(w, "a0123456789")).toBe("lead/Plan");
});

it("last as long as the agent, and come back from a snapshot", () => {
  const w = world();
  begin(w, "a1", "alice");
  const read = readState(writeState(w.state));
  expect(read.sessions.live.get("lead")?.agents).toEqual(new Map([["a1", "alice"]]));
  w.do({ type: "agent_end", actor: { session: "lead", agent: "a1", incarnation: 0 } });
  expect(nameOf(w, "a1")).toBe("lead/a1");
  begin(w, "a2", "alice");
  expect(nameOf(w, "a2")).toBe("lead/alice");
});

it("are bounded, and nobody's if the session is not live", () => {
  const w = world();
  for (let n = 0; n <= limits.agentsPerSessionMax; n += 1) begin(w, `a${n}`, "x");
  expect(w.state.sessions.live.get("lead")?.agents.size).toBe(limits.agentsPerSessionMax);
  expect(w.do({ type: "agent_begin", session: "gone", agent: "a1", name: "x" })).toEqual({ ok: true });
  expect(w.state.sessions.live.has("gone")).toBe(false);
});

it("stand in events", () => {
  const w = world();
  begin(w, "a1", "alice");
  w.lock({ session: "lead", agent: "a1", incarnation: 0 }, "x");
  w.begin("bob");
  w.lock("bob", "x");
  const queued = w.steps.flatMap(s => s.events).find(({ event }) => event.event === "lock_queued");
  expect(queued?.event).toMatchObject({ holder: { name: "lead/alice" }, waiter: { name: "bob" } });
});
