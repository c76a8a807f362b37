/** Who needs a person, by name. */
import type { SessionRow } from "../../protocol/session-rows.ts";
import { paint } from "./color.ts";
import type { OneAgent } from "./feature.ts";
import { features } from "./features.ts";
import { projectName } from "./places.ts";
import { clean, cut, listed, type Screen, widthOf } from "./text.ts";
import { compare, needsPerson } from "./urgency.ts";

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
export function needsIn(sessions: readonly SessionRow[]): string {
  const [first, ...more] = needing(sessions, null);
  if (first === undefined) return "";
  if (more.length === 0) {
    const reason = reasonOf(first);
    return `${clean(first.name)} needs you${reason === "" ? "" : ` (${reason})`}`;
  }
  const names = [first, ...more].map(({ name }) => clean(name));
  return `need you: ${listed(names.slice(0, rowNamesMax), names.length - rowNamesMax)}`;
}
