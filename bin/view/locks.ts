/** Locks and their queues as text. */

import { basename } from "node:path";
import type { ActorRow, LockRow, WaiterRow } from "../../protocol/schemas/lock.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { MergeSideRow, RiskRow } from "../../protocol/work.ts";
import { locksOfProject, otherProjectLines, shownProject } from "./needs.ts";
import { Places, projectName } from "./places.ts";
import { heading } from "./sessions.ts";
import { bound, type Cell, clean, duration, type Screen, table, wrap } from "./text.ts";

export interface LocksData {
  readonly locks: readonly LockRow[];
  readonly sessions: readonly SessionRow[];
  /** The project to show in full, the others in a line each; absent or null: all. */
  readonly project?: string | null;
}

interface LocksOptions {
  /** At most so many locks without waiters are shown. */
  readonly quietMax: number;
  /** Show the project's name even if there is only one project. */
  readonly headings: boolean;
}

/** Columns of a holder's name. */
const nameColumns = 20;

/** `kite status --locks`: every lock with its queue. */
export function locksView(data: LocksData, screen: Screen): string[] {
  const project = shownProject(data, data.project ?? null);
  const locks = locksOfProject(data.locks, project);
  const others = otherProjectLines(data, project, "kite status --locks --all", screen);
  const own =
    locks.length === 0
      ? [project === null ? "No locks." : "No locks in this project."]
      : lockLines({ ...data, locks }, screen, { quietMax: locks.length, headings: true });
  return others.length === 0 ? own : [...own, "", ...others];
}

/**
 * Returns locks by project, each with its holder, kind and age, and below it its waiters in queue order. Shows every
 * lock with waiters, the longest wait first, and at most `quietMax` others.
 */
export function lockLines(data: LocksData, screen: Screen, { quietMax, headings }: LocksOptions): string[] {
  const isQuiet = ({ waiters }: LockRow) => waiters.length === 0;
  const quiet = data.locks.filter(isQuiet).sort((a, b) => b.heldMs - a.heldMs);
  const hidden = new Set(quiet.slice(quietMax));
  const items = lockItems(data, screen, headings, hidden);
  const more = wrap(`and ${hidden.size} more without waiters: kite status --locks`, screen.width - 2);
  return [
    ...items.flatMap(({ lines }) => lines),
    ...(hidden.size === 0 ? [] : more.map(line => `  ${line}`)),
  ];
}

/** Returns the lines of each lock but the `hidden` ones, and of each project's heading, in the order of `lockLines`. */
export function lockItems(
  data: LocksData,
  screen: Screen,
  withHeadings: boolean,
  hidden: ReadonlySet<LockRow> = new Set(),
): readonly { readonly lines: readonly string[]; readonly count: number }[] {
  const places = new Places(data.sessions, data.locks, screen.home);
  const wanted = data.locks.filter(l => l.waiters.length > 0).sort((a, b) => longest(b) - longest(a));
  const quiet = data.locks.filter(l => l.waiters.length === 0).sort((a, b) => b.heldMs - a.heldMs);
  const shown = [...wanted, ...quiet].filter(lock => !hidden.has(lock));
  // In the order of their most wanted locks.
  const projects = [...new Set(shown.map(l => l.project))];
  const headings = withHeadings || new Set([...data.locks, ...data.sessions].map(r => r.project)).size > 1;
  const indent = headings ? 4 : 2;
  const rows = projects.flatMap(project => shown.filter(l => l.project === project));
  const columns = [
    { min: 12, cut: "middle" as const },
    { min: 5, max: nameColumns },
    {},
    { align: "right" as const },
  ];
  const drawn = table(
    rows.map(row => cellsOf(row, places)),
    columns,
    screen,
    indent,
  );
  const margin = " ".repeat(indent + 2);
  return rows.flatMap((row, i) => {
    const isFirst = headings && row.project !== rows[i - 1]?.project;
    const waiters = `then ${row.waiters.map(waiterText).join(", ")}`;
    const queue = row.waiters.length === 0 ? [] : wrap(waiters, screen.width - indent - 2, 5);
    return [
      ...(isFirst ? [{ lines: [heading(row.project, screen)], count: 0 }] : []),
      { lines: [drawn[i] ?? "", ...queue.map(line => margin + line)], count: 1 },
    ];
  });
}

function longest(row: LockRow): number {
  return Math.max(...row.waiters.map(w => w.waitedMs));
}

const kinds = { explicit: "kept lock", turn: "edit lock" } as const satisfies Record<LockRow["kind"], string>;

function cellsOf(row: LockRow, places: Places): Cell[] {
  const file: Cell = { text: places.lock(row), style: "bold" };
  if (row.holder === null) return [file, { text: "nobody", style: "dim" }];
  return [
    file,
    actorText(row.holder),
    { text: kinds[row.kind], style: "dim" },
    { text: duration(row.heldMs), style: "dim" },
  ];
}

/** Returns an actor's name for a person. */
function actorText(actor: ActorRow): string {
  return clean(actor.name);
}

/** `away`: the waiter's connection is gone; the daemon keeps its queue position for a while. */
function waiterText(waiter: WaiterRow): string {
  return bound(`${actorText(waiter)} ${duration(waiter.waitedMs)}${waiter.attached ? "" : " (away)"}`);
}

// Files that are changed in two worktrees, as text.

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
