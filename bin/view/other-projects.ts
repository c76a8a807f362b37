/** The projects that a view sums up in a line each, because the person stands in another one. */

import { isOfMachine } from "../../protocol/names.ts";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import { paint } from "./color.ts";
import { needsIn } from "./needs.ts";
import { projectName } from "./places.ts";
import { table } from "./table.ts";
import { counted, cut, type Screen } from "./text.ts";
import { hasWait, needsPerson } from "./urgency.ts";

interface Summed {
  readonly sessions: readonly SessionRow[];
  readonly locks: readonly LockRow[];
}

/**
 * Returns the project that a view shows in full: `asked` if it has a session or a lock, else null, because then the
 * person stands nowhere and sees all.
 */
export function shownProject({ sessions, locks }: Summed, asked: string | null): string | null {
  return asked !== null && [...sessions, ...locks].some(row => row.project === asked) ? asked : null;
}

/** Returns the rows of a project; null: all of them. */
export function ofProject<Row extends { readonly project: string }>(
  rows: readonly Row[],
  project: string | null,
): readonly Row[] {
  return project === null ? rows : rows.filter(row => row.project === project);
}

/** Returns the locks of a project, with those on the machine's resources; null: all locks. */
export function locksOfProject(locks: readonly LockRow[], project: string | null): readonly LockRow[] {
  return project === null ? locks : locks.filter(row => row.project === project || isOfMachine(row.path));
}

/**
 * Returns a line for each project but `project`, those that need a person first; none with null. `all` shows them.
 * `withNames`: a line names who needs a person.
 */
export function otherProjectLines(
  { sessions, locks }: Summed,
  project: string | null,
  all: string,
  screen: Screen,
  withNames = false,
): string[] {
  if (project === null) return [];
  const others = [...new Set([...sessions, ...locks].map(row => row.project))].filter(p => p !== project);
  if (others.length === 0) return [];
  const sums = others.map(other =>
    summed(other, ofProject(sessions, other), ofProject(locks, other), withNames),
  );
  const sorted = sums.sort((a, b) => b.rank - a.rank || (a.name < b.name ? -1 : 1));
  const rows = sorted.map(({ name, text, rank }) => [
    { text: name, style: "bold" as const },
    { text, style: rank === 2 ? ("yellow" as const) : ("dim" as const) },
  ]);
  return [
    paint(screen, "bold", cut(`Other projects: ${all}`, screen.width)),
    ...table(rows, [{ min: 8, max: nameColumns }, { min: 16 }], screen, 2),
  ];
}

/** Columns of a project's name. */
const nameColumns = 20;

function summed(
  project: string,
  sessions: readonly SessionRow[],
  locks: readonly LockRow[],
  withNames: boolean,
) {
  const needs = sessions.filter(needsPerson).length;
  const waiting = sessions.filter(hasWait).length;
  const active = sessions.filter(s => s.status === "active" && !needsPerson(s) && !hasWait(s)).length;
  const parts = [
    withNames ? needsIn(sessions) : "",
    counted(sessions.length, "session"),
    needs > 0 && !withNames ? `${needs} need${needs === 1 ? "s" : ""} you` : "",
    waiting > 0 ? `${waiting} waiting` : "",
    active > 0 ? `${active} active` : "",
    locks.length > 0 ? counted(locks.length, "lock") : "",
  ];
  const text = parts.filter(part => part !== "").join(", ");
  return { name: projectName(project), text, rank: needs > 0 ? 2 : waiting > 0 ? 1 : 0 };
}
