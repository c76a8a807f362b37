/** The file of a copy: what comes back from it, and a snapshot while steps go on. */
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { Images } from "../../daemon/core/frame/saved-rows.ts";
import { Copy, loadCopy, saveCopy } from "../../daemon/store/copy.ts";
import type { Names } from "../../daemon/store/rows.ts";
import { Random } from "../simulation/random.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { Machine } from "./shared-copy-history.ts";
import { desk, formsOf, laptop, orderOf, StoreWorld, storedFormsOf, wrongIn } from "./shared-copy-world.ts";

/** A project after some steps of two machines. */
function played(seed: number, steps = 80) {
  const random = new Random(seed);
  const world = new StoreWorld();
  const machine = new Machine(world.join(laptop), random);
  const other = new Machine(world.join(desk), random);
  const step = () => {
    const one = random.pick([machine, other]);
    world.now += 10;
    if (random.chance(0.4)) one.change();
    world.commit(
      one.copy,
      world.plan(one.copy, () => void one.step(world.now)),
    );
  };
  for (let i = 0; i < steps; i += 1) step();
  return { world, copy: machine.copy, step };
}

/** How many rows are kept as they were while tasks change: none if no snapshot is under way. */
function imagesKept({ rows, version, head }: StoreWorld, copy: Copy): number {
  const keep = vi.spyOn(Images.prototype, "keep");
  const tasks = [...rows.values()].filter(([kind, , value]) => kind === "tasks" && value !== null);
  expect(tasks.length).toBeGreaterThan(0);
  copy.take(version, "s", head, tasks);
  const { length } = keep.mock.calls;
  keep.mockRestore();
  return length;
}

const path = () => join(temporaryFolder(), "copy");

describe("the file of a copy", () => {
  it.each([1, 2, 3])("gives the copy back, with when it was: seed %i", async seed => {
    const { copy } = played(seed);
    const file = path();
    expect(await saveCopy(file, copy, 1_234, "s1")).toBe(true);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const fresh = new Copy(laptop);
    expect(loadCopy(file, fresh, "s1")).toBe(1_234);
    expect([fresh.version, fresh.stamp]).toEqual([copy.version, copy.stamp]);
    expect(storedFormsOf(fresh)).toEqual(storedFormsOf(copy));
    expect(orderOf(fresh)).toEqual(orderOf(copy));
    expect(wrongIn(fresh)).toEqual([]);
  });

  it("goes on where it was: what the store got since comes in", async () => {
    const { world, copy, step } = played(4);
    const file = path();
    await saveCopy(file, copy, 1, "s1");
    const fresh = new Copy(laptop);
    loadCopy(file, fresh, "s1");
    world.copies.push(fresh);
    for (let i = 0; i < 40; i += 1) step();
    expect(storedFormsOf(fresh)).toEqual(storedFormsOf(copy));
    expect(wrongIn(fresh)).toEqual([]);
  });

  it("has no path of the machine in it", async () => {
    const { copy } = played(5);
    const file = path();
    await saveCopy(file, copy, 1, "s1");
    expect(readFileSync(file, "utf8")).not.toContain(laptop.project);
  });

  it("is of one store, and none of another", async () => {
    const { copy } = played(6);
    const file = path();
    await saveCopy(file, copy, 1, "s1");
    expect(loadCopy(file, new Copy(laptop), "s2")).toBeNull();
    expect(loadCopy(file, new Copy(laptop), null)).toBe(1);
  });

  it("is none where there is none", () => {
    expect(loadCopy(path(), new Copy(laptop), "s1")).toBeNull();
  });

  it.each<[string, Partial<Names>]>([
    ["another node's", { node: "n9" }],
    ["another project's", { shared: "team/other" }],
  ])("is none if it is %s", async (_what, other) => {
    const { copy } = played(6);
    const file = path();
    await saveCopy(file, copy, 1, "s1");
    expect(loadCopy(file, new Copy({ ...laptop, ...other }), "s1")).toBeNull();
  });

  const lines = (text: string) => text.split("\n");
  const damages: readonly (readonly [string, (text: string) => string])[] = [
    ["is empty", () => ""],
    ["is of a later format", text => text.replace('"format":1', '"format":2')],
    ["is cut within a line", text => text.slice(0, text.length - 9)],
    ["is cut behind a line", text => `${lines(text).slice(0, 9).join("\n")}\n`],
    ["lacks a line", text => lines(text).toSpliced(5, 1).join("\n")],
    [
      "has counters that nothing reads",
      text => text.replace('\\"taskCount\\":', '\\"taskCount\\":\\"x\\",\\"y\\":'),
    ],
    ["has a line that is no row", text => text.replace("\n[", '\n["x"]\n[')],
    ["has no counters", text => text.replace(/"head":"(?:\\"|[^"])*"/, '"head":"null"')],
  ];

  it.each(damages)("gives nothing if it %s, and the copy is empty", async (_what, damage) => {
    const { copy } = played(7);
    const file = path();
    await saveCopy(file, copy, 1, "s1");
    const text = readFileSync(file, "utf8");
    expect(damage(text)).not.toBe(text);
    writeFileSync(file, damage(text), { mode: 0o600 });
    const fresh = new Copy(laptop);
    expect(loadCopy(file, fresh, "s1")).toBeNull();
    expect(formsOf(fresh)).toEqual(new Map());
    expect(fresh.version).toBe(0);
  });

  it("is left as it was by one that cannot be written, and steps cost as before", async () => {
    const { world, copy } = played(8);
    const file = path();
    await saveCopy(file, copy, 1, "s1");
    await expect(saveCopy(join(file, "below-a-file"), copy, 2, "s1")).rejects.toThrow();
    expect(loadCopy(file, new Copy(laptop), "s1")).toBe(1);
    expect(imagesKept(world, copy)).toBe(0);
  });
});

describe("a snapshot of a copy", () => {
  it.each([1, 2, 3, 4, 5])("is of one moment while steps go on: seed %i", seed => {
    const { copy, step } = played(seed, 40);
    const before = storedFormsOf(copy);
    const { first, rows, end } = copy.snapshot();
    const taken: (readonly [string, string, string | null])[] = [];
    for (const row of rows) {
      taken.push(row);
      step();
      if (taken.length % 2 === 0) step();
    }
    end();
    const { version, stamp, head } = first as { version: number; stamp: string; head: string };
    const fresh = new Copy(laptop);
    fresh.take(version, stamp, head, taken);
    expect(storedFormsOf(fresh)).toEqual(before);
    expect(fresh.unfit).toEqual(new Map());
    expect(wrongIn(fresh)).toEqual([]);
    expect(taken.length).toBeGreaterThan(5);
    expect(storedFormsOf(copy)).not.toEqual(before);
  });

  it("leaves nothing behind when it ends", () => {
    const { world, copy, step } = played(9);
    const { rows, end } = copy.snapshot();
    step();
    for (const _row of rows) step();
    end();
    expect(imagesKept(world, copy)).toBe(0);
  });
});
