import { expect, it } from "vitest";
import { runSeeds } from "./seeds.ts";

// A few fixed seeds: quick enough for each `npm test`. Others, and what must occur in them, are in the hosts' own files.
it.each(["file", "memory"] as const)(
  "keeps every invariant over three seeds of 600 steps: %s",
  async host => {
    const { runs } = await runSeeds([2_000, 2_001, 2_002], 600, host);
    expect(runs).toBe(3);
  },
);
