/** A clock that counts work, and slots for it. */
import { describe, expect, test } from "vitest";
import { Allowance, Slots, WorkClock } from "../../daemon/facts/work-clock.ts";
import { limits } from "../../protocol/limits.ts";
import { FakeMachine } from "./work-drive.ts";

describe("the clock", () => {
  const beat = limits.workBeatMs;

  function running() {
    const machine = new FakeMachine();
    const clock = new WorkClock(machine);
    const beats: boolean[] = [];
    const stop = clock.watch(starved => beats.push(starved));
    return { machine, clock, beats, stop };
  }

  test("on an idle machine work is time", async () => {
    const { machine, clock, beats } = running();
    await machine.work(10 * beat);
    expect(clock.workedMs).toBe(10 * beat);
    expect(beats).toEqual(Array.from({ length: 10 }, () => false));
  });

  test("a stall of the process counts as one beat, however long", async () => {
    const { machine, clock, beats } = running();
    await machine.stall(60_000);
    expect(clock.workedMs).toBe(beat);
    expect(beats).toEqual([true]);
  });

  test("nothing counts while the thread pool gets no processor", async () => {
    const { machine, clock, beats } = running();
    machine.isPoolStarved = true;
    await machine.work(4 * beat);
    expect(clock.workedMs).toBeLessThanOrEqual(beat);
    expect(beats.slice(1)).toEqual([true, true, true]);
    machine.isPoolStarved = false;
    await machine.work(4 * beat);
    expect(clock.workedMs).toBeGreaterThanOrEqual(4 * beat);
  });

  test("nobody watches, and nothing runs", async () => {
    const { machine, clock, beats, stop } = running();
    await machine.work(beat);
    stop();
    await machine.work(20 * beat);
    expect(beats).toHaveLength(1);
    expect(clock.workedMs).toBeLessThanOrEqual(2 * beat);
    const again = clock.beat();
    await machine.work(beat);
    await again;
  });

  test("an allowance ends by work, and by time where there was no work", async () => {
    const { machine, clock } = running();
    const allowance = new Allowance(clock, 4 * beat, 1_000 * beat);
    await machine.stall(500 * beat);
    expect(allowance.isOver).toBe(false);
    await machine.work(4 * beat);
    expect(allowance.isOver).toBe(true);
    const starved = new Allowance(clock, 4 * beat, 1_000 * beat);
    await machine.stall(1_000 * beat);
    expect(starved.isOver).toBe(true);
  });
});

// Slots: never more at a time than there are, whoever comes when one is handed over.

/** So many steps of the queue of promises after the first one's end: one of them falls into the handing over. */
test.each([0, 1, 2, 3, 4])(
  "one that comes when a slot is handed over gets in between at no step: %i",
  async steps => {
    const slots = new Slots(1);
    const ran: string[] = [];
    let running = 0;
    let most = 0;
    const ends: (() => void)[] = [];
    const work = (name: string) => async () => {
      running += 1;
      most = Math.max(most, running);
      ran.push(name);
      await new Promise<void>(end => ends.push(end));
      running -= 1;
      if (name === "first") void after(steps).then(() => all.push(slots.run(work("late"))));
    };
    const all = [slots.run(work("first")), slots.run(work("second"))];
    for (let n = 0; n < 3; n += 1) {
      await after(10);
      ends.shift()?.();
      await after(10);
    }
    await Promise.all(all);
    expect([most, ran]).toEqual([1, ["first", "second", "late"]]);
    expect(all).toHaveLength(3);
  },
);

async function after(steps: number): Promise<void> {
  for (let n = 0; n < steps; n += 1) await Promise.resolve();
}

test("work that fails gives its slot back", async () => {
  const slots = new Slots(1);
  const fails = () => Promise.reject(new Error("no"));
  await expect(slots.run(fails)).rejects.toThrow("no");
  await expect(Promise.all([slots.run(async () => 1), slots.run(async () => 2)])).resolves.toEqual([1, 2]);
});
