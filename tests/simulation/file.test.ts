import { expect, it } from "vitest";
import { mustOccur, runSeeds } from "./seeds.ts";

it("keeps every invariant over 250 seeds of 2,000 steps", { timeout: 600_000 }, async () => {
  const seeds = Array.from({ length: 250 }, (_, i) => 1_000 + i);
  const { commands, replies, runs } = await runSeeds(seeds, 2000, "file");
  expect(runs).toBe(250);
  expect(mustOccur.commands.filter(name => !commands.has(name))).toEqual([]);
  expect(mustOccur.replies.filter(name => !replies.has(name))).toEqual([]);
});
