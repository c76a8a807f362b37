import { expect, it } from "vitest";
import { mustOccur, runSeeds, seedsMax } from "./seeds.ts";

it(`keeps every invariant over ${seedsMax} seeds of 2,000 steps`, { timeout: 1_800_000 }, async () => {
  const seeds = Array.from({ length: seedsMax }, (_, i) => 1_000 + i);
  const { commands, replies, runs } = await runSeeds(seeds, 2000, "memory");
  expect(runs).toBe(seedsMax);
  expect(mustOccur.commands.filter(name => !commands.has(name))).toEqual([]);
  expect(mustOccur.replies.filter(name => !replies.has(name))).toEqual([]);
});
