import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { plantedSeeds } from "./found-seeds.ts";
import { plantedInHooks } from "./hooks/planted.ts";
import { dozen, type Planted, planted } from "./planted.ts";
import { misquoted } from "./quotes.ts";

const all = [...planted, ...plantedInHooks];
const root = fileURLToPath(new URL("../..", import.meta.url));

it("every planted bug quotes what stands once in its file", () => {
  const paths = ["daemon", "hooks"].flatMap(folder =>
    readdirSync(join(root, folder), { encoding: "utf8", recursive: true })
      .filter(path => path.endsWith(".ts"))
      .map(path => `${folder}/${path}`),
  );
  const sources = new Map(paths.map(path => [path, readFileSync(join(root, path), "utf8")]));
  expect(all.flatMap(bug => [...misquoted(bug, sources)])).toEqual([]);
});

it("a quote that is gone, doubled or elsewhere is told, with what to do", () => {
  const bug: Planted = { bug: "two at once", file: "a.ts", find: "if (one)", put: "", tells: /two/ };
  const told = (a: string, b: string, of = bug) => {
    const sources = new Map(Object.entries({ "a.ts": a, "b.ts": b }));
    return [...misquoted(of, sources)].join("\n");
  };
  const command = 'npm run seeds -- -t "two at once"';
  expect(told("if (one) x();", "if (one) y();")).toBe("");
  expect(told("if (two) x();", "")).toContain("stands 0 times in a.ts");
  expect(told("if (two) x();", "")).toContain(command);
  expect(told("if (one) if (one) x();", "")).toContain("stands 2 times in a.ts");
  expect(told("", "if (one) y();")).toContain("It stands once in b.ts. Then run");
  expect(told("x();", "", { ...bug, file: "gone.ts" })).toContain("stands 0 times in gone.ts");
  const further = { ...bug, and: { find: "else", put: "" } };
  expect(told("if (one) x(); else y();", "", further)).toBe("");
  expect(told("if (one) x();", "", further)).toContain("a further text that is not in a.ts");
});

it("bugs have names of their own, and those of the dozen and of the seeds are such", () => {
  const bugs = new Set(all.map(({ bug }) => bug));
  expect(bugs.size).toBe(all.length);
  expect(dozen.filter(bug => !bugs.has(bug))).toEqual([]);
  expect(plantedSeeds.map(({ found }) => found).filter(bug => !bugs.has(bug))).toEqual([]);
});
