/** Files that are changed in two worktrees, or on branches of two machines, as text. */
import { basename } from "node:path";
import type { MergeSideRow, RiskRow, SameFileEvent, SameFileRow, SameFileSide } from "../../protocol/work.ts";
import { projectName } from "./places.ts";
import { type Cell, table } from "./table.ts";
import { clean, listed, type Screen } from "./text.ts";

/** Files with work in two worktrees, a line each: the file, then the session and worktree of each side. */
export function riskLines(risks: readonly RiskRow[], screen: Screen): string[] {
  const isOne = new Set(risks.map(risk => risk.project)).size === 1;
  const rows = risks.map((risk): Cell[] => [
    isOne ? "" : { text: projectName(risk.project), style: "dim" },
    clean(risk.file),
    ...risk.sides.map(sideText),
  ]);
  return table(rows, [{ min: 4 }, { min: 12, cut: "start" }, { min: 8 }, { min: 8 }], screen, 2);
}

function sideText({ name, worktree, branch }: MergeSideRow): string {
  const folder = clean(basename(worktree));
  const on = branch === null ? "" : ` (${clean(branch)})`;
  return `${clean(name)} in ${folder}/${on}`;
}

/** Files that branches of two machines changed, a line each: the file, then the session and branch of each side. */
export function sameFileLines(all: readonly SameFileRow[], screen: Screen): string[] {
  const isOne = new Set(all.map(({ project }) => project)).size === 1;
  const rows = all.map(({ project, file, sides }): Cell[] => [
    isOne ? "" : { text: projectName(project), style: "dim" },
    clean(file),
    ...sides.map(branchText),
  ]);
  return table(rows, [{ min: 4 }, { min: 12, cut: "start" }, { min: 8 }, { min: 8 }], screen, 2);
}

/** Returns what is new or over among the files of two machines, for a list of events. */
export function sameFileText({ event, files, more = 0, sides }: SameFileEvent): string {
  const [mine, theirs] = sides.map(branchText);
  const who = `${mine} and ${theirs}`;
  const what = listed(files.map(clean), more);
  return event === "same_file_began" ? `${what} of ${who}` : `${what}: over between ${who}`;
}

function branchText({ name, branch, uncommitted }: SameFileSide): string {
  const parts = [
    ...(branch === null ? [] : [clean(branch)]),
    ...(uncommitted === true ? ["not committed"] : []),
  ];
  return parts.length === 0 ? clean(name) : `${clean(name)} (${parts.join(", ")})`;
}
