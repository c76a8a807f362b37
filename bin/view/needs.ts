/** Who needs a person, by name. */

import { isOfMachine } from "../../protocol/names.ts";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import { features } from "./features.ts";
import { projectName } from "./places.ts";
import { compare, hasWait, needsPerson } from "./session-notes.ts";
import { clean, counted, cut, listed, type OneAgent, paint, type Screen, table, widthOf } from "./text.ts";

/** Names in one row of another project. */
const rowNamesMax = 3;

/** Returns the sessions that need a person, those of `project` first. */
function needing(sessions: readonly SessionRow[], project: string | null): readonly SessionRow[] {
  const isElsewhere = (s: SessionRow) => Number(project !== null && s.project !== project);
  return sessions.filter(needsPerson).sort((a, b) => isElsewhere(a) - isElsewhere(b) || compare(a, b));
}

/** Returns what a session needs a person for; empty: its agents' rows say so. */
function reasonOf(s: SessionRow): string {
  if (s.attention !== null) return clean(s.attention);
  const troubles = (one: OneAgent) =>
    features.flatMap(feature => feature.trouble?.(one)?.text ?? []).slice(0, 1);
  return clean([s, ...s.agents].flatMap(troubles)[0] ?? "");
}

/**
 * Returns the names of all that need a person, in at most `width` columns: those of `project` first, the others with
 * theirs. Empty: nobody does.
 */
export function needsText(sessions: readonly SessionRow[], project: string | null, width: number): string {
  const all = needing(sessions, project);
  const names = all.map(s =>
    project === null || s.project === project
      ? clean(s.name)
      : `${clean(s.name)} in ${projectName(s.project)}`,
  );
  let shown = names.length;
  while (shown > 1 && widthOf(listed(names.slice(0, shown), names.length - shown)) > width) shown -= 1;
  return cut(listed(names.slice(0, shown), names.length - shown), width);
}

/** Returns the first line of a status, for a person, or for an agent, whom `sessions` of its project alone concern. */
export function needsLines(
  sessions: readonly SessionRow[],
  project: string | null,
  isPersons: boolean,
  screen: Screen,
): string[] {
  const shown = isPersons ? sessions : sessions.filter(s => project === null || s.project === project);
  const [first, ...more] = needing(shown, project);
  if (first === undefined) return [];
  const title = isPersons ? "Needs you: " : "Needs a person: ";
  const names = needsText(shown, project, screen.width - widthOf(title));
  const reason = more.length === 0 ? reasonOf(first) : "";
  const line = cut(`${title}${names}${reason === "" ? "" : ` (${reason})`}`, screen.width);
  return [paint(screen, "yellow", line)];
}

/** Returns who of another project needs a person: `kim needs you (Bash: make)`; empty: nobody. */
function needsIn(sessions: readonly SessionRow[]): string {
  const [first, ...more] = needing(sessions, null);
  if (first === undefined) return "";
  if (more.length === 0) {
    const reason = reasonOf(first);
    return `${clean(first.name)} needs you${reason === "" ? "" : ` (${reason})`}`;
  }
  const names = [first, ...more].map(({ name }) => clean(name));
  return `need you: ${listed(names.slice(0, rowNamesMax), names.length - rowNamesMax)}`;
}

// The projects that a view sums up in a line each, because the person stands in another one.

interface Summed {
  readonly sessions: readonly SessionRow[];
  readonly locks: readonly LockRow[];
}

/**
 * Returns the project that a view shows in full: `project` if it has a session or a lock, else null. Then the person
 * stands nowhere and sees all.
 */
export function shownProject({ sessions, locks }: Summed, project: string | null): string | null {
  return project !== null && [...sessions, ...locks].some(row => row.project === project) ? project : null;
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
