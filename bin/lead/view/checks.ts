/** Results of checks for a terminal. */
import type { CheckStatus } from "../../../daemon/core/lead/checks.ts";
import type { CheckRow, UnneededRow, WorktreeStateReply } from "../../../protocol/lead/check.ts";
import { limits } from "../../../protocol/limits.ts";
import { type Cell, table } from "../../view/table.ts";
import { clean, counted, duration, listed, type Screen, wrap } from "../../view/text.ts";
import type { Outcome } from "../checks/outcome.ts";

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
export interface ListedCheck {
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
