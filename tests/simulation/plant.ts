/** Loads the simulation with a bug in it, and looks whether it finds the bug. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { type FoundSeed, plantedSeeds, type Row } from "./found-seeds.ts";
import { plantedInHooks } from "./hooks/planted.ts";
import { loadAnew } from "./modules.ts";
import { dozen, type Planted, planted } from "./planted.ts";
import { lookUp, misquoted, withBug } from "./quotes.ts";

type Simulation = typeof import("./run.ts");

const root = fileURLToPath(new URL("../..", import.meta.url));

/** `UPDATE=1`: what finds a bug now is written to `found-seeds.ts`. */
const isUpdate = process.env["UPDATE"] !== undefined;

/** Rows for each bug of the dozen, so that it stays quick while the simulation's random decisions move. */
const dozenRows = 3;

/** Bugs in what decides who gets a lock, and in what writes that down. */
const inLocks = /^daemon\/(?:core\/locks|engine|journal)\//;

/** Each is run by a test file of its own: the dozen with each `npm test`, both halves of the others by two processes. */
type Part = "dozen" | "locks" | "rest" | "hooks";

function partOf({ bug, file, hooks }: Planted): Part {
  if (hooks === true) return "hooks";
  if (dozen.includes(bug)) return "dozen";
  return inLocks.test(file) ? "locks" : "rest";
}

/**
 * A test for each bug of a part. The dozen is looked for with known seeds alone. Where no known seed finds another bug,
 * others are tried: that the simulation finds it is what counts, and at the end stands which to look up again.
 */
export function findsPlanted(part: Part): void {
  const bugs = [...planted, ...plantedInHooks].filter(bug => partOf(bug) === part);
  const moved: string[] = [];
  // One that no known seed finds any more takes many seeds, each a second of processor time or two.
  describe("a planted bug is caught", { timeout: 600_000 }, () => {
    // `$bug` would be cut off: the command that looks one up names it in full.
    it.each(bugs.map(bug => [bug.bug, bug] as const))("%s", async (_, bug) => {
      const { runOnce } = simulationWith(bug);
      const wanted = isUpdate && part === "dozen" ? dozenRows : 1;
      const rows: Row[] = [];
      let last = "nothing";
      for (const { seed, host, steps, isKnown } of seedsFor(bug, part)) {
        const { failure, steps: ran } = await runOnce(seed, steps, host, looksFor(bug));
        const [first = ""] = failure?.split("\n") ?? [];
        if (failure !== null) last = first;
        if (failure === null || !bug.tells.test(first)) continue;
        rows.push([host, seed, ran, bug.bug]);
        if (!isKnown && !isUpdate) moved.push(bug.bug);
        if (rows.length === wanted) break;
      }
      if (rows.length === 0) expect.fail(`${last} was found, not ${bug.tells}. ${lookUp([bug.bug])}`);
      if (isUpdate) writeRows(bug.bug, rows);
    });
  });
  afterAll(() => {
    if (moved.length > 0)
      console.warn(`Other seeds than the known ones found ${moved.length} bugs. ${lookUp(moved)}`);
  });
}

function looksFor({ merges = false, commands = false, resources = false, hooks = false }: Planted) {
  return { tell: false, audit: false, merges, commands, resources, hooks };
}

/** Those that found it before, then others: many short runs find more than a few long ones, and stay true for longer. */
function* seedsFor(
  { bug, host }: Planted,
  part: Part,
): Generator<Omit<FoundSeed, "found"> & { isKnown: boolean }> {
  const known = plantedSeeds.filter(({ found }) => found === bug);
  for (const { seed, host: on, steps } of known) yield { seed, host: on, steps, isKnown: true };
  if (part === "dozen" && !isUpdate) return;
  for (const [steps, from, to] of [
    [60, 1, 60],
    [300, 1, 60],
    [2000, 61, 120],
  ] as const) {
    for (let seed = from; seed <= to; seed += 1) {
      const on = host ?? (seed % 2 === 0 ? "file" : "memory");
      if (!known.some(row => row.seed === seed && row.host === on))
        yield { seed, steps, host: on, isKnown: false };
    }
  }
}

/** Puts the rows of a bug in the place of those that it has, and says so where they are others. */
function writeRows(bug: string, rows: readonly Row[]): void {
  const path = fileURLToPath(new URL("found-seeds.ts", import.meta.url));
  const lines = readFileSync(path, "utf8").split("\n");
  const isIts = (line: string) => line.endsWith(`, "${bug}"],`);
  const before = lines.filter(isIts);
  const after = rows.map(([host, seed, steps]) => `  ["${host}", ${seed}, ${steps}, "${bug}"],`);
  if (before.join() === after.join()) return;
  const at = before.length > 0 ? lines.findIndex(isIts) : lines.lastIndexOf("]);");
  const others = lines.filter(line => !isIts(line));
  writeFileSync(path, [...others.slice(0, at), ...after, ...others.slice(at)].join("\n"));
  console.info(`found-seeds.ts had\n${before.join("\n")}\nand has\n${after.join("\n")}`);
}

/** The simulation, loaded with the bug in it. */
function simulationWith(bug: Planted): Simulation {
  const path = join(root, bug.file);
  const source = readFileSync(path, "utf8");
  expect([...misquoted(bug, new Map([[bug.file, source]]))]).toEqual([]);
  const text = withBug(bug, source);
  return loadAnew(join(root, "tests/simulation/run.ts"), { path, text }) as Simulation;
}
