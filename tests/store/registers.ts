/** What a key of context is, as its clients see it: a register of compare-and-set. */
import type { Model } from "./linear.ts";

/** `ifVersion` null: whatever is there. `version`: the one that was given, or with a refusal the one that is there. */
export interface SetOp {
  readonly ifVersion: number | null;
  readonly outcome: "ok" | "conflict" | null;
  readonly version: number | null;
}

/** The version of a key that somebody set, and nobody heard of. */
const unheard = -1;

/** A key of context, by its version: it is not deleted. The first version of a key is above that of every value that ended. */
export const keyModel: Model<number, SetOp> = {
  initial: 0,
  step(now, { ifVersion, outcome, version }) {
    const fits = ifVersion === null || ifVersion === now || (now === unheard && ifVersion !== 0);
    if (outcome === "conflict") {
      if (now === unheard) return ifVersion === null || version === ifVersion ? null : version;
      return !fits && version === now ? now : null;
    }
    if (!fits) return null;
    const isFirst = now === 0 || now === unheard;
    if (outcome === null) return isFirst ? unheard : now + 1;
    return isFirst || version === now + 1 ? version : null;
  },
  textOf: String,
};
