import type { LockRequest } from "../daemon/core/tables/locks.ts";

/** The terms of a lock request of the command line: one file, explicit, no wait. */
export const lockTerms = {
  single: true,
  kind: "explicit",
  waitMs: 0,
  depth: 3,
  placeMs: 0,
  detach: false,
  progress: false,
  prompt: null,
  flight: null,
  yieldMs: 15_000,
  ancestors: [],
  bound: null,
} as const satisfies Partial<LockRequest>;
