/**
 * What `kite off` switched off. Two files of Kite's directory say so:
 *
 * - `off` stands for everything. It is empty, or until the time it carries as its own: one look tells a hook client.
 * - `off.json` names projects and sessions; the daemon reads it.
 *
 * What has passed counts for nothing and stays where it is until somebody writes.
 */
import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { HookPlan } from "../../hooks/seam/plan.ts";
import { limits } from "../../protocol/limits.ts";

export interface Silence {
  /** Wall time in milliseconds; null: until `kite on`. */
  readonly until: number | null;
}

export interface Silenced {
  readonly all: Silence | null;
  /** By directory: what is in it is silent. */
  readonly projects: ReadonlyMap<string, Silence>;
  /** By id; `name` is what people called it then. */
  readonly sessions: ReadonlyMap<string, Silence & { readonly name: string | null }>;
}

export const nothingSilenced: Silenced = { all: null, projects: new Map(), sessions: new Map() };

export function silenceFiles(home: string): { readonly all: string; readonly some: string } {
  return { all: join(home, "off"), some: join(home, "off.json") };
}

/** Whether it still holds at `now`, wall time in milliseconds. */
export function holds(silence: Silence | null | undefined, now: number): boolean {
  return silence !== null && silence !== undefined && (silence.until === null || silence.until > now);
}

/** Whether an event of this session, which works in these directories, is to be answered with nothing. */
export function isSilenced(
  silenced: Silenced,
  who: { readonly session: string | null; readonly places: readonly string[] },
  now: number,
): boolean {
  if (holds(silenced.all, now)) return true;
  if (who.session !== null && holds(silenced.sessions.get(who.session), now)) return true;
  for (const [directory, silence] of silenced.projects) {
    const isIn = who.places.some(place => place === directory || place.startsWith(`${directory}/`));
    if (isIn && holds(silence, now)) return true;
  }
  return false;
}

/** The plan with nothing to wait for and nothing to say. What begins and ends still does: the pictures stay true. */
export function silent(plan: HookPlan): HookPlan {
  const actions = plan.actions.filter(
    ({ do: act }) => !["lock", "guard", "look", "inbox", "notes", "wake"].includes(act),
  );
  return { ...plan, actions, answer: () => ({ output: "" }) };
}

/** The contents of `off.json`; null where it is not what Kite writes. */
export function parseSilenced(text: string): Pick<Silenced, "projects" | "sessions"> | null {
  const read: unknown = parsed(text);
  if (!isObject(read) || !isObject(read["projects"]) || !isObject(read["sessions"])) return null;
  const projects = new Map<string, Silence>();
  const sessions = new Map<string, Silence & { readonly name: string | null }>();
  for (const [directory, value] of Object.entries(read["projects"])) {
    if (!isSilence(value)) return null;
    projects.set(directory, { until: value.until });
  }
  for (const [id, value] of Object.entries(read["sessions"])) {
    if (!isSilence(value)) return null;
    sessions.set(id, { until: value.until, name: typeof value["name"] === "string" ? value["name"] : null });
  }
  return { projects, sessions };
}

/** Reads both files when they changed since they were read last. What cannot be read silences nothing. */
export class SilenceReader {
  readonly #files: ReturnType<typeof silenceFiles>;
  #stamp = "";
  #silenced = nothingSilenced;

  constructor(home: string) {
    this.#files = silenceFiles(home);
  }

  /** Costs two looks at the directory's entries while nothing changes. */
  read(): Silenced {
    const all = lstatSync(this.#files.all, { throwIfNoEntry: false });
    const some = lstatSync(this.#files.some, { throwIfNoEntry: false });
    const stamp = [all, some].map(s => (s === undefined ? "-" : `${s.ino} ${s.size} ${s.mtimeMs}`)).join(" ");
    if (stamp === this.#stamp) return this.#silenced;
    const named = some?.isFile() === true && some.size <= limits.settingsBytes ? this.#named() : null;
    this.#silenced = {
      ...nothingSilenced,
      ...named,
      all: all?.isFile() === true ? { until: all.size === 0 ? null : all.mtimeMs } : null,
    };
    this.#stamp = stamp;
    return this.#silenced;
  }

  #named(): Pick<Silenced, "projects" | "sessions"> | null {
    try {
      return parseSilenced(readFileSync(this.#files.some, "utf8"));
    } catch {
      // Removed since it was looked at, or not ours to read: then it says nothing.
      return null;
    }
  }
}

function isSilence(
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
    // Said by the caller: it is not what Kite writes.
    return null;
  }
}
