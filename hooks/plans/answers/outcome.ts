/** Finds what came of one action of an event. */
import type { HookOutcome } from "../../seam/slices.ts";

type Success = Extract<HookOutcome, { readonly ok: true }>;

/** The outcome of an action that succeeded. */
export type OutcomeOf<D extends Success["did"], O = Success> = O extends { readonly did: infer N }
  ? D extends N
    ? O
    : never
  : never;

type Refused = Extract<HookOutcome, { readonly ok: false }>;

/** Returns the outcome of the first such action that succeeded. */
export function outcomeOf<D extends Success["did"]>(
  outcomes: readonly HookOutcome[],
  did: D,
): OutcomeOf<D> | undefined {
  for (const outcome of outcomes) if (outcome.ok && outcome.did === did) return outcome as OutcomeOf<D>;
  return undefined;
}

/** Returns the first action that was refused. */
export function refusalOf(outcomes: readonly HookOutcome[]): Refused | undefined {
  for (const outcome of outcomes) if (!outcome.ok) return outcome;
  return undefined;
}
