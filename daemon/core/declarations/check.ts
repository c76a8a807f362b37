/** The invariants of declarations; part of `check`. */

import type { BaseState } from "../base-state.ts";
import { declarationRecords } from "./table.ts";

/** Yields one sentence per broken invariant. */
export function* checkDeclarations(state: BaseState): Generator<string> {
  const { declarations, sessions, limits } = state;
  const { live, ended, endedCount } = declarations;
  yield* declarationRecords.check(declarations, "declarations", limits.declarationsMax);
  if (ended.size > limits.declarationsEndedMax) yield "more declarations are in the history than may be";
  for (const [key, one] of live) {
    if (!sessions.live.has(one.session)) yield `${one.session} has ended and its declaration holds`;
    if (one.endedAt !== null) yield `the declaration of ${key} holds and has ended`;
    if (new Set(one.files.map(file => file.key)).size < one.files.length)
      yield `${key} declared a file twice`;
    if (new Set(one.uncertainties.map(({ question }) => question)).size < one.uncertainties.length)
      yield `${key} has a question twice`;
    if (one.uncertainties.some(({ resolved, evidence }) => resolved && evidence.trim() === ""))
      yield `${key} resolved a question without evidence`;
  }
  let last = 0;
  for (const [n, { endedAt }] of ended) {
    if (n <= last || n > endedCount) yield `ended declaration ${n} stands behind ${last}`;
    if (endedAt === null) yield `ended declaration ${n} holds`;
    last = n;
  }
}
