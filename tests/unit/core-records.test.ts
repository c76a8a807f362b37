/** Tables of rows: their indexes, also the one of paths. */
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  PathIndex,
  paths,
  placeOf,
  Records,
  sets,
  sorted,
  sortedBy,
  total,
  unique,
} from "../../daemon/core/frame/records.ts";

interface Row {
  readonly id: string;
  readonly n: number;
  readonly group: string;
  readonly owner: string | null;
  readonly files: readonly string[];
}

const records = new Records("rows", (row: Row) => row.id, {
  owned: sorted(row => (row.owner === null ? null : placeOf(row))),
  byGroup: sortedBy((row: Row) => row.group, placeOf),
  byOwner: sets(({ owner }) => owner),
  byFile: sets(({ files }) => files),
  first: unique(({ id, owner }) => owner && `${owner} ${id}`),
  paths: paths(({ files }) => files.map(key => ({ key, dir: key.endsWith("d") }))),
  size: total(({ files }) => files.length),
});

const row = (id: string, more: Partial<Row> = {}): Row => ({
  id,
  n: Number.parseInt(id.slice(1), 10),
  group: "g",
  owner: null,
  files: [],
  ...more,
});

const anyRow = fc.record({
  id: fc.constantFrom("r1", "r2", "r3", "r4", "r5"),
  group: fc.constantFrom("g", "h"),
  owner: fc.constantFrom(null, "ann", "bob"),
  files: fc.uniqueArray(fc.constantFrom("n:/a", "n:/a/b", "n:/d", "n:/d/d"), { maxLength: 3 }),
});
const anyStep = fc.record({ row: anyRow, how: fc.constantFrom("put", "putLast", "drop", "makeRoom") });

describe("records", () => {
  test("have the indexes of a table that was filled anew, whatever came and went", () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 40 }), steps => {
        const table = records.empty();
        for (const { row: made, how } of steps) {
          const one = row(made.id, made);
          if (how === "makeRoom") records.makeRoom(table, 2);
          else records[how](table, one);
          if (how === "drop") expect(table.rows.has(one.id)).toBe(false);
          else if (how !== "makeRoom") expect(table.rows.get(one.id)).toBe(one);
          expect([...records.check(table, "rows")]).toEqual([]);
          expect([...table.byOwner.keys()].every(owner => (table.byOwner.get(owner)?.size ?? 0) > 0)).toBe(
            true,
          );
          expect([...table.owned]).toEqual(
            [...table.rows.values()]
              .filter(({ owner }) => owner !== null)
              .map(placeOf)
              .sort(),
          );
          expect(table.size).toBe([...table.rows.values()].reduce((sum, { files }) => sum + files.length, 0));
        }
      }),
    );
  });

  it("keep a row's place when it is replaced, and give it the last one when it enters", () => {
    const table = records.empty();
    for (const id of ["r1", "r2", "r3"]) records.put(table, row(id, { owner: "ann" }));
    records.put(table, row("r1", { owner: "ann", files: ["n:/a"] }));
    expect([...(table.byOwner.get("ann") ?? [])]).toEqual(["r1", "r2", "r3"]);
    expect([...table.rows.keys()]).toEqual(["r1", "r2", "r3"]);
    records.put(table, row("r1"));
    records.put(table, row("r1", { owner: "ann" }));
    expect([...(table.byOwner.get("ann") ?? [])]).toEqual(["r2", "r3", "r1"]);
    expect([...table.rows.keys()]).toEqual(["r1", "r2", "r3"]);
    records.putLast(table, row("r2"));
    expect([...table.rows.keys()]).toEqual(["r1", "r3", "r2"]);
  });

  it("make room by the oldest rows, or by the first of an index", () => {
    const table = records.empty();
    for (const id of ["r1", "r2", "r3", "r4"])
      records.put(table, row(id, id === "r3" ? { owner: "ann" } : {}));
    expect(records.makeRoom(table, 4)).toEqual([]);
    expect(records.makeRoom(table, 3, table.owned).map(({ id }) => id)).toEqual(["r3"]);
    expect(records.makeRoom(table, 2, table.owned)).toEqual([]);
    expect(records.makeRoom(table, 1).map(({ id }) => id)).toEqual(["r1", "r2"]);
    expect([...table.rows.keys()]).toEqual(["r4"]);
  });

  it("drop all rows of an index, as it was", () => {
    const table = records.empty();
    for (const id of ["r1", "r2", "r3"]) records.put(table, row(id, id === "r2" ? {} : { owner: "ann" }));
    records.dropAll(table, table.byOwner.get("ann"));
    records.dropAll(table, table.byOwner.get("nobody"));
    expect([...table.rows.keys()]).toEqual(["r2"]);
    expect(table.byOwner.size).toBe(0);
  });

  it("tell which index is wrong, and which row has a wrong key", () => {
    const table = records.empty();
    records.put(table, row("r1", { owner: "ann" }));
    table.byOwner.delete("ann");
    table.paths.add("n:/a", false);
    table.rows.set("r2", row("r3"));
    expect([...records.check(table, "rows", 1)]).toEqual([
      "there are more rows than may be",
      "r2 is among the rows, and its row has another key",
      "the index byGroup of the rows is wrong",
      "the index byOwner of the rows is wrong",
      "the index paths of the rows is wrong",
    ]);
  });
});

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
