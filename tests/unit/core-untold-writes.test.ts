/** Writes whose end their client may never tell: they count as over some time after their allow, if nobody is asked. */
import { describe, expect, it } from "vitest";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { LockRequest } from "../../daemon/core/tables/locks.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, World, waits } from "./core-world.ts";

const gapMs = 4_000;
const turn = { kind: "turn", depth: 16, waitMs: limits.hookWaitMs, placeMs: limits.placeMs } as const;
const { yieldMs } = limits;

function edit(w: World, who: string, file: string, flight: string, more: Partial<LockRequest> = {}) {
  return w.lock(who, file, { ...turn, flight, ...more });
}

const over = (w: World, who: string, flight: string) =>
  w
    .step({ type: "flight_end", actor: actor(who), flight, wrote: true })
    .events.filter(({ event }) => event.event === "lost_update").length;

describe("a write whose end may not be told", () => {
  it("yields after its gap and the time of a lock that is not used", () => {
    const w = new World();
    edit(w, "a", "x", "use1", { untoldMs: gapMs });
    expect(edit(w, "b", "x", "use2")).toBe(waits);
    w.pass(gapMs + yieldMs - 1);
    expect(w.holder("x")).toBe("a");
    w.pass(1);
    expect(w.holder("x")).toBe("b");
  });

  it("counts from its grant, if it waited", () => {
    const w = new World();
    edit(w, "b", "x", "use2");
    expect(edit(w, "a", "x", "use1", { untoldMs: gapMs })).toBe(waits);
    w.pass(yieldMs);
    over(w, "b", "use2");
    w.do({ type: "turn_end", actor: actor("b"), keepPrompt: null });
    expect(w.holder("x")).toBe("a");
    expect(edit(w, "c", "x", "use3")).toBe(waits);
    w.pass(gapMs + yieldMs - 1);
    expect(w.holder("x")).toBe("a");
    w.pass(1);
    expect(w.holder("x")).toBe("c");
  });

  it("is a lost update if it lands later all the same", () => {
    const w = new World();
    edit(w, "a", "x", "use1", { untoldMs: gapMs });
    edit(w, "b", "x", "use2");
    w.pass(gapMs + yieldMs);
    expect(w.holder("x")).toBe("b");
    expect(over(w, "a", "use1")).toBe(1);
  });

  it("stays in flight while a person is asked about it, until the turn ends", () => {
    const w = new World();
    edit(w, "a", "x", "use1", { untoldMs: gapMs });
    edit(w, "b", "x", "use2", { waitMs: 10 * limits.hookWaitMs });
    w.do({ type: "lease_renew", actor: actor("a") });
    w.pass(gapMs + 2 * yieldMs);
    expect(w.holder("x")).toBe("a");
    w.do({ type: "turn_end", actor: actor("a"), keepPrompt: null });
    expect(w.holder("x")).toBe("b");
  });

  it("ends like any other when its end is told", () => {
    const w = new World();
    edit(w, "a", "x", "use1", { untoldMs: gapMs });
    edit(w, "b", "x", "use2");
    expect(over(w, "a", "use1")).toBe(0);
    w.pass(yieldMs);
    expect(w.holder("x")).toBe("b");
  });

  it("is the same after a snapshot, granted or waiting", () => {
    const w = new World();
    edit(w, "a", "x", "use1", { untoldMs: gapMs });
    edit(w, "b", "x", "use2", { untoldMs: gapMs });
    const again = writeState(readState(writeState(w.state)));
    expect(again).toEqual(writeState(w.state));
    expect(again).toContain(`"untoldMs":${gapMs}`);
  });
});

it("a write whose end is told does not yield to one who waits, however long it takes", () => {
  const w = new World();
  edit(w, "a", "x", "use1");
  edit(w, "b", "x", "use2", { waitMs: 10 * limits.hookWaitMs });
  w.pass(gapMs + 10 * yieldMs);
  expect(w.holder("x")).toBe("a");
});

describe("a client that asks about all calls of a message before the first runs", () => {
  const beside = { beside: true } as const;

  it("keeps each of them in flight until its own end", () => {
    const w = new World();
    edit(w, "a", "x", "use1", beside);
    edit(w, "a", "x", "use2", beside);
    edit(w, "a", "y", "use3", beside);
    edit(w, "b", "x", "use4", { waitMs: 10 * limits.hookWaitMs });
    over(w, "a", "use1");
    w.pass(yieldMs);
    expect(w.holder("x")).toBe("a");
    over(w, "a", "use2");
    w.pass(yieldMs);
    expect(w.holder("x")).toBe("b");
    expect(w.holder("y")).toBe("a");
  });

  it("is refused what would close a cycle, and the other goes on", () => {
    const w = new World();
    edit(w, "a", "x", "use1", beside);
    edit(w, "b", "y", "use2", beside);
    expect(edit(w, "a", "y", "use3", beside)).toBe(waits);
    expect(edit(w, "b", "x", "use4", beside)).toMatchObject({ code: "lock_deadlock" });
    over(w, "b", "use2");
    w.do({ type: "turn_end", actor: actor("b"), keepPrompt: null });
    expect(w.holder("y")).toBe("a");
    expect(w.holder("x")).toBe("a");
  });
});
