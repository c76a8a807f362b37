/**
 * What `kite off` switched off, in two files of Kite's directory:
 *
 * - `off` is for everything. It is empty, or valid until its modification time: a hook client needs one look.
 * - `off.json` names projects and sessions; the daemon reads it.
 *
 * Expired entries have no effect and remain until the next write.
 */
import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { HookPlan } from "../../hooks/seam/plan.ts";
import { actionTraits, type HookOutcome } from "../../hooks/seam/slices.ts";
import { limits } from "../../protocol/limits.ts";
import type { OffRow } from "../../protocol/schemas/overview.ts";

export interface OffSwitch {
  /** Wall time in milliseconds; null: until `kite on`. */
  readonly until: number | null;
}

export interface OffSwitches {
  readonly all: OffSwitch | null;
  /** By directory; a switch applies to everything in it. */
  readonly projects: ReadonlyMap<string, OffSwitch>;
  /** By id; `name` is the session's name at that time. */
  readonly sessions: ReadonlyMap<string, OffSwitch & { readonly name: string | null }>;
}

export const nothingOff: OffSwitches = { all: null, projects: new Map(), sessions: new Map() };

export function offFiles(home: string): { readonly all: string; readonly some: string } {
  return { all: join(home, "off"), some: join(home, "off.json") };
}

/** Whether the switch is in force at `now`, wall time in milliseconds. */
export function isInForce(offSwitch: OffSwitch | null | undefined, now: number): boolean {
  return offSwitch !== null && offSwitch !== undefined && (offSwitch.until === null || offSwitch.until > now);
}

/** Whether Kite is off for an event of this session, which works in these directories. */
export function isOff(
  switches: OffSwitches,
  who: { readonly session: string | null; readonly places: readonly string[] },
  now: number,
): boolean {
  if (isInForce(switches.all, now)) return true;
  if (who.session !== null && isInForce(switches.sessions.get(who.session), now)) return true;
  for (const [directory, offSwitch] of switches.projects) {
    const isIn = who.places.some(place => place === directory || place.startsWith(`${directory}/`));
    if (isIn && isInForce(offSwitch, now)) return true;
  }
  return false;
}

/**
 * Returns the plan without waits and notices. It still records begins and ends, so the state stays true, and refuses to
 * write Kite's own files.
 */
export function withoutWaits(plan: HookPlan): HookPlan {
  const actions = plan.actions.filter(({ do: name }) => {
    const { waits, tells } = actionTraits[name];
    return !waits && tells !== "only";
  });
  const isRefused = (outcomes: readonly HookOutcome[]) =>
    outcomes.some(outcome => outcome.ok && outcome.did === "check_own_files");
  return {
    ...plan,
    actions,
    answer: outcomes => (isRefused(outcomes) ? plan.answer(outcomes) : { output: "" }),
  };
}

/** Returns the switches in force at `now`, wall time in milliseconds. */
export function offRows({ all, projects, sessions }: OffSwitches, now: number): OffRow[] {
  const rows: OffRow[] = [
    ...(all === null ? [] : [{ scope: "all" as const, of: null, name: null, until: all.until }]),
    ...[...projects].map(([of, { until }]) => ({ scope: "project" as const, of, name: null, until })),
    ...[...sessions].map(([of, { until, name }]) => ({ scope: "session" as const, of, name, until })),
  ];
  return rows.filter(row => isInForce(row, now));
}

/** Parses `off.json`; null if Kite did not write it so. */
export function parseOffSwitches(text: string): Pick<OffSwitches, "projects" | "sessions"> | null {
  const read: unknown = parsed(text);
  if (!isObject(read) || !isObject(read["projects"]) || !isObject(read["sessions"])) return null;
  const projects = new Map<string, OffSwitch>();
  const sessions = new Map<string, OffSwitch & { readonly name: string | null }>();
  for (const [directory, value] of Object.entries(read["projects"])) {
    if (!isOffSwitch(value)) return null;
    projects.set(directory, { until: value.until });
  }
  for (const [id, value] of Object.entries(read["sessions"])) {
    if (!isOffSwitch(value)) return null;
    sessions.set(id, { until: value.until, name: typeof value["name"] === "string" ? value["name"] : null });
  }
  return { projects, sessions };
}

/** Reads both files again when they change. An unreadable file switches nothing off. */
export class OffSwitchReader {
  readonly #files: ReturnType<typeof offFiles>;
  readonly #onOff: ((row: OffRow) => void) | null;
  #stamp = "";
  #switches = nothingOff;

  /** `onOff` hears of each switch that a later read finds and this moment does not. */
  constructor(home: string, onOff: ((row: OffRow) => void) | null = null) {
    this.#files = offFiles(home);
    this.#onOff = null;
    if (onOff === null) return;
    this.read();
    this.#onOff = onOff;
  }

  /** Costs two stats while nothing changes. */
  read(): OffSwitches {
    const all = lstatSync(this.#files.all, { throwIfNoEntry: false });
    const some = lstatSync(this.#files.some, { throwIfNoEntry: false });
    if (all === undefined && some === undefined) {
      [this.#stamp, this.#switches] = ["", nothingOff];
      return nothingOff;
    }
    const stamp = [all, some].map(s => (s === undefined ? "-" : `${s.ino} ${s.size} ${s.mtimeMs}`)).join(" ");
    if (stamp === this.#stamp) return this.#switches;
    const before = this.#switches;
    const named = some?.isFile() === true && some.size <= limits.settingsBytes ? this.#named() : null;
    this.#switches = {
      ...nothingOff,
      ...named,
      all: all?.isFile() === true ? { until: all.size === 0 ? null : all.mtimeMs } : null,
    };
    this.#stamp = stamp;
    if (this.#onOff !== null) for (const row of newRows(before, this.#switches)) this.#onOff(row);
    return this.#switches;
  }

  #named(): Pick<OffSwitches, "projects" | "sessions"> | null {
    try {
      return parseOffSwitches(readFileSync(this.#files.some, "utf8"));
    } catch {
      // The file was removed meanwhile or is not readable: it switches nothing off.
      return null;
    }
  }
}

/** The switches of `now` that `before` does not have, or has until another time; expired ones count. */
function newRows(before: OffSwitches, now: OffSwitches): OffRow[] {
  const keyOf = ({ scope, of, until }: OffRow) => [scope, of, until].join(" ");
  const known = new Set(offRows(before, Number.NEGATIVE_INFINITY).map(keyOf));
  return offRows(now, Number.NEGATIVE_INFINITY).filter(row => !known.has(keyOf(row)));
}

function isOffSwitch(
  value: unknown,
): value is { readonly until: number | null; readonly [key: string]: unknown } {
  return isObject(value) && (value["until"] === null || typeof value["until"] === "number");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller reports that Kite did not write the file so.
    return null;
  }
}
