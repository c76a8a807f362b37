/** Says where Kite is off now, and which of its own files no command of Kite changed. It only reads; store.ts writes. */
import { isInForce, type OffSwitch, OffSwitchReader, offRows } from "../../daemon/config/off-switch.ts";
import type { ChangedFileRow, OffRow } from "../../protocol/schemas/overview.ts";
import type { ProcessContext } from "../process-context.ts";
import { tilde } from "../view/places.ts";
import { clean, clock, listed } from "../view/text.ts";

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
