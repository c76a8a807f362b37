/** The invariants of dirty files and merge risks; part of `check`. */
import { actorKey } from "../actor.ts";
import type { BaseState } from "../base-state.ts";
import { dirtyRecords, riskRecords, settledRecords } from "./table.ts";

/** Yields one sentence per broken invariant. */
export function* checkWrites({ writes, seq, limits }: BaseState): Generator<string> {
  yield* dirtyRecords.check(writes, "dirty files", limits.writesMax);
  yield* settledRecords.check(writes, "settled files", limits.settledWorkMax);
  let last = 0;
  for (const [key, { writers }] of writes.files) {
    if (writers.length === 0 || writers.length > limits.writersPerFileMax)
      yield `${key} has ${writers.length} writers`;
    if (new Set(writers.map(w => actorKey(w.actor))).size !== writers.length)
      yield `${key} has a writer twice`;
    if (writers.some((w, i) => i > 0 && w.seq < (writers[i - 1]?.seq ?? 0)))
      yield `the latest writer of ${key} is not last`;
    const latest = writers.at(-1)?.seq ?? 0;
    if (latest < last || latest > seq) yield `${key} stands in the wrong place among the writes`;
    last = latest;
  }
  for (const [key, { writers }] of writes.settled) {
    if (writes.files.has(key)) yield `${key} has settled and is uncommitted`;
    if (writers.length === 0) yield `${key} has settled and nobody wrote it`;
  }
}

/** Yields one sentence per broken invariant. */
export function* checkRisks(state: BaseState): Generator<string> {
  const { risks, sessions, limits } = state;
  yield* riskRecords.check(state, "merge risks", limits.mergeRisksMax);
  for (const { file, sides, told } of risks.values()) {
    const [a, b] = sides;
    if (a.worktree >= b.worktree) yield `the sides of ${file} are out of order`;
    if (told.some(id => sides.every(({ actor }) => actor.session !== id)))
      yield `${file} is at risk, and somebody else was told`;
    for (const { actor } of sides)
      if (!sessions.live.has(actor.session))
        yield `${file} is at risk with ${actor.session}, which has ended`;
  }
}
