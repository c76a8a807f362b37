/** Finds broken invariants of the merges. */
import type { State } from "../../state.ts";
import { baseKey, isOpen, mergeRecords } from "./table.ts";

export function* checkMerges({ merges, limits }: State): Generator<string> {
  let n = 0;
  const running = new Set<string>();
  for (const merge of merges.all.values()) {
    const { id, state, runner, after } = merge;
    if (merge.n <= n || merge.n > merges.count) yield `${id} has the number ${merge.n}, after ${n}`;
    n = merge.n;
    if (state === "running") {
      if (running.has(baseKey(merge))) yield `two merges of ${merge.base} run`;
      running.add(baseKey(merge));
      if (runner === null) yield `${id} runs without a runner`;
      if (merge.runs === 0) yield `${id} runs and never began`;
    }
    if (merge.moving && state !== "running") yield `${id} moves the base and is ${state}`;
    if (!isOpen(merge) && runner !== null) yield `${id} is ${state} and has a runner`;
    const isUnmerged = state === "returned" || state === "cancelled";
    if (isUnmerged !== (merge.reason !== null)) yield `${id} is ${state}, and whether it says why is wrong`;
    const isGood = state === "merged" || state === "checked";
    if (isGood && merge.commit === null) yield `${id} is ${state} and has no commit`;
    if (state === "checked" && !merge.checkOnly) yield `${id} was to be merged and is only checked`;
    if (merge.notice !== undefined && state !== "returned")
      yield `${id} is ${state}, and a message says it came back`;
    for (const before of after) {
      const first = merges.all.get(before);
      if (first === undefined) continue;
      if (first.n >= merge.n) yield `${id} waits for ${before}, which came later`;
      const isLost = first.state === "returned" || first.state === "cancelled";
      if (isOpen(merge) && isLost) yield `${id} waits for ${before}, which is ${first.state}`;
    }
  }
  for (const [key, ids] of merges.open) {
    if (ids.size > limits.mergesOpenMax) yield `${ids.size} merges wait for ${key}`;
    const [first] = ids;
    const runs = merges.running.get(key);
    if (runs !== undefined && runs !== first) yield `${runs} runs before ${first}`;
  }
  yield* mergeRecords.check(merges, "merges", limits.mergesMax);
}
