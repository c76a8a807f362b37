/** Writes in flight over a restart of the daemon: their end may have come while nobody listened. */

import { describe, expect, it } from "vitest";
import { allDue } from "../../daemon/core/apply.ts";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { emptyState, readState, writeState } from "../../daemon/core/snapshot.ts";
import type { LockRequest } from "../../daemon/core/tables/locks.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, World, waits } from "./core-world.ts";

const turn = { kind: "turn", depth: 16, waitMs: limits.hookWaitMs, placeMs: limits.placeMs } as const;
const child: Actor = { session: "a", agent: "child", incarnation: 0 };
const { yieldMs } = limits;

function edit(w: World, who: string | Actor, file: string, flight: string, more: Partial<LockRequest> = {}) {
  return w.lock(who, file, { ...turn, flight, ...more });
}

const unseen = (w: World, who: string | Actor, now: "waits" | "runs" | "over") =>
  w.do({ type: "flight_unseen", actor: actor(who), now });

const over = (w: World, who: string | Actor, flight: string, wrote = true) =>
  w
    .step({ type: "flight_end", actor: actor(who), flight, wrote })
    .events.filter(({ event }) => event.event === "lost_update").length;

/** a's edit of x was let through, and the daemon started anew. */
function restarted(): World {
  const w = new World();
  edit(w, "a", "x", "use1");
  w.start();
  return w;
}

describe("a write in flight that this start did not see begin", () => {
  it("yields once its end had time to be told, and not before", () => {
    const w = restarted();
    expect(edit(w, "b", "x", "use2")).toBe(waits);
    w.pass(yieldMs - 1);
    expect(w.holder("x")).toBe("a");
    w.pass(1);
    expect(w.holder("x")).toBe("b");
  });

  it("yields to one who asks later, at once", () => {
    const w = restarted();
    w.pass(yieldMs);
    expect(edit(w, "b", "x", "use2")).toBe(waits);
    w.pass(0);
    expect(w.holder("x")).toBe("b");
  });

  it("counts from the last of several starts", () => {
    const w = restarted();
    w.pass(yieldMs - 1);
    w.start();
    edit(w, "b", "x", "use2");
    w.pass(yieldMs - 1);
    expect(w.holder("x")).toBe("a");
    w.pass(1);
    expect(w.holder("x")).toBe("b");
  });

  it("stays while a person is asked, and has its time from then on", () => {
    const w = restarted();
    unseen(w, "a", "waits");
    edit(w, "b", "x", "use2", { waitMs: limits.turnLeaseMs });
    w.pass(10 * yieldMs);
    expect(w.holder("x")).toBe("a");
    unseen(w, "a", "runs");
    w.pass(yieldMs - 1);
    expect(w.holder("x")).toBe("a");
    w.pass(1);
    expect(w.holder("x")).toBe("b");
  });

  it("does not wait for a person over a further start", () => {
    const w = restarted();
    unseen(w, "a", "waits");
    w.start();
    edit(w, "b", "x", "use2");
    w.pass(yieldMs);
    expect(w.holder("x")).toBe("b");
  });

  it("is over at once where its client says so", () => {
    const w = restarted();
    w.pass(yieldMs - 1);
    edit(w, "b", "x", "use2");
    unseen(w, "a", "over");
    w.pass(0);
    expect(w.holder("x")).toBe("a");
    w.pass(1);
    expect(w.holder("x")).toBe("b");
  });

  it("is what is meant, and not another agent's of its session", () => {
    const w = new World();
    edit(w, "a", "x", "use1");
    edit(w, child, "y", "use2", { ancestors: [null] });
    w.start();
    unseen(w, child, "waits");
    edit(w, "b", "x", "use3");
    edit(w, "c", "y", "use4");
    w.pass(yieldMs);
    expect([w.holder("x"), w.holder("y")]).toEqual(["b", "a/child"]);
  });

  it("of a child that is long over passes to its parent", () => {
    const w = new World();
    edit(w, child, "x", "use1", { ancestors: [null] });
    w.start();
    expect(edit(w, "a", "x", "use2")).toBe(waits);
    w.pass(yieldMs);
    expect(w.holder("x")).toBe("a");
  });

  it("of a parent passes to its child, also under a lock that the parent keeps", () => {
    const w = new World();
    w.lock("a", "x");
    edit(w, "a", "x", "use1");
    w.start();
    expect(edit(w, child, "x", "use2", { ancestors: [null] })).toBe(waits);
    w.pass(yieldMs);
    expect(w.holder("x")).toBe("a/child");
  });

  it.each([
    ["the index of a git command", 0, yieldMs],
    ["a file that is kept for one edit", 1, yieldMs],
    ["a file that yields soon", 100, limits.unseenMinMs],
    ["a file that yields late", 2 * yieldMs, 2 * yieldMs],
  ])("frees %s when its end had time to be told", (_, lockYieldMs, afterMs) => {
    const w = new World();
    edit(w, "a", "x", "use1", { yieldMs: lockYieldMs });
    w.start();
    edit(w, "b", "x", "use2");
    w.pass(afterMs - 1);
    expect(w.holder("x")).toBe("a");
    w.pass(1);
    expect(w.holder("x")).toBe("b");
  });

  it.each([
    ["its own end", (w: World) => over(w, "a", "use1")],
    ["the end of its turn", (w: World) => w.do({ type: "turn_end", actor: actor("a"), keepPrompt: null })],
    ["its actor's next write", (w: World) => edit(w, "a", "y", "use2")],
  ])("ends with %s as any other", (_, ends) => {
    const w = restarted();
    ends(w);
    w.pass(yieldMs);
    edit(w, "b", "x", "use3");
    w.pass(0);
    expect(w.holder("x")).toBe("b");
    expect(over(w, "a", "use1")).toBe(0);
  });

  it("is a lost update where it lands after its lock yielded", () => {
    const w = restarted();
    edit(w, "b", "x", "use2");
    w.pass(yieldMs);
    expect(over(w, "a", "use1")).toBe(1);
    expect(over(w, "a", "use1")).toBe(0);
  });

  it("is no lost update where nobody else had the file", () => {
    const w = restarted();
    w.pass(yieldMs);
    expect(over(w, "a", "use1")).toBe(0);
    expect(w.holder("x")).toBe("a");
    edit(w, "b", "x", "use2");
    w.pass(yieldMs);
    expect(over(w, "a", "use1")).toBe(0);
  });

  it("is the same after a start from a snapshot, at each of its stages", () => {
    const w = restarted();
    const isSame = () => writeState(readState(writeState(w.state))) === writeState(w.state);
    expect(isSame()).toBe(true);
    const dues = () => allDue(readState(writeState(w.state))).map(({ due }) => due.what);
    expect(dues()).toContain("unseen_over");
    unseen(w, "a", "waits");
    expect(isSame()).toBe(true);
    expect(dues()).not.toContain("unseen_over");
    unseen(w, "a", "over");
    expect(isSame()).toBe(true);
    const later = new World(readState(writeState(w.state)));
    later.now = w.now;
    edit(later, "b", "x", "use2");
    later.pass(yieldMs);
    expect(over(later, "a", "use1")).toBe(1);
  });
});

