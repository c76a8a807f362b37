import { expect, it } from "vitest";
import { runOnce } from "./run.ts";

it.each([
  [4, "file"],
  [2, "memory"],
] as const)(
  "entries change no slice but those looked at after them: seed %i, %s",
  // Each copies the state at every entry: seconds, or minutes on a machine that has other work.
  { timeout: 300_000 },
  async (seed, host) => {
    const { failure } = await runOnce(seed, 2000, host, { tell: false, audit: true });
    expect(failure).toBe(null);
  },
);
