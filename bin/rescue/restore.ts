/** Brings back what a wipe took: whole where the file did not go on, else by a merge; never over newer work. */

import { join } from "node:path";
import type { Command } from "commander";
import { LocalError } from "../../client/errors.ts";
import { isSystemError, systemErrorText } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { VersionRow, WipedRow, WipeRow } from "../../protocol/schemas/rescue.ts";
import { plain } from "../../protocol/text.ts";
import { namesBefore } from "../context/project.ts";
import { ask, Refused, rowsOf } from "../context/with-daemon.ts";
import { bytesOf, changed, leftByWipe, type Texts } from "./texts.ts";
import {
  type Asker,
  type Commits,
  contentOf,
  type OnDisk,
  onDisk,
  readerOf,
  replaceFile,
  versionNamed,
  versionsAt,
} from "./versions.ts";

// Writes a file as an edit of whoever asks. Before this process writes, the daemon asks what it would ask of an edit,
// locks the file, and keeps what it has. If this process ends meanwhile, the daemon ends the edit.

/** A file to write, if it is still what it was. */
interface Placing {
  /** Absolute and real. */
  readonly path: string;
  readonly was: OnDisk;
  readonly content: Buffer;
  readonly mode: number;
  /** The version that the content comes from. */
  readonly version: Pick<VersionRow, "version" | "path">;
}

/** A change of a file that its caller makes. */
interface Edit {
  /** Absolute and real. */
  readonly path: string;
  /** The version that it brings back; null: none. */
  readonly version: Pick<VersionRow, "version" | "path"> | null;
  /** Makes it. `before` is the version of what the file was; null: there was no file. */
  readonly write: (before: VersionRow | null) => void;
}

interface Placed {
  /** The version that has what the file was; null: there was no file. */
  readonly before: string | null;
  /** The version that has what was written; null: it is not kept. */
  readonly version: string | null;
  /** Why nothing was written; null: it was. */
  readonly error: string | null;
}

/** What a person typed for `--wait`. */
export interface WaitFlag {
  readonly wait: string;
}

/** Adds the option that says how long to wait for locks. */
export function addWait(command: Command): Command {
  const says = `how long to wait for the file's lock; 0: not at all; at most ${limits.waitMaxMs / 1000}`;
  return command.option("-w, --wait <seconds>", says, `${limits.waitMs / 1000}`);
}

/** Returns how long to wait for locks, in milliseconds, or a sentence that says how `--wait` is typed. */
export function waitOf({ wait }: WaitFlag): number | string {
  const most = limits.waitMaxMs / 1000;
  const seconds = /^\d+(\.\d+)?$/.test(wait) ? Number(wait) : -1;
  if (seconds >= 0 && seconds <= most) return Math.round(seconds * 1000);
  return `--wait takes seconds from 0 to ${most}, not ${wait}`;
}

/** Writes the file. Throws `Refused` before anything is written. */
export function writeBack(
  asker: Pick<Asker, "client" | "acting">,
  { path, was, content, mode, version }: Placing,
  waitMs: number,
): Promise<Placed> {
  return editFile(asker, { path, version, write: () => replaceFile(path, was, content, mode) }, waitMs);
}

/** Changes a file as an edit of whoever asks. Throws `Refused` before anything is changed, and what `write` throws of its own. */
export async function editFile(
  { client, acting }: Pick<Asker, "client" | "acting">,
  { path, version, write }: Edit,
  waitMs: number,
): Promise<Placed> {
  const actor = acting ?? {};
  const named = version === null ? {} : { version: version.version };
  const into = version?.path === path ? {} : { into: path };
  const begun = await ask(client, "restore_begin", { ...actor, ...named, ...into, waitMs });
  const error =
    begun.path === path
      ? failureOf(() => write(begun.before))
      : `${plain(path)} is a link now, or lies behind one`;
  const end = { ...actor, restore: begun.restore, wrote: error === null };
  const { version: kept } = await ask(client, "restore_end", end);
  return { before: begun.before?.version ?? null, version: kept?.version ?? null, error };
}

/** Writes; returns why it could not, or null. */
export function failureOf(write: () => void): string | null {
  try {
    write();
    return null;
  } catch (error) {
    if (error instanceof LocalError) return error.message;
    if (isSystemError(error)) return systemErrorText(error);
    throw error;
  }
}

/** How kept work comes back. */
interface How {
  /** The directory in which files come back, instead of where they were; absolute and real. */
  readonly into: string | null;
  /** The kept version takes the place of all that a file has now. */
  readonly whole: boolean;
  /** Conflicts are written, with git's marks. */
  readonly marks: boolean;
  /** How long to wait for the locks, in milliseconds. */
  readonly waitMs: number;
}

/** The programs that comparing takes; `texts` null: git is not installed. */
export interface Tools {
  readonly texts: Texts | null;
  readonly commits: Commits;
}

/**
 * What became of one file. `restored`: it has the kept version. `merged`: it has what it had and the kept work.
 * `marked`: it has both, with marks of conflicts. `same`: it had the kept work already. `left`: nothing was written, as
 * `why` says.
 */
export interface RestoredFile {
  readonly file: string;
  /** Where it is now. */
  readonly path: string;
  /** The version that came back; null: there is none. */
  readonly version: string | null;
  readonly is: "restored" | "merged" | "marked" | "same" | "left";
  readonly why: string | null;
  /** Places that are in conflict. */
  readonly conflicts: number;
  /** The version that has what the file had before; null: it was not there, or nothing was written. */
  readonly before: string | null;
  readonly lines: number | null;
}

