/** The oracle where the end of one lock passes another one on, within the step, to one who works for its holder. */
import { expect, it } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { TableName } from "../../daemon/core/state.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { limits } from "../../protocol/limits.ts";
import { World, waits } from "../unit/core-world.ts";
import { flyingBefore, LateWrites } from "./late.ts";
import { Random } from "./random.ts";
import { ReleaseLives, releaseBefore } from "./releases.ts";
import { UnseenFlights } from "./unseen.ts";

const command: Actor = { session: "a", agent: null, incarnation: 0, command: "make" };
const agent = (name: string): Actor => ({ session: "a", agent: name, incarnation: 0 });
const revoke = (...files: string[]): Command => ({
  type: "lock_revoke",
  by: "a person",
  files: files.map(file => ({ file, lexical: `/p/${file}`, key: `n:/p/${file}` })),
});
const nothing: readonly string[] = [];

/** The core with the oracles of late writes, of writes from before a start, and of what is given back. */
class Watched extends World {
  readonly #late = new LateWrites(new Random(1));
  readonly #unseen = new UnseenFlights(new Random(1));
  readonly #releases = new ReleaseLives(new Random(1));

  /** What they say of an entry. */
  wrongs(command: Command): string[] {
    return [...this.#wrongs(command)];
  }

  *#wrongs(command: Command): Generator<string, void> {
    const [holds, flying] = [[...this.state.locks.holds.values()], flyingBefore(this.state)];
    const entry = { seq: 0, at: this.now, origin: this.origin(0), command };
    const tasks = releaseBefore(this.state, entry);
    const step = this.step(command);
    yield* this.#late.observe(this.state, entry, step, flying, new Set<TableName>(["locks"]));
    yield* this.#unseen.observe(this.state, entry, step, flying, undefined);
    yield* this.#releases.observe(this.state, entry, step.reply, holds, tasks);
  }

  /** All turn locks of `session` are given back for it. */
  giveBack(session: string): string[] {
    const begun = this.state.sessions.live.get(session)?.begun ?? 0;
    const by = { agent: null, by: null, cause: "stalled", wallMs: 0 } as const;
    return this.wrongs({ type: "agent_release", session, begun, ...by });
  }

  /** A life has ended: they know what is in flight from the state alone. */
  again(): void {
    this.start();
    this.#unseen.restarted(this.state);
    this.#late.restarted(this.state);
  }
}

const edit = { kind: "turn", flight: "use1" } as const;

it("knows that a command takes its actor's writes along", () => {
  const w = new Watched();
  w.lock("b", "y");
  w.lock("a", "x", edit);
  expect(w.lock(command, ["x", "y"])).toBe(waits);
  expect(w.wrongs(revoke("y"))).toEqual(nothing);
  expect(w.state.locks.holds.get("n:/p/x")).toMatchObject({ actor: command, flights: ["use1"] });
});

it("knows that a command takes nothing along of a lock that was itself cut short", () => {
  const w = new Watched();
  w.lock("b", "y");
  w.lock("a", "x", edit);
  expect(w.lock(command, ["x", "y"])).toBe(waits);
  expect(w.wrongs(revoke("x", "y"))).toEqual(nothing);
  expect(w.state.locks.holds.get("n:/p/x")).toMatchObject({ actor: command, flights: [] });
  expect(w.state.locks.expiredWrites.size).toBe(1);
});

it("knows that an agent's lock takes no expired writes along, whatever ended the other lock", () => {
  const w = new Watched();
  w.lock("a", "x", edit);
  w.again();
  w.pass(limits.yieldMs + 1);
  w.again();
  w.lock("b", "y");
  expect(w.lock(agent("child"), ["x", "y"], { ancestors: [null] })).toBe(waits);
  expect(w.state.locks.holds.get("n:/p/x")).toMatchObject({ expiredFlights: ["use1"] });
  expect(w.wrongs(revoke("y"))).toEqual(nothing);
  expect(w.state.locks.holds.get("n:/p/x")).toMatchObject({
    actor: agent("child"),
    expiredFlights: undefined,
  });
});

it("knows that writes from before a start expire when a command takes their lock over", () => {
  const w = new Watched();
  w.lock("a", "x", edit);
  w.again();
  w.lock("b", "y", { kind: "turn", yieldMs: 1000 });
  expect(w.lock(command, ["x", "y"])).toBe(waits);
  w.now += 1000;
  const first = w.state.locks.holds.get("n:/p/y")?.first.grant ?? 0;
  const due = { what: "yield_over", key: "n:/p/y", first } as const;
  expect(w.wrongs({ type: "elapse", due })).toEqual(nothing);
  expect(w.state.locks.holds.get("n:/p/x")).toMatchObject({ actor: command, expiredFlights: ["use1"] });
});

it("knows that what another agent gives back may pass an actor's lock to its command", () => {
  const w = new Watched();
  w.lock("b", "y", { kind: "turn" });
  w.lock("a", "x", edit);
  expect(w.lock(command, ["x", "y"])).toBe(waits);
  expect(w.giveBack("b")).toEqual(nothing);
  expect(w.state.locks.holds.get("n:/p/x")).toMatchObject({ actor: command, flights: ["use1"] });
});

it("knows that a lock may pass on twice in a step", () => {
  const w = new Watched();
  w.lock("b", ["y", "z"], { kind: "turn" });
  w.lock("a", "x");
  expect(w.lock(agent("child"), ["x", "y"], { ancestors: [null] })).toBe(waits);
  expect(w.lock(agent("grandchild"), ["x", "z"], { ancestors: ["child", null] })).toBe(waits);
  expect(w.giveBack("b")).toEqual(nothing);
  expect(w.state.locks.holds.get("n:/p/x")).toMatchObject({ actor: agent("grandchild") });
});
