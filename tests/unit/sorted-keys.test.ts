import { describe, expect, it } from "vitest";
import { SortedKeys } from "../../daemon/core/frame/collections.ts";
import { Random } from "../simulation/random.ts";

/** Numbers as keys of one length. */
function key(n: number): string {
  return n.toString().padStart(6, "0");
}

describe("sorted keys", () => {
  it.each([1, 2, 3, 4])("are what a sorted list would be, whatever is added and removed (seed %i)", seed => {
    const random = new Random(seed);
    const keys = new SortedKeys();
    const known = new Set<string>();
    for (let step = 0; step < 20_000; step += 1) {
      // More and more come, then they go again.
      const isAdd = random.chance(step < 10_000 ? 0.7 : 0.3);
      const one = key(random.int(0, 5000));
      if (isAdd) expect(keys.add(one)).toBe(!known.has(one));
      else expect(keys.delete(one)).toBe(known.has(one));
      if (isAdd) known.add(one);
      else known.delete(one);
      expect(keys.size).toBe(known.size);
      if (step % 500 !== 0) continue;
      const sorted = [...known].sort();
      expect([...keys]).toEqual(sorted);
      const from = key(random.int(0, 5000));
      expect([...keys.from(from)]).toEqual(sorted.filter(other => other >= from));
      expect(keys.before(from)).toBe(sorted.filter(other => other < from).at(-1));
      expect(keys.after(from)).toBe(sorted.find(other => other > from));
      expect(keys.first).toBe(sorted[0]);
      expect(keys.has(from)).toBe(known.has(from));
    }
    for (const one of known) expect(keys.delete(one)).toBe(true);
    expect([keys.size, keys.first, [...keys]]).toEqual([0, undefined, []]);
  });

  it.each([0, 1, 256, 257, 1_000])("are made of %i sorted ones, and more may come and go", count => {
    const sorted = Array.from({ length: count }, (_, n) => key(2 * n));
    const keys = SortedKeys.of(sorted);
    expect([keys.size, [...keys]]).toEqual([count, sorted]);
    for (const [n, one] of sorted.entries()) {
      keys.add(key(2 * n + 1));
      expect(keys.delete(one)).toBe(true);
    }
    expect([...keys]).toEqual(sorted.map((_, n) => key(2 * n + 1)));
  });

  it("that come in order, or the other way round, are kept in order", () => {
    const up = new SortedKeys();
    const down = new SortedKeys();
    for (let n = 0; n < 2000; n += 1) {
      up.add(key(n));
      down.add(key(1999 - n));
    }
    expect([...up]).toEqual([...down]);
    expect(up.size).toBe(2000);
  });
});