describe("a write in flight that this start saw begin", () => {
  it("never yields, whatever its client shows", () => {
    const w = restarted();
    edit(w, "a", "x", "use2");
    unseen(w, "a", "over");
    edit(w, "b", "x", "use3", { waitMs: limits.turnLeaseMs });
    w.pass(limits.turnLeaseMs - 1);
    expect(w.holder("x")).toBe("a");
  });

  it("of another node does not end with a start of this one", () => {
    const w = new World();
    w.node = "m";
    w.start();
    edit(w, "a", "x", "use1");
    w.node = "n";
    w.start();
    edit(w, "b", "x", "use2");
    w.pass(yieldMs);
    expect(w.holder("x")).toBe("a");
  });
});

describe("a log of the level before", () => {
  it("holds such a write as it did, until its daemon starts under this level", () => {
    const w = new World(emptyState(1));
    edit(w, "a", "x", "use1");
    w.start();
    expect(w.state.locks.holds.get("n:/p/x")).not.toMatchObject({ unseen: expect.anything() });
    edit(w, "b", "x", "use2", { waitMs: limits.turnLeaseMs });
    w.pass(2 * yieldMs);
    expect(w.holder("x")).toBe("a");
    w.start();
    w.do({ type: "rules", level: 2 });
    w.pass(yieldMs - 1);
    expect(w.holder("x")).toBe("a");
    edit(w, "b", "x", "use2");
    w.pass(1);
    expect(w.holder("x")).toBe("b");
  });
});
