/**
 * The origins that a grant was answered to: its request, and later requests of the same actor.
 *
 * Invariants: a grant is undone once all its answers failed; it stays if one was delivered, or still may be.
 */

import { limits } from "../../../protocol/limits.ts";
import { type Origin, originKey } from "../origin.ts";

export interface GrantAnswers {
  readonly origin: Origin;
  readonly askedAgain: readonly Origin[];
}

export const noOrigins: readonly Origin[] = [];

/** Returns the origins of the later requests, when the actor asked again and gets its answer at `origin`. */
export function toldAgain(heard: Pick<GrantAnswers, "askedAgain">, origin: Origin): readonly Origin[] {
  return isSettled(heard) ? heard.askedAgain : [...heard.askedAgain, origin];
}

/**
 * Returns the origins without `lost`, whose answer was not delivered: null if none is left; the same object if `lost`
 * is not among them, or enough answers were sent.
 */
export function withoutAnswer<T extends GrantAnswers>(heard: T, lost: Origin): T | GrantAnswers | null {
  if (isSettled(heard)) return heard;
  const key = originKey(lost);
  const all = [heard.origin, ...heard.askedAgain];
  const [first, ...rest] = all.filter(origin => originKey(origin) !== key);
  if (first === undefined) return null;
  return rest.length === heard.askedAgain.length ? heard : { origin: first, askedAgain: rest };
}

/** Whether so many answers were sent that at least one counts as delivered. */
function isSettled({ askedAgain }: Pick<GrantAnswers, "askedAgain">): boolean {
  return askedAgain.length >= limits.grantAnswersMax;
}
