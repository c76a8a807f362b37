/** Merges as `query` shows them, the oldest first. */
import type { MergeRow } from "../../../protocol/lead/merge.ts";
import { limits } from "../../../protocol/limits.ts";
import { mergeRow } from "../../core/lead/merges/replies.ts";
import { countUnheard } from "../../core/lead/merges/unread.ts";
import type { StatsColumn, Target } from "../../requests/target.ts";
import type { Keyed, RowSource } from "../../views/row.ts";
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

const merges: Target<MergeRow> = {
  open: source => () => mergeRows(source),
  ids: row => [row.by?.id, row.author?.id],
};

export const mergeTargets = { merges };

/** Branches whose latest merge came back with nobody there to read so. */
export const mergeStats: StatsColumn = ({ engine, clock }) => {
  const mergesUnheard = countUnheard(engine.state, clock.wall() - limits.mergeUnheardMs);
  return mergesUnheard === 0 ? {} : { mergesUnheard };
};
