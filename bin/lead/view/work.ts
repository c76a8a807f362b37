/** Merges for a terminal. */

import { basename } from "node:path";
import type { MergeElsewhereRow, MergeReason, MergeRow, MergeState } from "../../../protocol/lead/merge.ts";
import type { SpawnRow, SpawnState } from "../../../protocol/lead/spawn.ts";
import type { CameBackRow } from "../../../protocol/lead/team.ts";
import { limits } from "../../../protocol/limits.ts";
import { personName } from "../../../protocol/names.ts";
import {
  type Cell,
  clean,
  duration,
  listed,
  paint,
  type Screen,
  type Style,
  table,
  wrap,
} from "../../view/text.ts";
import { healthAdvice, troubleOf, unreadText } from "./features.ts";

const styles: { readonly [S in MergeState]: Cell } = {
  queued: { text: "queued", style: "dim" },
  running: { text: "running", style: "yellow" },
  merged: { text: "merged", style: "green" },
  checked: { text: "checked", style: "green" },
  returned: { text: "returned", style: "red" },
  cancelled: { text: "cancelled", style: "dim" },
};

/**
 * A line for each merge; below one that was not merged why, the end of a red check's output, and who has not read so.
 * `spawned`: sessions that Kite can open in this terminal.
 */
export function mergeLines(
  rows: readonly MergeRow[],
  screen: Screen,
  spawned: ReadonlySet<string> = new Set(),
): string[] {
  const lines = table(
    rows.map((row): Cell[] => [
      styles[row.state],
      clean(shortName(row.branch)),
      clean(`${row.rebase ? "onto" : "into"} ${shortName(row.base)}`),
      whoOf(row),
      row.id,
      whenOf(row, screen),
    ]),
    [{}, { min: 12 }, { min: 12 }, { min: 8 }, {}, { min: 20 }],
    screen,
  );
  return rows.flatMap((row, i) => {
    const isAlone = row.state === "queued" && !row.attended;
    const alone = isAlone ? wrap("no command attends to it", screen.width - 2, 2) : [];
    const back =
      row.unread === undefined
        ? []
        : wrap(unreadText(row.unread, spawned.has(readerOf(row))), screen.width - 2, 2);
    const indented = (some: readonly string[]) => some.map(line => `  ${line}`);
    return [lines[i] ?? "", ...indented(alone), ...reasonLines(row.reason, screen), ...indented(back)];
  });
}

/** The merges of other machines, which run there alone; `isBelow`: lines stand above them. */
export function elsewhereLines(
  rows: readonly MergeElsewhereRow[],
  screen: Screen,
  isBelow: boolean,
): string[] {
  if (rows.length === 0) return [];
  const cells = rows.map((row): Cell[] => [
    styles[row.state],
    clean(row.branch),
    clean(`into ${row.base}`),
    clean(row.authorName ?? ""),
    clean(row.machine),
    `${duration(screen.now - row.changedAt)} ago`,
  ]);
  const lines = table(cells, [{}, { min: 12 }, { min: 12 }, { min: 8 }, { min: 8 }, {}], screen, 2);
  return [...(isBelow ? [""] : []), "On other machines", ...lines];
}

/** Why a merge was not merged, indented. */
export function reasonLines(reason: MergeReason | null, { width }: Pick<Screen, "width">): string[] {
  if (reason === null) return [];
  const files = reason.files.length === 0 ? "" : `: ${listed(reason.files.map(clean), reason.more)}`;
  const why = wrap(`${clean(reason.text)}${files}`, width - 2, 2).map(line => `  ${line}`);
  const output = clean(reason.output ?? "");
  const end = output === "" ? [] : wrap(`| ${output.slice(-limits.quoteChars * 2)}`, width - 2, 2);
  return [...why, ...end.map(line => `  ${line}`)];
}

function readerOf({ unread }: MergeRow): string {
  return unread === undefined || unread.state === "gone" ? "" : unread.who.id;
}

function whoOf({ author }: MergeRow): string {
  return author === null ? "" : clean(author.name);
}

function whenOf({ state, commit, changedAt }: MergeRow, { now }: Screen): string {
  const ago = `${duration(now - changedAt)} ago`;
  return state === "merged" && commit !== null ? `${ago}, at ${commit.slice(0, 7)}` : ago;
}

function shortName(branch: string): string {
  return branch.replace(/^refs\/heads\//, "");
}

// Spawned agents as a table.

const spawnStyles: Readonly<Record<SpawnState, Style>> = {
  starting: "dim",
  running: "green",
  waits_on_person: "yellow",
  idle: "plain",
  done: "dim",
  failed: "red",
  stopped: "dim",
};

const heads = ["name", "state", "role", "task", "worktree", "branch", "parent", "age"];

/** A line for each agent, those that have not ended first, then the latest; below it what went wrong. */
export function spawnsView(
  agents: readonly SpawnRow[],
  screen: Screen,
  worded: (text: string) => string = text => text,
): string[] {
  if (agents.length === 0) return ["No spawned agents."];
  const isOver = ({ endedAt }: SpawnRow) => Number(endedAt !== null);
  const sorted = [...agents].sort((a, b) => isOver(a) - isOver(b) || b.createdAt - a.createdAt);
  const rows = sorted.map(agent => cellsOf(agent, screen, worded));
  const columns = [
    { min: 6 },
    {},
    { min: 4 },
    { min: 4 },
    { min: 8 },
    { min: 8 },
    { min: 6 },
    { align: "right" as const },
  ];
  const head = heads.map(text => ({ text, style: "dim" as const }));
  const lines = table([head, ...rows], columns, screen);
  return lines.flatMap((line, i) => [line, ...notesOf(sorted[i - 1], screen)]);
}

function cellsOf(agent: SpawnRow, { now }: Screen, worded: (text: string) => string): Cell[] {
  const { name, state, role, task, worktree, branch, parent, createdAt, endedAt } = agent;
  return [
    clean(name),
    troubleOf(agent.health) ?? { text: state.replaceAll("_", " "), style: spawnStyles[state] },
    clean(role ?? "-"),
    clean(task === null ? "-" : worded(task)),
    clean(worktree === null ? "-" : basename(worktree)),
    clean(branch ?? "-"),
    clean(parent?.name ?? personName()),
    duration(Math.max(0, (endedAt ?? now) - createdAt)),
  ];
}

function notesOf(agent: SpawnRow | undefined, screen: Screen): string[] {
  if (agent === undefined) return [];
  const { name, reason, result, worksIn, health, cameBack, session } = agent;
  const notes = [
    ...healthAdvice(health, name, null, true),
    ...cameBackNote(cameBack, session),
    ...(worksIn === null ? [] : [`works in ${worksIn} now`]),
    ...(reason === null ? [] : [reason]),
    ...(result === null ? [] : [`result: ${result}`]),
  ];
  return notes.flatMap(note =>
    wrap(clean(note), screen.width - 4, 2).map(line => `    ${paint(screen, "dim", line)}`),
  );
}

/** A record's own session can be opened in a terminal; who leads an agent that ended may work anywhere. */
function cameBackNote(cameBack: CameBackRow | undefined, session: string | null): string[] {
  if (cameBack === undefined) return [];
  const { merge, branch, base, unread } = cameBack;
  const isOwn = unread.state !== "gone" && unread.who.id === session;
  return [`${branch} was not merged into ${base} (${merge}): ${unreadText(unread, isOwn)}`];
}
