/**
 * Who may have heard of a grant: the request that made it, and those of the same actor that were told of it since.
 *
 * Invariants: a grant of which no answer was delivered is undone; one of which an answer was, or may yet be, stays.
 */

import { limits } from "../../../protocol/limits.ts";
import { type Origin, originKey } from "../origin.ts";

export interface Heard {
  readonly origin: Origin;
  readonly askedAgain: readonly Origin[];
}

export const noOrigins: readonly Origin[] = [];

/** The actor asked again: its answer goes to `origin`. */
export function toldAgain(hold: { askedAgain: readonly Origin[] }, origin: Origin): void {
  if (!isSettled(hold)) hold.askedAgain = [...hold.askedAgain, origin];
}

/**
 * What is left when the answer to `lost` was not delivered: null, if nobody else was told; the same object, if that is
 * none of these answers, or no longer matters.
 */
export function withoutAnswer<T extends Heard>(heard: T, lost: Origin): T | Heard | null {
  if (isSettled(heard)) return heard;
  const key = originKey(lost);
  const all = [heard.origin, ...heard.askedAgain];
  const [first, ...rest] = all.filter(origin => originKey(origin) !== key);
  if (first === undefined) return null;
  return rest.length === heard.askedAgain.length ? heard : { origin: first, askedAgain: rest };
}

/** So many were told that somebody has heard. */
function isSettled({ askedAgain }: Pick<Heard, "askedAgain">): boolean {
  return askedAgain.length >= limits.grantAnswersMax;
}
