import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
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
