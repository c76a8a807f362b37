import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BoundedMap } from "../../daemon/bounded-map.ts";

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

  it("keeps to both bounds, whatever is set and deleted, and forgets no more than it must", () => {
    const step = fc.record({
      key: fc.constantFrom("a", "b", "c", "d"),
      text: fc.option(fc.string({ maxLength: 12 })),
    });
    fc.assert(
      fc.property(fc.array(step), steps => {
        const map = texts(3);
        let rows: [string, string][] = [];
        for (const { key, text } of steps) {
          rows = rows.filter(([known]) => known !== key);
          if (text === null) map.delete(key);
          else {
            map.set(key, text);
            rows.push([key, text]);
          }
          while (rows.length > 1 && (rows.length > 3 || rows.map(([, one]) => one).join("").length > 10))
            rows.shift();
          expect([...map.values()]).toEqual(rows.map(([, one]) => one));
        }
      }),
    );
  });
});
