/** The copy of a shared project: steps that are worked out, taken back and done, and rows that come. */
import { describe, expect, it } from "vitest";
import { Random } from "../simulation/random.ts";
import { Machine } from "./shared-copy-history.ts";
import { desk, laptop, StoreWorld, storedFormsOf, wholeOf, wrongIn } from "./shared-copy-world.ts";

const seeds = Array.from({ length: 6 }, (_, i) => i + 1);

/** Two machines share a project for so many steps; `look` sees each one. */
function play(
  seed: number,
  steps: number,
  look: (world: StoreWorld, machine: Machine, step: string[]) => void,
) {
  const random = new Random(seed);
  const world = new StoreWorld();
  const machines = [laptop, desk].map(names => new Machine(world.join(names), random));
  for (let i = 0; i < steps; i += 1) {
    world.now += random.int(0, 40);
    const machine = random.pick(machines);
    if (random.chance(0.3)) machine.change();
    const done: string[] = [];
    const changes = world.plan(machine.copy, () => void done.push(...machine.step(world.now)));
    look(world, machine, done);
    if (random.chance(0.8)) world.commit(machine.copy, changes);
    look(world, machine, []);
  }
  return { world, machines, random };
}

describe("a step on a copy", () => {
  it.each(seeds)("leaves the copy as it was until it is stored: seed %i", seed => {
    const random = new Random(seed);
    const world = new StoreWorld();
    const machines = [laptop, desk].map(names => new Machine(world.join(names), random));
    for (let i = 0; i < 100; i += 1) {
      world.now += random.int(0, 40);
      const machine = random.pick(machines);
      if (random.chance(0.3)) machine.change();
      const before = wholeOf(machine.copy);
      const changes = world.plan(machine.copy, () => void machine.step(world.now));
      expect(wholeOf(machine.copy)).toEqual(before);
      if (random.chance(0.8)) world.commit(machine.copy, changes);
    }
  });

  it.each(seeds)("makes each copy what the store has: seed %i", seed => {
    const seen = new Set<string>();
    const { world, random } = play(seed, 150, (_world, _machine, done) => {
      for (const type of done) seen.add(type);
    });
    const [first] = world.copies;
    if (first === undefined) throw new Error("no copy");
    const others = [...world.copies, world.fresh(laptop, random), world.fresh(desk, random)];
    for (const copy of others) {
      expect(storedFormsOf(copy)).toEqual(storedFormsOf(first));
      expect(copy.unfit).toEqual(new Map());
      expect(wrongIn(copy)).toEqual([]);
    }
    expect(seen.size).toBeGreaterThan(8);
  });
});
