/** Builds the simulation with a bug in it, and looks whether it finds the bug. */
import { readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import { describe, expect, it } from "vitest";
import { type FoundSeed, plantedSeeds, type Row } from "./found-seeds.ts";
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
      const { runOnce } = await simulationWith(bug);
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

/** The simulation, built with the bug in it. */
async function simulationWith({ file, find, put, and }: Planted): Promise<Simulation> {
  let count = 0;
  const plant: Plugin = {
    name: "plant",
    setup(setup) {
      const isFile = new RegExp(`/${file.replaceAll(".", "\\.")}$`);
      setup.onLoad({ filter: isFile }, async ({ path }) => {
        const text = await readFile(path, "utf8");
        count += text.split(find).length - 1;
        const once = text.replace(find, () => put);
        if (and === undefined) return { contents: once, loader: "ts" };
        const at = once.lastIndexOf(and.find);
        expect(at, `"${and.find}" in ${file}`).toBeGreaterThan(0);
        return { contents: once.slice(0, at) + and.put + once.slice(at + and.find.length), loader: "ts" };
      });
    },
  };
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ["tests/simulation/run.ts"],
    bundle: true,
    platform: "node",
    format: "esm",
    write: false,
    plugins: [plant],
    logLevel: "silent",
  });
  expect(count, `"${find}" in ${file}`).toBe(1);
  const [output] = outputFiles;
  if (output === undefined) throw new Error("nothing was built");
  const module: unknown = await import(
    `data:text/javascript;base64,${Buffer.from(output.contents).toString("base64")}`
  );
  return module as Simulation;
}
