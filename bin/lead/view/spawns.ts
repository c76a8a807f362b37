/** Spawned agents as a table. */

import { basename } from "node:path";
import type { SpawnRow, SpawnState } from "../../../protocol/lead/spawn.ts";
import type { CameBackRow } from "../../../protocol/lead/team.ts";
import { personName } from "../../../protocol/names.ts";
import { paint, type Style } from "../../view/color.ts";
import { type Cell, table } from "../../view/table.ts";
import { clean, duration, type Screen, wrap } from "../../view/text.ts";
import { unreadText } from "./came-back.ts";
import { healthAdvice, troubleOf } from "./health.ts";

const styles: Readonly<Record<SpawnState, Style>> = {
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
    troubleOf(agent.health) ?? { text: state.replaceAll("_", " "), style: styles[state] },
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
