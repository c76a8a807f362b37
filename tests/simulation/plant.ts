/** Loads the simulation with a bug in it, and looks whether it finds the bug. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type FoundSeed, plantedSeeds, type Row } from "./found-seeds.ts";
import { loadAnew } from "./modules.ts";
import { type Planted, planted } from "./planted.ts";

type Simulation = typeof import("./run.ts");

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Bugs in what decides who gets a lock, and in what writes that down; all others are in the other half. */
const inLocks = /^daemon\/(?:core\/locks|engine|journal)\//;

/** A test for each bug of one half: either half is run by a file of its own, so that two processes have work. */
export function findsPlanted(half: "locks" | "rest"): void {
  const bugs = planted.filter(({ file }) => inLocks.test(file) === (half === "locks"));
  // One that no known seed finds any more takes many seeds, each a second of processor time or two.
  describe("a planted bug is caught", { timeout: 300_000 }, () => {
    it.each(bugs)("$bug", async bug => {
      const { runOnce } = simulationWith(bug);
      let last: string | null = null;
      for (const { seed, host, steps, isKnown } of seedsFor(bug)) {
        const { failure, steps: ran } = await runOnce(seed, steps, host, looksFor(bug));
        last = failure?.split("\n")[0] ?? last;
        if (failure === null || !bug.tells.test(failure.split("\n")[0] ?? "")) continue;
        if (!isKnown) moved([host, seed, ran, bug.bug]);
        return;
      }
      expect.fail(`${last ?? "nothing"} was found, not ${bug.tells}`);
    });
  });
}

function looksFor({ merges = false }: Planted) {
  return { tell: false, audit: false, merges };
}

/** Those that found it before, then others: many short runs find more than a few long ones. */
function* seedsFor({ bug, host }: Planted): Generator<Omit<FoundSeed, "found"> & { isKnown: boolean }> {
  for (const { found, ...known } of plantedSeeds) if (found === bug) yield { ...known, isKnown: true };
  for (const [steps, from, to] of [
    [300, 1, 60],
    [2000, 61, 120],
  ] as const)
    for (let seed = from; seed <= to; seed += 1)
      yield { seed, steps, host: host ?? (seed % 2 === 0 ? "file" : "remote"), isKnown: false };
}

/** The known seed finds the bug no more. With `UPDATE=1` the one that does takes its row in `found-seeds.ts`. */
function moved([host, seed, steps, bug]: Row): void {
  const row = `  ["${host}", ${seed}, ${steps}, "${bug}"],`;
  if (process.env["UPDATE"] === undefined) {
    console.warn(`no known seed finds this bug; UPDATE=1 writes the row: ${row}`);
    return;
  }
  const path = fileURLToPath(new URL("found-seeds.ts", import.meta.url));
  const rows = readFileSync(path, "utf8").split("\n");
  const at = rows.findIndex(line => line.endsWith(`, "${bug}"],`));
  if (at === -1) rows.splice(rows.lastIndexOf("]);"), 0, row);
  else rows[at] = row;
  writeFileSync(path, rows.join("\n"));
}

/** The simulation, loaded with the bug in it. */
function simulationWith(bug: Planted): Simulation {
  const path = join(root, bug.file);
  const text = withBug(bug, readFileSync(path, "utf8"));
  return loadAnew(join(root, "tests/simulation/run.ts"), { path, text }) as Simulation;
}

/** The file's text with the bug in it. */
function withBug({ file, find, put, and }: Planted, text: string): string {
  expect(text.split(find).length - 1, `"${find}" in ${file}`).toBe(1);
  const once = text.replace(find, () => put);
  if (and === undefined) return once;
  const at = once.lastIndexOf(and.find);
  expect(at, `"${and.find}" in ${file}`).toBeGreaterThan(0);
  return once.slice(0, at) + and.put + once.slice(at + and.find.length);
}
