/** Stored rows that anybody with the store's password may have written: they cost themselves, and nothing else. */
import { describe, expect, it } from "vitest";
import type { StoredRow } from "../../daemon/store/copy.ts";
import { kinds } from "../../daemon/store/rows.ts";
import { Random } from "../simulation/random.ts";
import { Machine } from "./shared-copy-history.ts";
import { desk, laptop, rowsIn, StoreWorld } from "./shared-copy-world.ts";

const odd: readonly unknown[] = [
  null,
  "",
  "x",
  0,
  -1,
  1e300,
  0.5,
  true,
  [],
  {},
  ["x"],
  [null],
  "person@n1",
  "\u0000",
  "\ud800",
];

/** The value with something else in one place, which may come from another row. */
function spoilt(value: unknown, from: unknown, random: Random): unknown {
  if (typeof value !== "object" || value === null || random.chance(0.15))
    return random.pick(from === undefined ? odd : [...odd, from]);
  const keys = Object.keys(value);
  if (keys.length === 0) return random.pick(from === undefined ? odd : [...odd, from]);
  const key = random.pick(keys);
  const next = typeof from === "object" && from !== null ? (from as Record<string, unknown>)[key] : from;
  const changed = { ...value, [key]: spoilt((value as Record<string, unknown>)[key], next, random) };
  return Array.isArray(value) ? Object.values(changed) : changed;
}

describe("rows of any form", () => {
  it.each([1, 2, 3])("are there or named, and the copy goes on: seed %i", seed => {
    const random = new Random(seed);
    const world = new StoreWorld();
    const machines = [laptop, desk].map(names => new Machine(world.join(names), random));
    for (let i = 0; i < 60; i += 1) {
      world.now += 10;
      const machine = random.pick(machines);
      if (random.chance(0.4)) machine.change();
      world.commit(
        machine.copy,
        world.plan(machine.copy, () => void machine.step(world.now)),
      );
    }
    const sound = [...world.rows.values()].filter(([, , value]) => value !== null);
    let left = 0;
    for (let i = 0; i < 60; i += 1) {
      world.rows.clear();
      for (const row of sound) world.rows.set(`${row[0]} ${row[1]}`, row);
      for (let n = random.int(1, 3); n > 0; n -= 1) {
        const [kind, key, value] = random.pick(sound);
        const from = random.pick(sound.filter(one => one[0] === kind))[2];
        const next = spoilt(JSON.parse(value ?? ""), JSON.parse(from ?? ""), random);
        world.rows.set(`${kind} ${key}`, [kind, key, JSON.stringify(next)] satisfies StoredRow);
      }
      const copy = world.fresh(laptop);
      const there = kinds.flatMap(({ name }) => [...rowsIn(copy.state, name)]).length;
      expect(there + copy.unfit.size).toBe(sound.length);
      left += copy.unfit.size;
      const fresh = new Machine(copy, random);
      for (let n = 0; n < 3; n += 1) fresh.change();
      for (let n = 0; n < 6; n += 1) {
        copy.begin(world.now);
        fresh.step(world.now);
        copy.accept(copy.end());
      }
    }
    expect(left).toBeGreaterThan(20);
  });
});
