/** Debates as rows: a project's page by page, and one with its entries. */
import type { DebateEntryRow, DebateRow } from "../../../protocol/lead/debate.ts";
import { limits } from "../../../protocol/limits.ts";
import { standingsOf } from "../../core/lead/debates.ts";
import { type Debate, type DebateEntry, debateAt } from "../../core/lead/tables/debates.ts";
import type { LogView } from "../../engine/log-view.ts";
import type { Steps } from "../../server/turns.ts";
import { pageText } from "../../views/paging.ts";

function debateRow(debate: Debate): DebateRow {
  const { id, project, question, openedBy, openedAt, hypotheses, entries, verdict } = debate;
  const standings = standingsOf(debate, verdict?.alone);
  return {
    id,
    project,
    question,
    status: verdict === null ? "open" : "closed",
    openedBy,
    openedAt,
    hypotheses: hypotheses.map(({ name, claim }, i) => ({
      name,
      claim,
      conceded: standings[i]?.conceded ?? false,
      challenges: standings[i]?.challenges ?? 0,
      unanswered: standings[i]?.unanswered ?? [],
    })),
    entryCount: entries.length,
    verdict,
  };
}

function entryRow(entry: DebateEntry, number: number): DebateEntryRow {
  const { kind, hypothesis, answers, against, text, by, at } = entry;
  return { number, kind, hypothesis, answers, against, text, by, at };
}

/** Returns a page of the project's debates, oldest first, after `after`, a sort key: `limit` rows, about a line. */
export function* debatePage(
  log: LogView,
  project: string,
  {
    limit: max = limits.rowsDefault,
    after,
  }: { readonly limit?: number | undefined; readonly after?: string | undefined },
): Steps<string> {
  // A debate is a value and they are few: these stay as they are, whatever happens between two steps.
  const { debates } = log.state;
  const places = [...(debates.byProject.get(log.project(project))?.from(after ?? "") ?? [])].filter(
    one => one !== after,
  );
  const rows: string[] = [];
  let size = 0;
  for (const [i, debate] of places.map(place => debateAt(debates, place)).entries()) {
    const row = JSON.stringify(log.outward(debateRow(debate)));
    size += row.length;
    if (rows.length > 0 && (rows.length === max || size > limits.lineBytes))
      return pageText(rows, places[i - 1]);
    rows.push(row);
    yield row.length;
  }
  return pageText(rows);
}

/** Returns a debate with its entries after entry `after`, about a line of them. */
export function* debateText(log: LogView, debate: Debate, after: number): Steps<string> {
  const { participants, entries } = debate;
  const head = JSON.stringify({
    ok: true,
    debate: log.outward(debateRow(debate)),
    participants: participants.map(({ row }) => log.outward(row)),
  });
  const rows: string[] = [];
  let size = head.length;
  let next: number | null = null;
  for (const [i, entry] of entries.entries()) {
    if (i < after) continue;
    const row = JSON.stringify(log.outward(entryRow(entry, i + 1)));
    size += row.length;
    if (rows.length > 0 && size > limits.lineBytes / 2) {
      next = i;
      break;
    }
    rows.push(row);
    yield row.length;
  }
  const more = next === null ? "" : `,"next":${next}`;
  return `${head.slice(0, -1)},"entries":[${rows.join(",")}]${more}}`;
}
