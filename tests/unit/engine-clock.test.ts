/** The daemon's clock: deadlines, and the few timers that are left of them. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { apply } from "../../daemon/core/apply.ts";
import { emptyState } from "../../daemon/core/snapshot.ts";
import type { Command, Due, Timer } from "../../daemon/core/tables/entries.ts";
import { Agenda, Deadlines } from "../../daemon/engine/clock.ts";
import { limits } from "../../protocol/limits.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { lockOf } from "./core-world.ts";
import { unlockOf } from "./engine-world.ts";

const wait = (ticket: number): Due => ({ what: "wait_over", ticket });

function takeAll(deadlines: Deadlines, now: number): Timer[] {
  const taken: Timer[] = [];
  for (let t = deadlines.take(now); t !== null; t = deadlines.take(now)) taken.push(t);
  return taken;
}

describe("deadlines", () => {
  it("come earliest first, and not before their time", () => {
    const d = new Deadlines();
    for (const at of [30, 10, 20]) d.add({ at, due: wait(at) });
    expect(d.next).toBe(10);
    expect(takeAll(d, 20).map(t => t.at)).toEqual([10, 20]);
    expect(d.take(29)).toBeNull();
    expect(takeAll(d, 30).map(t => t.at)).toEqual([30]);
    expect(d.next).toBeNull();
  });

  it("of the same thing count once, by the earliest", () => {
    const d = new Deadlines();
    for (const at of [20, 10, 30, 10]) d.add({ at, due: wait(1) });
    expect(takeAll(d, 100)).toEqual([{ at: 10, due: wait(1) }]);
  });

  it("of the same thing may be added again once taken", () => {
    const d = new Deadlines();
    d.add({ at: 20, due: wait(1) });
    d.add({ at: 10, due: wait(1) });
    expect(d.take(10)?.at).toBe(10);
    d.add({ at: 20, due: wait(1) });
    expect(takeAll(d, 20)).toEqual([{ at: 20, due: wait(1) }]);
  });

  it("of a wait and of the place it leaves are two", () => {
    const d = new Deadlines();
    d.add({ at: 10, due: wait(1) });
    d.add({ at: 10, due: { what: "place_over", ticket: 1 } });
    expect(takeAll(d, 10)).toHaveLength(2);
  });

  it("are forgotten when cleared, and can be added anew", () => {
    const d = new Deadlines();
    d.add({ at: 10, due: wait(1) });
    d.clear();
    expect(d.next).toBeNull();
    d.add({ at: 15, due: wait(1) });
    expect(takeAll(d, 15)).toEqual([{ at: 15, due: wait(1) }]);
  });

  it("that are over are swept out, each in its turn", () => {
    const d = new Deadlines();
    for (let n = 0; n < 10; n += 1) d.add({ at: 100 - n, due: wait(n) });
    const isOver = (due: Due) => due.what === "wait_over" && due.ticket % 2 === 0;
    d.sweep(2, isOver);
    expect(d.size).toBeGreaterThan(7);
    for (let n = 0; n < 4; n += 1) d.sweep(3, isOver);
    expect(d.size).toBe(5);
    d.add({ at: 200, due: wait(2) });
    expect(takeAll(d, 300).map(t => t.at)).toEqual([91, 93, 95, 97, 99, 200]);
    d.sweep(1, isOver);
    expect(d.size).toBe(0);
  });

  it("are all checked by one sweep, although those left over change places", () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      const d = new Deadlines();
      const at = (n: number) => (n * 7_919 * seed) % 101;
      for (let n = 0; n < 40; n += 1) d.add({ at: at(n), due: wait(n) });
      d.sweep(seed % 7, () => false);
      d.sweep(80, due => due.what === "wait_over" && (due.ticket * seed) % 3 !== 0);
      const left = Array.from({ length: 40 }, (_, n) => n).filter(n => (n * seed) % 3 === 0);
      expect(d.size).toBe(left.length);
    }
  });

  it("agree with a sorted list, whatever is added, taken and swept out", () => {
    const step = fc.oneof(
      fc.record({ at: fc.nat(50), ticket: fc.nat(8) }),
      fc.record({ now: fc.nat(50) }),
      fc.record({ over: fc.array(fc.nat(8), { maxLength: 3 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), steps => {
        const d = new Deadlines();
        const model = new Map<number, number>();
        for (const s of steps) {
          if ("now" in s) {
            const due = [...model].filter(([, at]) => at <= s.now);
            for (const [ticket] of due) model.delete(ticket);
            const taken = takeAll(d, s.now);
            expect(taken.map(t => t.at)).toEqual(due.map(([, at]) => at).sort((a, b) => a - b));
            expect(new Set(taken.map(t => Object.values(t.due)[1]))).toEqual(new Set(due.map(([t]) => t)));
          } else if ("over" in s) {
            d.sweep(1_000, due => due.what === "wait_over" && s.over.includes(due.ticket));
            for (const ticket of s.over) model.delete(ticket);
          } else {
            d.add({ at: s.at, due: wait(s.ticket) });
            model.set(s.ticket, Math.min(s.at, model.get(s.ticket) ?? s.at));
          }
        }
      }),
    );
  });
});

describe("timers of locks that ended", () => {
  it("of locks that ended before their time few timers are left, of those that stand all", () => {
    const clock = new SimulatedClock(0);
    const state = emptyState();
    const elapsed: Command[] = [];
    const agenda = new Agenda({
      clock,
      now: () => clock.now(),
      state: () => state,
      submit: command => elapsed.push(command),
    });
    const apply1 = (command: Command) => {
      const seq = state.seq + 1;
      const step = apply(state, { seq, at: 0, origin: { node: "n", epoch: 1, n: seq }, command });
      expect(step.reply).toMatchObject({ ok: true });
      agenda.add(step.timers);
    };
    const standing = limits.timersUnsweptMax;
    for (let n = 0; n < standing; n += 1) apply1(lockOf("a", `stands-${n}`, 0, { kind: "turn" }));
    let most = 0;
    for (let n = 0; n < 10_000; n += 1) {
      apply1(lockOf("a", `goes-${n}`, 0, { kind: "turn" }));
      apply1(unlockOf("a", `goes-${n}`));
      most = Math.max(most, agenda.size);
    }
    expect(most).toBeLessThan(2 * standing);
    // No longer than a turn of the event loop may take; the clock's timer sees to the others.
    clock.freeze(limits.turnLeaseMs);
    agenda.proposeDue();
    expect(elapsed.length).toBeLessThanOrEqual(limits.turnTimersMax);
    clock.pass(0);
    expect(elapsed).toHaveLength(standing);
  });
});
