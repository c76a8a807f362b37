/** Says where Kite is off now, and which of its own files no command of Kite changed. It only reads; store.ts writes. */

import { LocalError } from "../../client/errors.ts";
import {
  isChanged,
  isInForce,
  markSeen,
  type OffSwitch,
  OffSwitchReader,
  offRows,
  type SeenFile,
} from "../../daemon/config/off-switch.ts";
import type { ChangedFileRow, OffRow, SettingsRow } from "../../protocol/schemas/overview.ts";
import { seemsAgents } from "../context/person.ts";
import { type ProcessContext, print, screenOf } from "../context/process-context.ts";
import { tilde } from "../view/places.ts";
import { clean, clock, listed, wrap } from "../view/text.ts";

/** Returns a sentence for each scope in which Kite is off now, with the command that switches it on. */
export function whatIsOff(world: ProcessContext): string[] {
  return offTexts(offRows(new OffSwitchReader(world.paths.home).read(), world.now()), world);
}

/** Says that Kite only observes, and how to let it act. */
export const observedText =
  "Kite only observes: it records what it would do (kite stats), and no edit waits or is denied. Let it act: kite config set mode act";

/** Returns the switches that have not expired. */
export function stillOff<S extends OffSwitch>(all: ReadonlyMap<string, S>, now: number): Map<string, S> {
  return new Map([...all].filter(([, silence]) => isInForce(silence, now)));
}

/** Returns a sentence for each row, with the command that switches Kite on there. */
export function offTexts(rows: readonly OffRow[], world: Pick<ProcessContext, "env" | "now">): string[] {
  const now = world.now();
  return rows.map(({ scope, of, name, until }) => {
    const end = until === null ? "" : ` until ${clock(until, now)}`;
    if (of === null) return `Kite is off everywhere${end}: edits are not coordinated. Switch it on: kite on`;
    if (scope === "project") {
      const path = tilde(of, world.env["HOME"] ?? "");
      return clean(`Kite is off in ${path}${end}. Switch it on: kite on --project ${path}`);
    }
    const id = of.slice(0, 8);
    return clean(`Kite is off for session ${name ?? id}${end}. Switch it on: kite on --session ${id}`);
  });
}

const looks = { "config.json": "kite config", "trusted.json": "kite check --trust --list" } as const;

/** Returns a sentence for each, with the command that shows it. */
export function changedTexts(
  rows: readonly ChangedFileRow[],
  world: Pick<ProcessContext, "env" | "now" | "paths">,
): string[] {
  const home = world.env["HOME"] ?? "";
  const places = (projects: readonly string[]) =>
    listed(
      projects.map(project => tilde(project, home)),
      0,
    );
  return rows.map(({ file, changedAt, lost, gained }) => {
    const what =
      changedAt === null
        ? "is gone, and no command of Kite removed it"
        : `was changed at ${clock(changedAt, world.now())} by no command of Kite`;
    const effects = [
      ...(lost.length === 0 ? [] : [`what you trusted in ${places(lost)} counts no more`]),
      ...(gained.length === 0 ? [] : [`${places(gained)} counts as trusted`]),
    ];
    const path = tilde(`${world.paths.home}/${file}`, home);
    return clean([`${path} ${what}`, ...effects, `look at it: ${looks[file]}`].join("; "));
  });
}

// What `kite config` and `kite check --trust --list` say of a file that no command of Kite changed. The words of `kite status` stand above.

/** Says that something else changed the file that was just shown; from then on it counts as seen, if a person reads it. */
export async function sawFile(
  world: ProcessContext,
  file: SeenFile,
  isAgent: (world: ProcessContext) => Promise<boolean> = seemsAgents,
): Promise<void> {
  const { paths } = world;
  if (!isChanged(paths, file)) return;
  const { width, home } = screenOf(world);
  const isPersons = !(await isAgent(world));
  const path = tilde(paths[file], home);
  const end = isPersons ? ". Now you have seen it, kite status says so no more" : "; your user looks at it";
  print(world, wrap(clean(`! ${path} was changed by no command of Kite${end}.`), width, 2));
  if (isPersons) markSeen(paths, file);
}

// What is odd about the settings that a running daemon has: `kite status`, `kite config` and `kite doctor` say it.

/** Returns a sentence for each oddity. */
export function settingsTexts(row: SettingsRow | undefined): readonly string[] {
  const { problem, waiting } = row ?? { problem: null, waiting: [] };
  const kept = problem === null ? [] : [`${problem}; the daemon keeps the settings that it read before`];
  return [...kept, ...waiting.map(waitingText)];
}

/** Says that a setting counts only from the daemon's next start. */
export function waitingText(key: string): string {
  return `${key} counts from the daemon's next start: kite down && kite up`;
}

/** Returns what is odd about the running daemon's settings; null: no daemon answers. */
export async function settingsInForce(world: ProcessContext): Promise<SettingsRow | null> {
  try {
    const client = await world.connect({ name: "kite", reconnect: false });
    try {
      const answer = await client.request("overview", {});
      return answer.ok ? (answer.settings ?? { problem: null, waiting: [] }) : null;
    } finally {
      client.close();
    }
  } catch (error) {
    if (error instanceof LocalError) return null;
    throw error;
  }
}
