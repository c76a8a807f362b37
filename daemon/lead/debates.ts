/** debate_open, debate_challenge, _evidence, _answer, _concede, debate_close, debate_get, debate_list. */

import type { DebateEntryRow, DebateRow, debateRequests } from "../../protocol/lead/debate.ts";
import { limits } from "../../protocol/limits.ts";
import type { RequestOf } from "../../protocol/schemas/requests.ts";
import { findDebate, isDebate, standingsOf } from "../core/lead/debates.ts";
import { type Debate, type DebateEntry, debateAt, type NewEntry } from "../core/lead/tables/debates.ts";
import type { Reply } from "../core/tables/entries.ts";
import type { LogView } from "../engine/log-view.ts";
import type { Services } from "../options.ts";
import { forward, type HandlersOf, projectOf } from "../requests/handler.ts";
import type { Steps } from "../server/call.ts";
import { pageText } from "../views/paging.ts";

// Debates as rows: a project's page by page, and one with its entries.

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
  const places = [...(debates.byProject.get(project)?.from(after ?? "") ?? [])].filter(one => one !== after);
  const rows: string[] = [];
  let size = 0;
  for (const [i, debate] of places.map(place => debateAt(debates, place)).entries()) {
    const row = JSON.stringify(debateRow(debate));
    size += row.length;
    if (rows.length > 0 && (rows.length === max || size > limits.lineBytes))
      return pageText(rows, places[i - 1]);
    rows.push(row);
    yield row.length;
  }
  return pageText(rows);
}

/** Returns a debate with its entries after entry `after`, about a line of them. */
export function* debateText(debate: Debate, after: number): Steps<string> {
  const { participants, entries } = debate;
  const head = JSON.stringify({
    ok: true,
    debate: debateRow(debate),
    participants: participants.map(({ row }) => row),
  });
  const rows: string[] = [];
  let size = head.length;
  let next: number | null = null;
  for (const [i, entry] of entries.entries()) {
    if (i < after) continue;
    const row = JSON.stringify(entryRow(entry, i + 1));
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

type Entering = "debate_challenge" | "debate_evidence" | "debate_answer" | "debate_concede";

export const debateHandlers: HandlersOf<typeof debateRequests> = {
  debate_open: forward<"debate_open">({
    command: ({ question, hypotheses, participants = null }, stamp) => ({
      type: "debate_open",
      ...{ ...stamp, question, hypotheses, participants },
    }),
    line,
  }),
  debate_challenge: entering<"debate_challenge">(({ hypothesis, text }) => ({
    kind: "challenge",
    ...{ hypothesis, text },
  })),
  debate_evidence: entering<"debate_evidence">(({ hypothesis, text, against = false }) => ({
    kind: "evidence",
    ...{ hypothesis, text, against },
  })),
  debate_answer: entering<"debate_answer">(({ challenge, text }) => ({ kind: "answer", challenge, text })),
  debate_concede: entering<"debate_concede">(({ hypothesis, text = null }) => ({
    kind: "concede",
    ...{ hypothesis, text },
  })),
  debate_close: forward<"debate_close">({
    command: ({ debate, verdict, because, force = false }, stamp) => ({
      type: "debate_close",
      ...{ ...stamp, debate, verdict, because, force },
    }),
    line,
  }),
  debate_get: (services, request, call) =>
    call.replyLong(() => found(services, request, projectOf(services, request, call))),
  debate_list: (services, request, call) =>
    call.replyLong(() => {
      const project = projectOf(services, request, call);
      return debatePage(services.engine.logOf(project), project, request);
    }),
};

function entering<T extends Entering>(entryOf: (request: RequestOf<T>) => NewEntry) {
  return forward<T>({
    command: (request, { by, project, wallMs }) => ({
      type: "debate_enter",
      ...{ by, debate: request.debate, project, entry: entryOf(request), wallMs },
    }),
    line,
  });
}

function* found(
  { engine }: Services,
  request: RequestOf<"debate_get">,
  project: string,
): Steps<string | Reply> {
  const log = engine.logOf(project);
  const debate = findDebate(log.state.debates, request.debate, project);
  return isDebate(debate) ? yield* debateText(debate, request.after ?? 0) : debate;
}

/** The trail has actor and debate, without what was said. */
function line(reply: Reply): { readonly why: string } {
  const entry = reply.ok && "entry" in reply ? ` entry ${String(reply["entry"])}` : "";
  return { why: reply.ok ? `${String(reply["debate"])}${entry}` : "" };
}
