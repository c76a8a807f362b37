import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PathIndex } from "../../daemon/core/frame/records.ts";

const found = (index: PathIndex, key: string, dir = false) => [...index.overlapping(key, dir)].sort();

describe("the path index", () => {
  it("finds a path itself, folders above that count, and for a folder all below", () => {
    const index = new PathIndex();
    index.add("n:/p/src", true);
    index.add("n:/p/lib", false);
    index.add("n:/p/lib/a/b", false);
    expect(found(index, "n:/p/src/deep/x")).toEqual(["n:/p/src"]);
    expect(found(index, "n:/p/lib/a/b")).toEqual(["n:/p/lib/a/b"]);
    expect(found(index, "n:/p/lib", true)).toEqual(["n:/p/lib", "n:/p/lib/a/b"]);
    expect(found(index, "n:/p", true)).toEqual(["n:/p/lib", "n:/p/lib/a/b", "n:/p/src"]);
  });

  it("takes a name that only begins alike for another one", () => {
    const index = new PathIndex();
    index.add("n:/p/src", true);
    expect(found(index, "n:/p/src2")).toEqual([]);
    expect(found(index, "n:/p/sr", true)).toEqual([]);
  });

  it("tells nodes apart, and knows the root", () => {
    const index = new PathIndex();
    index.add("n:", true);
    expect(found(index, "n:/p/x")).toEqual(["n:"]);
    expect(found(index, "m:/p/x")).toEqual([]);
    index.add("n:/p/x", false);
    expect(found(index, "n:", true)).toEqual(["n:", "n:/p/x"]);
  });

  it("counts what was added more than once", () => {
    const index = new PathIndex();
    index.add("n:/a", true);
    index.add("n:/a", false);
    index.remove("n:/a", true);
    expect(found(index, "n:/a/b")).toEqual([]);
    expect(found(index, "n:/a")).toEqual(["n:/a"]);
    index.remove("n:/a", false);
    expect(index.describe()).toEqual([]);
  });

  it("of a table keeps no members of its own", () => {
    const table = new Map<string, number>();
    const index = new PathIndex(table);
    for (const [key, dir] of [
      ["n:/p", true],
      ["n:/p/b", false],
      ["n:/p/a", false],
    ] as const) {
      table.set(key, 1);
      index.add(key, dir);
    }
    expect(found(index, "n:/p/c")).toEqual(["n:/p"]);
    expect([...index.overlapping("n:/p", true)]).toEqual(["n:/p", "n:/p/a", "n:/p/b"]);
    table.delete("n:/p/a");
    index.remove("n:/p/a", false);
    expect([index.touches("n:/p/a", false), found(index, "n:/p", true)]).toEqual([true, ["n:/p", "n:/p/b"]]);
    table.delete("n:/p");
    index.remove("n:/p", true);
    expect([index.touches("n:/p/a", false), index.touches("n:/p/b", false)]).toEqual([false, true]);
    expect(index.describe()).toEqual(["n:/p/b 1 0", "n:/p/b"]);
  });

  it("throws at the removal of what was never added", () => {
    expect(() => new PathIndex().remove("n:/a", false)).toThrow("n:/a is not a member");
  });

  it("agrees with a list, whatever is added and removed, and keeps nothing back", () => {
    const part = fc.constantFrom("a", "b", "ab");
    const path = fc.array(part, { maxLength: 4 }).map(parts => ["n:", ...parts].join("/"));
    const item = fc.record({ key: path, dir: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(fc.record({ item, remove: fc.option(fc.nat(30)) }), { maxLength: 60 }),
        item,
        fc.option(fc.tuple(fc.nat(60), fc.nat(60))),
        (steps, asked, order) => {
          const index = new PathIndex();
          const list: { key: string; dir: boolean }[] = [];
          for (const [i, { item: one, remove }] of steps.entries()) {
            if (i === order?.[0]) index.postponeOrder();
            if (i === order?.[1]) index.makeOrder();
            if (remove === null || list.length === 0) {
              index.add(one.key, one.dir);
              list.push(one);
            } else {
              const [gone] = list.splice(remove % list.length, 1);
              if (gone !== undefined) index.remove(gone.key, gone.dir);
            }
          }
          const below = (a: string, b: string) => a.startsWith(`${b}/`);
          const expected = list.filter(
            m =>
              m.key === asked.key ||
              (m.dir && below(asked.key, m.key)) ||
              (asked.dir && below(m.key, asked.key)),
          );
          expect(found(index, asked.key, asked.dir)).toEqual([...new Set(expected.map(m => m.key))].sort());
          for (const { key, dir } of list) index.remove(key, dir);
          expect(index.describe()).toEqual([]);
        },
      ),
    );
  });
});
