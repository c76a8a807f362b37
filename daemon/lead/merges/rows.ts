/** Merges as `query` shows them, the oldest first. */
import type { MergeRow } from "../../../protocol/lead/merge.ts";
import { mergeRow } from "../../core/lead/merges/replies.ts";
import type { Keyed, RowSource } from "../../views/sessions-and-locks.ts";
import { unreadReturn } from "./came-back.ts";

export function* mergeRows(source: RowSource): Generator<Keyed<MergeRow>, void> {
  for (const merge of source.engine.state.merges.all.values()) {
    const row = () => {
      const unread = unreadReturn(source, merge);
      return { ...mergeRow(merge), ...(unread === undefined ? {} : { unread }) };
    };
    yield { place: merge.n, key: "", row };
  }
}
