import fc from "fast-check";
import { expect, it } from "vitest";
import { least } from "../../daemon/bounded-map.ts";

it("the least items of a list are those that begin the sorted list, and equal ones keep their order", () => {
  const items = fc.array(fc.tuple(fc.nat(5), fc.nat()), { maxLength: 30 });
  fc.assert(
    fc.property(items, fc.integer({ min: 1, max: 10 }), (list, max) => {
      const found = least(list, max, ([a], [b]) => a - b);
      expect(found).toEqual([...list].sort(([a], [b]) => a - b).slice(0, max));
    }),
  );
});
