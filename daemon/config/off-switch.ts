/**
 * What `kite off` switched off, in two files of Kite's directory:
 *
 * - `off` is for everything. It is empty, or valid until its modification time: a hook client needs one look.
 * - `off.json` names projects and sessions; the daemon reads it.
 *
 * Expired entries have no effect and remain until the next write.
 */

import { lstatSync, mkdirSync, readFileSync, renameSync, type Stats, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { HookPlan } from "../../hooks/seam/plan.ts";
import { actionTraits, type HookOutcome } from "../../hooks/seam/slices.ts";
import { isSystemError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import type { ChangedFileRow, OffRow } from "../../protocol/schemas/overview.ts";
import type { Repository } from "../facts/repositories.ts";

export interface OffSwitch {
  /** Wall time in milliseconds; null: until `kite on`. */
  readonly until: number | null;
}

interface OffSwitches {
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

// Whether a worktree is its repository's own. A `.git` file or link may name any repository. So a folder from an archive
// could borrow the checks that a person trusts for the project around it.

/** Reads the filesystem: null if the file does not exist. */
interface WorktreeReader {
  text(path: string): Promise<string | null>;
  real(path: string): Promise<string | null>;
}

/** Returns a sentence if the repository does not know the worktree that names it, else null. */
export async function strangeWorktree(
  { project, worktree, gitDir }: Repository,
  reader: WorktreeReader,
): Promise<string | null> {
  const strange = `${worktree} names the repository of ${project}, which does not know it as a worktree; no checks count in it`;
  if (gitDir === null) return null;
  // A git directory in its place that shares another repository's objects is no worktree that git made.
  if (gitDir === worktree || gitDir === join(worktree, ".git"))
    return (await reader.text(join(gitDir, "commondir"))) === null ? null : strange;
  const back = await reader.text(join(gitDir, "gitdir"));
  const named = back === null ? null : resolve(gitDir, back.replace(/\n+$/, ""));
  if (named !== null && basename(named) === ".git" && (await reader.real(dirname(named))) === worktree)
    return null;
  // A submodule, or a git directory that was put elsewhere: a project of its own, whose file is in that directory.
  const isBare = /^\s*bare\s*=\s*true\s*$/im.test((await reader.text(join(gitDir, "config"))) ?? "");
  return named === null && project === gitDir && !isBare ? null : strange;
}

// Returns which of the files that Kite's commands write something else has changed. `seen/` has a copy of each, as Kite's
// commands left it or as a person last saw it. An empty copy stands for a file that did not exist. A file that differs from
// its copy was changed by no command of Kite. Without a copy nothing is known, so the daemon's start makes one.

type Paths = Pick<KitePaths, "seen" | "config" | "trusted">;

/** The setting of these files in `KitePaths`, with the longest text that counts. */
const files = {
  config: { name: "config.json", bytesMax: limits.smallFileBytes },
  trusted: { name: "trusted.json", bytesMax: limits.trustedBytes },
} as const;

export type SeenFile = keyof typeof files;
const names: readonly SeenFile[] = ["config", "trusted"];

/** Copies each file that has no copy yet. */
export function keepUnseen(paths: Paths): void {
  for (const file of names) if (textOf(copyOf(paths, file), file) === null) markSeen(paths, file);
}

/** A person has seen the file as it is now. */
export function markSeen(paths: Paths, file: SeenFile): void {
  writeCopy(paths, file, textOf(paths[file], file) ?? "");
}

/** Makes the change of one of Kite's commands in the copy, too, so that what something else changed still differs. */
export function changeSeen(paths: Paths, file: SeenFile, change: (text: string | null) => string): void {
  const copy = textOf(copyOf(paths, file), file);
  if (copy !== null) writeCopy(paths, file, change(copy === "" ? null : copy));
}

/** Returns whether something else changed the file. */
export function isChanged(paths: Paths, file: SeenFile): boolean {
  const copy = textOf(copyOf(paths, file), file);
  return copy !== null && copy !== (textOf(paths[file], file) ?? "");
}

/** Returns the text of the entries by project that a file's text has; null: it has another form. */
export type EntriesIn = (text: string) => ReadonlyMap<string, string> | null;

/** What the daemon tells of them. */
export class SeenFiles {
  readonly #paths: Paths;
  readonly #trustedIn: EntriesIn;
  readonly #onChange: (row: ChangedFileRow) => void;
  #stamp = "";
  #rows: readonly ChangedFileRow[] = [];

  /** `onChange` hears of each change when it is noticed. */
  constructor(paths: Paths, trustedIn: EntriesIn, onChange: (row: ChangedFileRow) => void) {
    this.#paths = paths;
    this.#trustedIn = trustedIn;
    this.#onChange = onChange;
  }

  /** Returns the changed files. Costs four stats while nothing changes. */
  changed(): readonly ChangedFileRow[] {
    const paths = this.#paths;
    const stamp = names.flatMap(file => [stampOf(paths[file]), stampOf(copyOf(paths, file))]).join(" ");
    if (stamp === this.#stamp) return this.#rows;
    this.#stamp = stamp;
    this.#rows = names.filter(file => isChanged(paths, file)).map(file => this.#row(file));
    for (const row of this.#rows) this.#onChange(row);
    return this.#rows;
  }

  #row(file: SeenFile): ChangedFileRow {
    const paths = this.#paths;
    const stat = statOf(paths[file]);
    const row = { file: files[file].name, changedAt: stat === undefined ? null : Math.round(stat.mtimeMs) };
    if (file !== "trusted") return { ...row, lost: [], gained: [] };
    const [before, now] = [copyOf(paths, file), paths[file]].map(
      path => this.#trustedIn(textOf(path, file) ?? "") ?? new Map<string, string>(),
    );
    const missing = (of: typeof now, from: typeof now) =>
      [...(of ?? [])].filter(([project, text]) => from?.get(project) !== text).map(([project]) => project);
    const max = limits.changedProjectsMax;
    return { ...row, lost: missing(before, now).slice(0, max), gained: missing(now, before).slice(0, max) };
  }
}

function copyOf({ seen }: Paths, file: SeenFile): string {
  return join(seen, files[file].name);
}

/** Undefined if nothing is there, or the system does not let this user look: `kite doctor` says who may not open which folder. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return undefined;
  }
}

function stampOf(path: string): string {
  const stat = statOf(path);
  return stat === undefined ? "-" : `${stat.ino} ${stat.size} ${stat.mtimeMs}`;
}

/** Returns the file's text; null if it is missing. What is no file, is too long, or cannot be read counts as empty. */
function textOf(path: string, file: SeenFile): string | null {
  const stat = statOf(path);
  if (stat === undefined) return null;
  if (!stat.isFile() || stat.size > files[file].bytesMax) return "";
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function writeCopy(paths: Paths, file: SeenFile, text: string): void {
  const copy = copyOf(paths, file);
  mkdirSync(paths.seen, { recursive: true, mode: 0o700 });
  writeFileSync(`${copy}.${process.pid}`, text, { mode: 0o600 });
  renameSync(`${copy}.${process.pid}`, copy);
}
