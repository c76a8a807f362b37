/** Locks that are bound to a connection, over a restart: who comes back in time keeps them, who does not loses them. */

import { describe, expect, it } from "vitest";
import { allDue } from "../../daemon/core/apply.ts";
import type { Bound } from "../../daemon/core/frame/actors.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import { limits } from "../../protocol/limits.ts";
import { World, waits } from "./core-world.ts";

const on = (epoch: number, connection: number, node = "n"): Bound => ({ node, epoch, connection });
const grace = limits.boundGraceMs;

/** a's lock on x is bound to a connection, b waits for it, and the daemon began anew. */
function restarted(): World {
  const w = new World();
  w.lock("a", "x", { bound: on(1, 7) });
  w.lock("a", "free");
  w.start();
  expect(w.lock("b", "x", { waitMs: limits.waitMaxMs })).toBe(waits);
  return w;
}

const causes = (w: World) =>
  w.steps.flatMap(s =>
    s.events.flatMap(({ event }) => (event.event === "lock_released" ? [event.cause] : [])),
  );

describe("a lock bound to a connection of before a restart", () => {
  it("is its holder's for the whole of the grace, and no longer", () => {
    const w = restarted();
    const b = w.n;
    w.pass(grace - 1);
    expect([w.holder("x"), causes(w)]).toEqual(["a", []]);
    w.pass(1);
    expect([w.holder("x"), w.holder("free"), causes(w)]).toEqual(["b", "a", ["disconnected"]]);
    expect(w.answers.get(b)).toMatchObject({ grant: true });
  });

  it("stays where its client comes back in the last moment, under the token it has", () => {
    const w = restarted();
    w.pass(grace - 1);
    const again = w.lock("a", "x", { bound: on(2, 1), waitMs: 0 });
    expect(again).toMatchObject({ ok: true, token: "store.1.1" });
    w.pass(10 * grace);
    expect(w.holder("x")).toBe("a");
    w.do({ type: "lock_unbind", bound: on(1, 7) });
    expect(w.holder("x")).toBe("a");
    w.do({ type: "lock_unbind", bound: on(2, 1) });
    expect(w.holder("x")).toBe("b");
  });

  it("is not had again by who comes back a moment too late: another one has it", () => {
    const w = restarted();
    w.pass(grace);
    expect(w.lock("a", "x", { bound: on(2, 1), waitMs: 0 })).toMatchObject({ code: "lock_held" });
    w.pass(grace);
    expect(w.holder("x")).toBe("b");
  });

  it("stays where its client takes it again without a connection", () => {
    const w = restarted();
    w.lock("a", "x");
    w.pass(10 * grace);
    w.do({ type: "lock_unbind", bound: on(1, 7) });
    expect(w.holder("x")).toBe("a");
  });

  it("has a grace of its own after each restart", () => {
    const w = restarted();
    w.pass(grace - 1);
    w.start();
    w.pass(grace - 1);
    expect(w.holder("x")).toBe("a");
    w.pass(1);
    expect(w.holder("x")).not.toBe("a");
  });

  it("of the daemon that runs has no grace, and needs none", () => {
    const w = new World();
    w.start();
    w.lock("a", "x", { bound: on(2, 7) });
    w.pass(10 * grace);
    expect(w.holder("x")).toBe("a");
    w.do({ type: "lock_unbind", bound: on(2, 7) });
    expect(w.holder("x")).toBeNull();
  });

  it("of another node is that one's matter", () => {
    const w = new World();
    w.lock("a", "x", { bound: on(1, 7, "m") });
    w.start();
    w.pass(10 * grace);
    expect(w.holder("x")).toBe("a");
  });

  it("is not another one's that took the file meanwhile", () => {
    const w = new World();
    w.lock("a", "x", { bound: on(1, 7) });
    w.start();
    w.unlock("a", "x");
    w.lock("b", "x");
    w.pass(grace);
    expect(w.holder("x")).toBe("b");
  });

  it("ends in time too where the start was from a snapshot", () => {
    const w = new World();
    w.lock("a", "x", { bound: on(1, 7) });
    w.start();
    const due = allDue(readState(writeState(w.state))).filter(one => one.due.what === "bound_over");
    expect(due).toEqual([{ at: w.now + grace, due: { what: "bound_over", key: "n:/p/x", first: 1 } }]);
  });
});
