/** Merges as `query` shows them, the oldest first. */
import type { MergeRow } from "../../protocol/merge.ts";
import { mergeRow } from "../core/merges/replies.ts";
import type { State } from "../core/state.ts";
import type { Keyed } from "./sessions-and-locks.ts";

export function* mergeRows({ merges }: Pick<State, "merges">): Generator<Keyed<MergeRow>, void> {
  for (const merge of merges.all.values()) yield { place: merge.n, key: "", row: () => mergeRow(merge) };
}
