/** Debates as text. */

import type { CheckStatus } from "../../../daemon/core/lead/checks.ts";
import type { CheckRow, UnneededRow, WorktreeStateReply } from "../../../protocol/lead/check.ts";
import type {
  DebateEntryRow,
  DebateGetReply,
  DebateRow,
  HypothesisRow,
} from "../../../protocol/lead/debate.ts";
import { limits } from "../../../protocol/limits.ts";
import { personName } from "../../../protocol/names.ts";
import type { ActorRow } from "../../../protocol/schemas/lock.ts";
import {
  type Cell,
  clean,
  clock,
  counted,
  duration,
  foreign,
  listed,
  paint,
  type Screen,
  table,
  wrap,
} from "../../view/text.ts";
import type { Outcome } from "../check-run.ts";

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

// Results of checks for a terminal.

/** A line for each check that ran; below a red one the end of its output, if it was kept. */
export function outcomeLines(outcomes: readonly Outcome[], screen: Screen): string[] {
  const rows = outcomes.map(({ name, green, ranMs, state, unrecorded, ...ran }): Cell[] => [
    { text: green ? "green" : "red", style: green ? "green" : "red" },
    name,
    ranMs < 10_000 ? `${(ranMs / 1000).toFixed(1)}s` : duration(ranMs),
    [
      ...(green ? [] : [ran.timedOut ? "killed at the time limit" : `exit code ${ran.exit}`]),
      ...(unrecorded === null ? [`at ${stateWords(state)}`] : []),
    ].join(", "),
  ]);
  const lines = table(rows, [{}, {}, { align: "right" }, { min: 8 }], screen);
  return outcomes.flatMap(({ green, output, unrecorded }, i) => [
    lines[i] ?? "",
    ...(unrecorded === null ? [] : notice(`not recorded: ${clean(unrecorded)}`, screen)),
    ...(green ? [] : lastLines(output).map(line => `  | ${clean(line)}`)),
  ]);
}

/** A line for each check that needed no run, with why. */
export function unneededLines(
  rows: readonly Pick<UnneededRow, "name" | "when" | "since">[],
  { width }: Screen,
): string[] {
  return rows.flatMap(({ name, when, since }) => {
    const globs = listed(when.slice(0, globsShownMax).map(clean), Math.max(0, when.length - globsShownMax));
    const than = since === "green" ? "since it was last green" : "since the branch began";
    return wrap(
      `${name} not needed: nothing in ${globs} changed ${than}; kite check ${name} runs it`,
      width,
      2,
    );
  });
}

const globsShownMax = 3;

function notice(text: string, { width }: Screen): string[] {
  return wrap(`! ${text}`, width - 2, 2).map(line => `  ${line}`);
}

function lastLines(output: string): string[] {
  return output === "" ? [] : output.trimEnd().split("\n").slice(-limits.checkLinesShown);
}

/** One check of `kite check --list`. */
interface ListedCheck {
  readonly name: string;
  readonly status: CheckStatus;
  /** Its latest result; null: none is kept. */
  readonly last: CheckRow | null;
  /** Whether that result is of another command than the check has now. */
  readonly isOther: boolean;
}

/** A line for each check: its status in the present state, and its latest result. */
export function listedLines(checks: readonly ListedCheck[], screen: Screen): string[] {
  const rows = checks.map(({ name, status, last, isOther }): Cell[] => {
    const words = isOther ? "not run since its command changed" : statusWords[status];
    const style = status === "green" || status === "red" ? status : "dim";
    return [name, { text: words, style }, last === null ? "" : resultWords(last, status, screen.now)];
  });
  return table(rows, [{}, {}, { min: 8 }], screen, 2);
}

const statusWords: Readonly<Record<CheckStatus, string>> = {
  green: "green",
  red: "red",
  stale: "not run for this state",
  never_run: "never run",
  unknown: "unknown",
};

/** Returns a check's latest result in words, and whether it counts for the present state. */
export function resultWords(
  { exit, commit, files, at, by }: CheckRow,
  status: CheckStatus,
  now: number,
): string {
  const isNow = status === "green" || status === "red";
  const how = `${isNow ? "" : exit === 0 ? "last green " : "last red "}at ${stateWords({ commit, files })}`;
  const code = exit === 0 ? "" : `, exit code ${exit}`;
  const who = by === null ? "" : `, by ${clean(by.name)}`;
  return `${how}${code}, ${duration(now - at)} ago${who}`;
}

/** A state in a few words: `8f1c2d3 + 2 changed files`. */
export function stateWords({ commit, files }: Pick<WorktreeStateReply, "commit" | "files">): string {
  const at = commit === null ? "no commit yet" : commit.slice(0, 7);
  return files === 0 ? at : `${at} + ${counted(files, "changed file")}`;
}
