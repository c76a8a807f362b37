import fc from "fast-check";
import { expect, it } from "vitest";
import { HeldKeys } from "../../daemon/core/tables/locks.ts";

it("held keys are those of a set, in its order, whatever comes and goes", () => {
  const all = Array.from({ length: 100 }, (_, n) => ({ key: `f${n}`, placeInRow: 0 }));
  const some = fc.array(fc.nat({ max: all.length - 1 }), { maxLength: 400, size: "max" });
  const same = fc.property(some, numbers => {
    const [keys, set] = [new HeldKeys(), new Set<string>()];
    for (const number of numbers) {
      const hold = all[number];
      if (hold === undefined) throw new Error(`there is no lock ${number}`);
      if (set.delete(hold.key)) keys.remove(hold);
      else {
        set.add(hold.key);
        keys.add(hold);
      }
      expect(keys.size).toBe(set.size);
      // A list with many gaps closes them: places stay below that.
      expect(hold.placeInRow).toBeLessThanOrEqual(2 * Math.max(set.size, 16) + 1);
    }
    expect([...keys]).toEqual([...set]);
    expect(keys.latest(5)).toEqual([...set].slice(-5));
  });
  fc.assert(same);
});
