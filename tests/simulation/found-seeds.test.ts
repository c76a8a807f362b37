import { expect, it } from "vitest";
import { auditedSeeds, foundSeeds, hookSeeds } from "./found-seeds.ts";
import { runOnce } from "./run.ts";

const all = [
  ...foundSeeds.map(one => ({ ...one, audit: false, hooks: false })),
  ...auditedSeeds.map(one => ({ ...one, audit: true, hooks: false })),
  ...hookSeeds.map(one => ({ ...one, audit: false, hooks: true })),
];

it.each(all)("seed $seed, $host, finds no more: $found", async ({ seed, host, steps, audit, hooks }) => {
  const { failure, transcript } = await runOnce(seed, steps, host, { tell: true, audit, hooks });
  expect(failure, transcript.join("\n")).toBe(null);
});
