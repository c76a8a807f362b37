/**
 * Notes of what a caller's commands did with its own part: files below Kite's directory, one for each call. A note names what
 * was taken before it is taken, so that the call can be undone, and goes on after its process was killed.
 */

import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { isAlive, processAnchor } from "../../daemon/facts/processes.ts";
import { isSystemError } from "../../protocol/errors.ts";
import type { Entry } from "./index-commit.ts";

/** A file before it was taken back. */
export interface NotedFile {
  readonly file: string;
  /** The version that has it; null: it was a link, or there was no file. */
  readonly version: string | null;
  /** Where the link led. */
  readonly link: string | null;
  /** Its permission bits; null: it was a link, or there was no file. */
  readonly mode: number | null;
  /** What was written: mode and hash; null: the file was removed. */
  readonly wrote: string | null;
  /** What was staged of it before and after; null: that did not change. */
  readonly staged: { readonly from: Entry; readonly to: Entry } | null;
}

/** Where a part moves to. */
export interface NotedMove {
  readonly dir: string;
  readonly branch: string;
  readonly commit: string;
}

export interface OwnNote {
  /** `u-3`. */
  readonly id: string;
  /** Wall time in milliseconds. */
  readonly at: number;
  readonly worktree: string;
  /** Whose part it is, as `ownerKey` names it. */
  readonly owner: string;
  /** All that the call was to do is done. */
  isDone: boolean;
  /** The part was brought back. */
  isBack: boolean;
  files: readonly NotedFile[];
  readonly move: NotedMove | null;
  /** The process of the call. */
  process: { readonly pid: number; readonly startTime: string } | null;
  /** The call that this one goes on with. */
  readonly after: string | null;
  /** The folder with the notes. */
  readonly folder: string;
}

/** Notes that are kept. */
const notesMax = 500;

/** Begins a note. Each call has one of its own. */
export function beginNote(
  folder: string,
  fields: Pick<OwnNote, "at" | "worktree" | "owner" | "after"> & { readonly move?: NotedMove },
): OwnNote {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const numbers = numbersIn(folder);
  for (const old of numbers.slice(0, Math.max(0, numbers.length - notesMax)))
    rmSync(join(folder, `u-${old}.json`), { force: true });
  for (let n = (numbers.at(-1) ?? 0) + 1; ; n += 1) {
    const own = { id: `u-${n}`, isDone: false, isBack: false, files: [], folder };
    const note: OwnNote = { move: null, ...fields, ...own, process: processAnchor(process.pid) };
    try {
      writeFileSync(join(folder, `${note.id}.json`), JSON.stringify(note), { flag: "wx", mode: 0o600 });
      return note;
    } catch (error) {
      if (!(isSystemError(error) && existsSync(join(folder, `${note.id}.json`)))) throw error;
    }
  }
}

/** Puts the fields into the note, and the note on the disk. */
export function saveNote(fields: Partial<OwnNote>, note: OwnNote): void {
  Object.assign(note, fields);
  const path = join(note.folder, `${note.id}.json`);
  const fd = openSync(`${path}.new`, "w", 0o600);
  try {
    writeFileSync(fd, JSON.stringify(note));
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(`${path}.new`, path);
}

/** Goes on with the note of a call that was killed. */
export function adoptNote(note: OwnNote): OwnNote {
  saveNote({ process: processAnchor(process.pid) }, note);
  return note;
}

/** Forgets a note of a call that did nothing. */
export function dropNote({ folder, id }: OwnNote): void {
  rmSync(join(folder, `${id}.json`), { force: true });
}

/** Returns the note of this name; null: there is none. */
export function noteNamed(folder: string, id: string): OwnNote | null {
  if (!/^u-\d{1,9}$/.test(id)) return null;
  try {
    return { ...(JSON.parse(readFileSync(join(folder, `${id}.json`), "utf8")) as OwnNote), folder };
  } catch (error) {
    // A process that was killed as it began left an empty one.
    if (isSystemError(error) || error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Returns the notes of an owner's calls, the latest first. */
export function notesOf(folder: string, owner: string): readonly OwnNote[] {
  return numbersIn(folder)
    .toReversed()
    .flatMap(n => noteNamed(folder, `u-${n}`) ?? [])
    .filter(note => note.owner === owner);
}

/** Whether the call ended before it was done. */
export function isBroken({ isDone, process: by }: OwnNote): boolean {
  return !isDone && (by === null || !isAlive(by));
}

function numbersIn(folder: string): readonly number[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .flatMap(name => /^u-(\d{1,9})\.json$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}
