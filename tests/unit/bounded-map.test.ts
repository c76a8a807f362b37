/** Maps that forget their oldest entries, and the least of many. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BoundedMap, least } from "../../daemon/bounded-map.ts";

/** A map of texts, each as heavy as it is long. */
function texts(entriesMax: number, weightMax = 10): BoundedMap<string, string> {
  return new BoundedMap({ entriesMax, weightMax, weightOf: text => text.length });
}

describe("a bounded map", () => {
  it("forgets what was set longest ago, not what was read", () => {
    const map = new BoundedMap<string, number | undefined>({ entriesMax: 2 });
    map.set("a", 1);
    map.set("b", undefined);
    expect([map.get("a"), map.get("b"), map.has("b"), map.has("c")]).toEqual([1, undefined, true, false]);
    map.set("c", 3);
    expect([...map.values()]).toEqual([undefined, 3]);
    map.set("b", 2);
    map.set("d", 4);
    expect([...map.values()]).toEqual([2, 4]);
    expect([map.delete("b"), map.delete("b"), map.size]).toEqual([true, false, 1]);
  });

  it("forgets the oldest of what is too heavy, and never the latest", () => {
    const map = texts(9);
    for (const text of ["aaaa", "bbbb", "cc"]) map.set(text, text);
    map.set("aaaa", "a");
    map.set("dddd", "dddd");
    expect([...map.values()]).toEqual(["cc", "a", "dddd"]);
    map.set("e", "e".repeat(11));
    expect(map.size).toBe(1);
    map.set("f", "f");
    expect([...map.values()]).toEqual(["f"]);
  });

  it("forgets what is over, up to the first entry that is not", () => {
    const map = texts(9);
    for (const text of ["a", "b", "a!", "c"]) map.set(text, text);
    map.forgetWhile(text => text.startsWith("a"));
    expect([...map.values()]).toEqual(["b", "a!", "c"]);
    map.forgetWhile(() => true);
    expect(map.size).toBe(0);
  });

  it("keeps to both bounds, whatever is set, deleted and over, and forgets no more than it must", () => {
    const key = fc.constantFrom("a", "b", "c", "d");
    const step = fc.oneof(
      fc.record({ key, text: fc.option(fc.string({ maxLength: 12 })) }),
      fc.record({ longest: fc.nat(12) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), steps => {
        const map = texts(3);
        let rows: [string, string][] = [];
        for (const one of steps) {
          if ("longest" in one) {
            map.forgetWhile(text => text.length <= one.longest);
            while (rows[0] !== undefined && rows[0][1].length <= one.longest) rows.shift();
          } else {
            rows = rows.filter(([known]) => known !== one.key);
            if (one.text === null) map.delete(one.key);
            else {
              map.set(one.key, one.text);
              rows.push([one.key, one.text]);
            }
          }
          while (rows.length > 1 && (rows.length > 3 || rows.map(([, text]) => text).join("").length > 10))
            rows.shift();
          expect([...map.entries()]).toEqual(rows);
        }
      }),
    );
  });

  it("forgets the oldest again after many sets that forgot nothing", () => {
    const map = new BoundedMap<number, number>({ entriesMax: 3 });
    for (let n = 0; n < 5; n += 1) map.set(n, n);
    for (let n = 0; n < 500; n += 1) map.set(3, n);
    map.set(5, 5);
    expect([...map.entries()]).toEqual([
      [4, 4],
      [3, 499],
      [5, 5],
    ]);
  });
});

describe("the least of a list", () => {
  it("the least items of a list are those that begin the sorted list, and equal ones keep their order", () => {
    const items = fc.array(fc.tuple(fc.nat(5), fc.nat()), { maxLength: 30 });
    fc.assert(
      fc.property(items, fc.integer({ min: 1, max: 10 }), (list, max) => {
        const found = least(list, max, ([a], [b]) => a - b);
        expect(found).toEqual([...list].sort(([a], [b]) => a - b).slice(0, max));
      }),
    );
  });
});
