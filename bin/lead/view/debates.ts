/** Debates as text. */

import type {
  DebateEntryRow,
  DebateGetReply,
  DebateRow,
  HypothesisRow,
} from "../../../protocol/lead/debate.ts";
import { personName } from "../../../protocol/names.ts";
import type { ActorRow } from "../../../protocol/schemas/lock.ts";
import { paint } from "../../view/color.ts";
import { table } from "../../view/table.ts";
import { clean, clock, counted, duration, foreign, type Screen, wrap } from "../../view/text.ts";

/** `kite debate list`: open debates first, then closed ones, the latest first. */
export function debatesView(rows: readonly DebateRow[], screen: Screen): string[] {
  if (rows.length === 0)
    return ["No debates. To open one: kite debate open QUESTION --hypothesis NAME=CLAIM"];
  const handle = lastParts(rows);
  const isOpen = (row: DebateRow) => Number(row.status === "open");
  const cells = [...rows]
    .reverse()
    .sort((a, b) => isOpen(b) - isOpen(a))
    .map(row => [
      handle(row.id),
      { text: row.status, style: row.status === "open" ? ("bold" as const) : ("dim" as const) },
      clean(row.question),
      { text: noteOf(row, screen), style: "dim" as const },
    ]);
  return table(cells, [{}, {}, { min: 16 }, { min: 8 }], screen);
}

/** Returns a function that shortens ids to their last part, or keeps whole ids if two of them end alike. */
function lastParts(rows: readonly DebateRow[]): (id: string) => string {
  const endOf = (id: string) => clean(id.slice(id.lastIndexOf("-") + 1));
  const isPlain = new Set(rows.map(({ id }) => endOf(id))).size === rows.length;
  return isPlain ? endOf : clean;
}

/** What an open debate waits for, or how a closed one ended. */
export function noteOf({ verdict, hypotheses, openedAt }: DebateRow, { now }: Pick<Screen, "now">): string {
  if (verdict !== null)
    return `${clean(verdict.name)}, by ${nameOf(verdict.by)}${verdict.forced ? ", forced" : verdict.alone ? ", alone" : ""}`;
  const left = hypotheses.filter(one => !one.conceded);
  const unanswered = left.reduce((sum, one) => sum + one.unanswered.length, 0);
  const unchallenged = left.filter(one => one.challenges === 0).length;
  const parts = [
    unanswered === 0 ? "" : `${unanswered} unanswered`,
    unchallenged === 0 ? "" : `${unchallenged} unchallenged`,
    `for ${duration(now - openedAt)}`,
  ];
  return parts.filter(part => part !== "").join(", ");
}

/** `kite debate show`: the hypotheses, everything that was said, in order, and the verdict. */
export function debateView(
  { debate, participants, entries }: Omit<DebateGetReply, "next">,
  screen: Screen,
): string[] {
  const { id, status, question, hypotheses, openedBy, openedAt, verdict } = debate;
  const opened = `opened by ${nameOf(openedBy)}, ${clock(openedAt, screen.now)}`;
  const names = participants.map(({ name }) => clean(name)).join(", ");
  return [
    `${paint(screen, "bold", clean(id))}  ${status}`,
    ...indented(question, 2, screen),
    "",
    ...block(opened, 2, screen),
    ...(names === "" ? [] : block(`with ${names}`, 2, screen)),
    "",
    ...hypotheses.flatMap(one => hypothesisLines(one, screen)),
    ...entries.flatMap(entry => ["", ...entryLines(entry, screen)]),
    ...(verdict === null ? [] : ["", ...verdictLines(verdict, screen)]),
  ];
}

/** Returns how a hypothesis stands: challenged, answered, conceded. */
export function stands({ conceded, challenges, unanswered }: HypothesisRow): string {
  if (conceded) return "conceded";
  if (challenges === 0) return "never challenged";
  const open = unanswered.length === 0 ? "all answered" : `unanswered: ${unanswered.join(", ")}`;
  return `${counted(challenges, "challenge")}, ${open}`;
}

function hypothesisLines(one: HypothesisRow, screen: Screen): string[] {
  return [...block(`${clean(one.name)} (${stands(one)})`, 2, screen), ...indented(one.claim, 4, screen)];
}

function entryLines(entry: DebateEntryRow, screen: Screen): string[] {
  const { number, text, by, at } = entry;
  const head = `${number}  ${nameOf(by)} ${saidIn(entry)}, ${clock(at, screen.now)}`;
  return [...block(head, 2, screen), ...(text === null ? [] : indented(text, 5, screen))];
}

function saidIn({ kind, hypothesis, answers, against }: DebateEntryRow): string {
  const name = clean(hypothesis);
  switch (kind) {
    case "challenge":
      return `challenges ${name}`;
    case "evidence":
      return `has evidence ${against ? "against" : "for"} ${name}`;
    case "answer":
      return `answers ${answers} (${name})`;
    case "concede":
      return `concedes ${name}`;
  }
}

function verdictLines(verdict: NonNullable<DebateRow["verdict"]>, screen: Screen): string[] {
  const { name, because, by, forced, alone, at } = verdict;
  const how = forced ? ", by force" : alone ? ", alone in the project" : "";
  const head = `verdict: ${clean(name)}, by ${nameOf(by)}${how}, ${clock(at, screen.now)}`;
  return [...block(head, 2, screen), ...indented(because, 4, screen)];
}

function nameOf(row: ActorRow | null): string {
  return row === null ? personName() : clean(row.name);
}

/** A line of Kite's own and cleaned names, behind `by` blanks; lines after the first are further in. */
function block(text: string, by: number, screen: Screen): string[] {
  return wrap(text, Math.max(20, screen.width - by), 3).map(line => `${" ".repeat(by)}${line}`);
}

/** A text of an actor behind `by` blanks. */
function indented(text: string, by: number, screen: Screen): string[] {
  return foreign(text, Math.max(20, screen.width - by)).map(line => `${" ".repeat(by)}${line}`);
}