/** Returns the wipe of this name that the asker may see; a version (`v-12`) counts as one of its file. Throws `Refused`. */
export async function wipeNamed(asker: Asker, name: string): Promise<WipeRow> {
  if (/^v-\d+$/.test(name)) return asWipe(await versionNamed(asker, name));
  const wipes = await rowsOf(asker.client, "wipes", readerOf(asker));
  const found = wipes.find(({ wipe }) => wipe === name);
  if (found !== undefined) return found;
  const error = `Kite knows no wipe ${name}; kite rescue lists them`;
  throw new Refused({ ok: false, code: "unknown_version", error });
}

function asWipe({ version, path, file, worktree, project, by, at }: VersionRow): WipeRow {
  const lost = {
    path,
    file,
    version,
    writers: by === null ? [] : [by],
    lines: null,
    how: "reverted",
  } as const;
  return { wipe: version, project, worktree, by: null, command: "", at, files: [lost], more: 0 };
}

/** Returns the files of a wipe that a person means: all, one, or those below a directory. Throws `Refused`. */
export async function filesOf(
  asker: Asker,
  wipe: WipeRow,
  file: string | null,
): Promise<readonly WipedRow[]> {
  if (file === null) return wipe.files;
  const names = await namesBefore(asker.cwd, file);
  const found = wipe.files.filter(
    one => one.file === file || names.some(name => one.path === name || one.path.startsWith(`${name}/`)),
  );
  if (found.length > 0) return found;
  const error = `${wipe.wipe} wiped no file ${file}; kite rescue lists what it wiped`;
  throw new Refused({ ok: false, code: "unknown_version", error });
}

/** Brings the files back, one after the other: what is refused of one holds no other back. */
export async function restore(
  asker: Asker,
  tools: Tools,
  wipe: WipeRow,
  files: readonly WipedRow[],
  how: How,
): Promise<readonly RestoredFile[]> {
  const done: RestoredFile[] = [];
  for (const file of files) {
    const planned = await plan(asker, tools, wipe, file, how);
    done.push("placing" in planned ? await placed(asker, planned, how.waitMs) : planned);
  }
  return done;
}

async function placed(asker: Asker, { row, placing }: Planned, waitMs: number): Promise<RestoredFile> {
  try {
    const { error, before } = await writeBack(asker, placing, waitMs);
    return error === null ? { ...row, before } : { ...row, is: "left", why: error };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { ...row, is: "left", why: error.message };
  }
}

interface Planned {
  readonly row: RestoredFile;
  readonly placing: Placing;
}

async function plan(
  asker: Asker,
  tools: Tools,
  wipe: WipeRow,
  wiped: WipedRow,
  { into, whole, marks }: How,
): Promise<Planned | RestoredFile> {
  const path = into === null ? wiped.path : join(into, wiped.file);
  const row = {
    file: wiped.file,
    path,
    version: wiped.version,
    before: null,
    conflicts: 0,
    lines: wiped.lines,
  };
  const left = (why: string, conflicts = 0): RestoredFile => ({ ...row, is: "left", why, conflicts });
  const rows = await versionsAt(asker, wiped.path, wipe.worktree);
  const version = rows.find(one => one.version === wiped.version);
  if (version === undefined) return left("Kite kept no version of it");
  const kept = await contentOf(version);
  if (kept === null) return left(`the content of ${version.version} is no longer on the disk`);
  const disk = onDisk(path);
  const now = bytesOf(disk);
  if (now === null || disk.is === "odd")
    return left(
      `it is ${disk.is === "odd" ? disk.what : "something else"} now; move that away, or use --into DIR`,
    );
  if (disk.is === "file" && now.equals(kept)) return { ...row, is: "same", why: null };
  const placing = (content: Buffer, mode: number): Placing => ({ path, was: disk, content, mode, version });
  const asItWas = { placing: placing(kept, version.mode) };
  if (disk.is === "absent") return { row: { ...row, is: "restored", why: null }, ...asItWas };
  if (into !== null) return left(`${path} is there already, with another content`);
  if (whole) return { row: { ...row, is: "restored", why: null }, ...asItWas };
  const before = await leftOf(tools, wipe, wiped, version, rows);
  const labels = { now: wiped.file, other: version.version };
  const outcome = await changed(tools.texts, now, [{ before, after: kept }], labels);
  switch (outcome.is) {
    case "same":
      return { ...row, is: "same", why: null };
    case "whole":
      return { row: { ...row, is: "restored", why: null }, ...asItWas };
    case "merged":
      return { row: { ...row, is: "merged", why: null }, placing: placing(outcome.content, modeOf(disk)) };
    case "conflict": {
      const { conflicts, marked } = outcome;
      if (marks)
        return {
          row: { ...row, is: "marked", why: null, conflicts },
          placing: placing(marked, modeOf(disk)),
        };
      return left(conflictText(conflicts), conflicts);
    }
    case "unmerged":
      return left(`${outcome.why}; --whole puts ${version.version} in its place, --into DIR beside it`);
  }
}

/** What the file had right after the wipe; null: nobody knows. */
async function leftOf(
  { commits }: Tools,
  wipe: WipeRow,
  { how }: WipedRow,
  version: VersionRow,
  rows: readonly VersionRow[],
): Promise<Buffer | null> {
  const left = leftByWipe(rows, version, wipe);
  const content = left === null ? null : await contentOf(left);
  return content ?? (how === "changed" ? null : await commits.content(version.base, version));
}

export function conflictText(conflicts: number): string {
  const places = conflicts === 1 ? "1 place" : `${conflicts} places`;
  return (
    `the file went on since and ${places} would be in conflict; --conflicts writes them with marks, --whole puts the kept ` +
    "version in its place, --into DIR beside it"
  );
}

export function modeOf(disk: OnDisk): number {
  return disk.is === "file" ? disk.mode : 0o644;
}
