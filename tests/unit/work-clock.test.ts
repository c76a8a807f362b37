import { expect, test } from "vitest";
import { Allowance, WorkClock } from "../../daemon/facts/work-clock.ts";
import { limits } from "../../protocol/limits.ts";
import { FakeMachine } from "./work-drive.ts";

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
