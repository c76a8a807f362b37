/** Merges as `query` shows them, the oldest first. */
import type { MergeElsewhereRow, MergeRow } from "../../../protocol/lead/merge.ts";
import { limits } from "../../../protocol/limits.ts";
import { countUnheard, mergeRow } from "../../core/lead/merges.ts";
import type { Logs } from "../../engine/log-view.ts";
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

/** Yields what other machines told of their merges; `project`: only those of this project of this machine. */
function* mergesElsewhereRows(
  logs: Logs,
  project: string | undefined,
): Generator<Keyed<MergeElsewhereRow>, void> {
  for (const log of project === undefined ? logs.logs : [logs.logOf(project)]) {
    const { mergesThere, leases } = log.state;
    for (const [node, merges] of mergesThere) {
      if (node === logs.state.outbox.node) continue;
      const machine = leases.all.get(node)?.machine ?? node;
      for (const merge of merges) {
        if (project !== undefined && merge.project !== log.project(project)) continue;
        const row = () => log.outward({ ...merge, machine });
        yield { place: merge.changedAt, key: `${node} ${merge.id}`, row };
      }
    }
  }
}

const merges_elsewhere: Target<MergeElsewhereRow> = {
  open:
    ({ engine }, { project }) =>
    () =>
      mergesElsewhereRows(engine, project),
  ids: row => [row.author],
};

export const mergeTargets = { merges, merges_elsewhere };

/** Branches whose latest merge came back with nobody there to read so. */
export const mergeStats: StatsColumn = ({ engine, clock }) => {
  const mergesUnheard = countUnheard(engine.state, clock.wall() - limits.mergeUnheardMs);
  return mergesUnheard === 0 ? {} : { mergesUnheard };
};
