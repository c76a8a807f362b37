import type { StopFacts } from "./facts.ts";

/** An agent whose last call failed does something about it, or says why not, before it stops. */
export function recovery({ failure }: StopFacts): readonly string[] {
  return failure === null ? [] : [`your last ${failure.tool} call failed: ${failure.error}`];
}
