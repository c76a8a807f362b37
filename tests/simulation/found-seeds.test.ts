import { expect, it } from "vitest";
import { auditedSeeds, foundSeeds } from "./found-seeds.ts";
import { runOnce } from "./run.ts";

const all = [
  ...foundSeeds.map(one => ({ ...one, audit: false })),
  ...auditedSeeds.map(one => ({ ...one, audit: true })),
];

it.each(all)("seed $seed, $host, finds no more: $found", async ({ seed, host, steps, audit }) => {
  const { failure, transcript } = await runOnce(seed, steps, host, { tell: true, audit });
  expect(failure, transcript.join("\n")).toBe(null);
});
