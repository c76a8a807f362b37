/**
 * Takes the caller's own part out of the files of a shared worktree, and brings it back.
 *
 * Invariants: no byte of another changes. Before a file is written, a version has what it was, and the note of this call names
 * that version. So whenever the process ends, the note brings back all that was taken, and the same call goes on with the rest.
 */

import { createHash, randomBytes } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { VersionRow } from "../../protocol/schemas/rescue.ts";
import { plain } from "../../protocol/text.ts";
import { ProgramFailed } from "../context/programs.ts";
import { Refused } from "../context/with-daemon.ts";
import { editFile, failureOf } from "../rescue/restore.ts";
import { type Asker, NotWritten, onDisk } from "../rescue/versions.ts";
import type { CallerGit } from "./caller-git.ts";
import { checkoutOf, type Entry, entryOf, putEntries } from "./index-commit.ts";
import { type NotedFile, type OwnNote, saveNote } from "./own-notes.ts";
import { hasState, noFile, removeEmptyFolders } from "./own-tree.ts";
import type { FileState, OwnFile, OwnPart } from "./part.ts";

/** What became of one file. */
export interface TakenFile {
  readonly file: string;
  /** `left`: it has all that it had, as `why` says, or what it mixes of the caller and others. */
  readonly is: "taken" | "left";
  readonly why: string | null;
  /** What of the caller's stays in it, since others changed it, or it changed what others wrote. */
  readonly mixed: OwnFile["mixed"];
}

/** What a call that takes files back works with. */
export interface Taking {
  readonly asker: Pick<Asker, "client" | "acting">;
  readonly git: CallerGit;
  /** Reads the part anew: a file may go on while another is written. */
  readonly part: () => Promise<OwnPart>;
  readonly note: OwnNote;
  readonly waitMs: number;
  /** Called before a file is taken back, with its own part as it is then. */
  readonly beforeTaking?: (one: OwnFile) => void;
}

/** Looks at files that went on meanwhile. */
const roundsMax = 5;

/** Takes the part back. Throws `Refused` if it cannot be told, and `ProgramFailed`. */
export async function takeBack(taking: Taking): Promise<readonly TakenFile[]> {
  const done = new Map<string, TakenFile>();
  for (let round = 0; round < roundsMax; round += 1) {
    const part = await taking.part();
    const left = part.files.filter(one => done.get(one.file)?.is !== "left");
    const open = left.filter(one => one.isSeen && one.rest !== null);
    const staging = await stagingOf(taking.git, part, open);
    let isAgain = false;
    for (const one of open) {
      const why = await taken(taking, part, one, staging);
      isAgain ||= why === wentOn;
      const isLast = round + 1 === roundsMax;
      if (why === null) done.set(one.file, { file: one.file, is: "taken", why, mixed: one.mixed });
      else if (why !== wentOn || isLast)
        done.set(one.file, { file: one.file, is: "left", why, mixed: one.mixed });
    }
    await restage(taking.git, part.worktree, taking.note.files);
    for (const one of left) if (!open.includes(one)) noteLeft(done, one);
    if (!isAgain) break;
  }
  return [...done.values()].sort((a, b) => (a.file < b.file ? -1 : 1));
}

/** What another wrote into the file since it was looked at is seen the next time. */
const wentOn = "others go on writing it; try again";

/** Returns the paths of the files that were taken back. */
export function takenIn(files: readonly TakenFile[]): readonly string[] {
  return files.flatMap(({ file, is }) => (is === "taken" ? [file] : []));
}

/** Why a file stays that nobody named and that may be anybody's. */
export const unseen = "Kite saw nobody write it; name it, if it is yours";

function noteLeft(done: Map<string, TakenFile>, { file, mixed, isSeen }: OwnFile): void {
  if (done.has(file)) return;
  if (!isSeen) done.set(file, { file, is: "left", why: unseen, mixed });
  else if (mixed.length > 0) done.set(file, { file, is: "left", why: null, mixed });
}

/** A path, what it is and what it becomes. */
interface Step {
  readonly file: string;
  readonly now: FileState;
  readonly next: FileState;
}

/** The steps of a file; what was renamed first comes back under its old name. */
function stepsOf({ file, was, now, base, rest, isWhole }: OwnFile): readonly Step[] {
  if (was === null || !isWhole) return [{ file, now, next: rest ?? now }];
  return [
    { file: was, now: noFile, next: base },
    { file, now, next: noFile },
  ];
}

/** Takes one file back; returns why it stays, or null. */
async function taken(
  taking: Taking,
  { worktree }: OwnPart,
  one: OwnFile,
  staging: Staging,
): Promise<string | null> {
  taking.beforeTaking?.(one);
  for (const step of stepsOf(one)) {
    const why = await made(taking, worktree, step, staging);
    if (why !== null) return why;
  }
  return null;
}

/** Makes a step, noted before; returns why it was not made, or null. */
async function made(
  taking: Taking,
  worktree: string,
  { file, now, next }: Step,
  staging: Staging,
): Promise<string | null> {
  const { asker, note, waitMs } = taking;
  const path = join(worktree, file);
  if (next !== null && next.mode !== null && next.content === null) return "it is longer than Kite writes";
  const write = (before: VersionRow | null) => {
    if (!isKept(now, before)) throw new NotWritten(wentOn);
    const stat = lstatSync(path, { throwIfNoEntry: false });
    const isLink = stat?.isSymbolicLink() === true;
    const noted: NotedFile = {
      file,
      version: before?.version ?? null,
      link: isLink ? (now?.content?.toString("latin1") ?? null) : null,
      mode: stat === undefined || isLink ? null : stat.mode & 0o777,
      wrote: stampOf(next),
      staged: staging.get(file) ?? null,
    };
    saveNote({ ...note, files: [...note.files.filter(old => old.file !== file), noted] }, note);
    put(worktree, path, now, next, note.id);
  };
  // No version has a link: the note itself has where it leads.
  if (now?.mode === "120000" || (now?.mode === null && next?.mode === "120000"))
    return failureOf(() => write(null));
  return editAlone(asker, path, write, waitMs);
}

/** Changes a file as an edit that has its lock for that moment alone; returns why it did not, or null. */
export async function editAlone(
  asker: Pick<Asker, "client" | "acting">,
  path: string,
  write: (before: VersionRow | null) => void,
  waitMs: number,
): Promise<string | null> {
  try {
    const { error } = await editFile(asker, { path, version: null, write }, waitMs);
    // An edit has its lock until the end of the turn, and this one is over.
    if (asker.acting !== null) await asker.client.request("file_unlock", { ...asker.acting, file: path });
    return error;
  } catch (error) {
    if (error instanceof Refused) return error.message;
    throw error;
  }
}

/** Whether the version has what the file was when it was looked at. */
function isKept(now: FileState | null, before: VersionRow | null): boolean {
  if (now === null || now.mode === null || now.mode === "120000") return before === null;
  return now.content !== null && before?.hash === hashOf(now.content);
}

function hashOf(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Names a state of a file: `100644` and its content's hash; null: there is no file. */
export function stampOf(state: FileState | null): string | null {
  if (state === null || state.mode === null || state.content === null) return null;
  return `${state.mode} ${hashOf(state.content)}`;
}

/** Gives a path another state for a note, if it still has the one that it had. Nobody sees a part of it. Throws `NotWritten`. */
export function put(
  root: string,
  path: string,
  was: FileState | null,
  next: FileState | null,
  id: string,
): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!hasState(path, was) || (stat?.isDirectory() === true && next?.mode !== null))
    throw new NotWritten(wentOn);
  if (next === null || next.mode === null || next.content === null) {
    if (stat !== undefined) unlinkSync(path);
    removeEmptyFolders(root, dirname(path));
    return;
  }
  mkdirSync(dirname(path), { recursive: true });
  const temporary = join(dirname(path), `.kite-${id}-${randomBytes(6).toString("hex")}`);
  try {
    if (next.mode === "120000") symlinkSync(next.content, temporary);
    else {
      writeFileSync(temporary, next.content, { flag: "wx", mode: 0o666 });
      const old = stat?.isFile() === true ? stat.mode : lstatSync(temporary).mode;
      chmodSync(temporary, bitsOf(old, next.mode));
    }
    if (!hasState(path, was)) throw new NotWritten(wentOn);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** The permission bits of a file that git has as executable or not. */
function bitsOf(old: number, mode: string): number {
  const bits = old & 0o777;
  return mode === "100755" ? bits | ((bits & 0o444) >> 2) : bits & ~0o111;
}

// The index: what of a file the caller staged goes with its lines.

/** What is staged of a file, and what will be. */
type Staging = ReadonlyMap<string, NonNullable<NotedFile["staged"]>>;

/** Returns for each file what is to be staged of what is left of it. What is staged besides the caller's part stays. */
async function stagingOf(git: CallerGit, { head }: OwnPart, files: readonly OwnFile[]): Promise<Staging> {
  const changes = new Map<string, NonNullable<NotedFile["staged"]>>();
  const names = files.flatMap(({ file, was, isWhole }) => (was === null || !isWhole ? [file] : [was, file]));
  if (names.length === 0 || head === null) return changes;
  const [staged, committed] = [await stagedOf(git, names), await committedOf(git, head, names)];
  for (const one of files) {
    for (const { file, now, next } of stepsOf(one)) {
      const [from, base] = [staged.get(file) ?? absent(file), committed.get(file) ?? absent(file)];
      if (from === "unmerged" || isSameEntry(from, base)) continue;
      if (one.isWhole || isSameEntry(from, await entryOf(git, file, one.own ?? noFile)))
        changes.set(file, { from, to: base });
      else if (isSameEntry(from, await entryOf(git, file, now)))
        changes.set(file, { from, to: await entryOf(git, file, next) });
    }
  }
  return changes;
}

/** Stages what is left of the files that were taken back, also by a call that was killed before it did. */
export async function restage(git: CallerGit, worktree: string, files: readonly NotedFile[]): Promise<void> {
  const due = files.filter(({ staged }) => staged !== null);
  const now = await stagedOf(
    git,
    due.map(({ file }) => file),
  );
  const entries: Entry[] = [];
  for (const { file, staged, wrote } of due) {
    const here = now.get(file) ?? absent(file);
    if (staged === null || here === "unmerged" || !isSameEntry(here, staged.from)) continue;
    if (stampOf(stateAt(join(worktree, file))) === wrote) entries.push(staged.to);
  }
  if (entries.length > 0) await stage(git, entries);
}

/** What stands at a path. */
export function stateAt(path: string): FileState {
  const disk = onDisk(path);
  if (disk.is === "file")
    return { content: disk.content, mode: (disk.mode & 0o100) === 0 ? "100644" : "100755" };
  const isLink = disk.is === "odd" && disk.what === "a link";
  return isLink ? { content: readlinkSync(path, "buffer"), mode: "120000" } : noFile;
}

/** Removes what a call that was killed left beside the file that it wrote. */
export function sweepBeside({ id, worktree, files }: OwnNote): void {
  const last = files.at(-1);
  if (last === undefined) return;
  const folder = dirname(join(worktree, last.file));
  for (const name of existsSync(folder) ? readdirSync(folder) : [])
    if (name.startsWith(`.kite-${id}-`)) rmSync(join(folder, name), { force: true });
}

/** Writes entries of the shared index as soon as no other program writes it. Throws `ProgramFailed`. */
export async function stage(git: CallerGit, entries: readonly Entry[]): Promise<void> {
  const { index } = await checkoutOf(git);
  for (const until = performance.now() + indexMs; ; ) {
    try {
      return await putEntries(git, index, entries);
    } catch (error) {
      const isLocked = error instanceof ProgramFailed && error.output.includes("index.lock");
      if (!isLocked || performance.now() > until) throw error;
      await pause(indexLookMs);
    }
  }
}

/** Another git command has the index for so long at most, in milliseconds, and is looked for so often. */
const indexMs = 10_000;
const indexLookMs = 50;

function absent(path: string): Entry {
  return { path, mode: null, blob: "" };
}

export function isSameEntry(a: Entry, b: Entry): boolean {
  return a.mode === b.mode && a.blob === b.blob;
}

/** Paths of one command. */
const namesMax = 500;

/** Returns what the index has of the files. */
export async function stagedOf(
  git: CallerGit,
  files: readonly string[],
): Promise<ReadonlyMap<string, Entry | "unmerged">> {
  const found = new Map<string, Entry | "unmerged">();
  for (let at = 0; at < files.length; at += namesMax) {
    const names = files.slice(at, at + namesMax);
    const words = ["--literal-pathspecs", "ls-files", "--stage", "-z", "--", ...names];
    for (const line of (await git.read(words)).toString().split("\0")) {
      const [, mode = "", blob = "", level, path = ""] = /^(\d{6}) ([0-9a-f]+) (\d)\t(.*)$/s.exec(line) ?? [];
      if (level !== undefined) found.set(path, level === "0" ? { path, mode, blob } : "unmerged");
    }
  }
  return found;
}

async function committedOf(
  git: CallerGit,
  commit: string,
  files: readonly string[],
): Promise<ReadonlyMap<string, Entry>> {
  const found = new Map<string, Entry>();
  for (let at = 0; at < files.length; at += namesMax) {
    const names = files.slice(at, at + namesMax);
    const words = ["--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", ...names];
    for (const line of (await git.read(words)).toString().split("\0")) {
      const [, mode, blob = "", path = ""] = /^(\d{6}) blob ([0-9a-f]+)\t(.*)$/s.exec(line) ?? [];
      if (mode !== undefined) found.set(path, { path, mode, blob });
    }
  }
  return found;
}

/** Says why a file stays, for people. */
export function whyLeft({ file, why, mixed }: TakenFile): string {
  const name = plain(file);
  if (why !== null) return `${name} stays as it is: ${why}.`;
  return mixedText(name, mixed);
}

/** Says what of a file stays since it is mixed. */
export function mixedText(name: string, mixed: OwnFile["mixed"]): string {
  const who = [...new Set(mixed.flatMap(one => one.who))].map(one => plain(one)).join(" and ");
  const lines = mixed.reduce<number | null>(
    (sum, one) => (sum === null || one.lines === null ? null : sum + one.lines),
    0,
  );
  const what = lines === null ? "it" : lines === 1 ? "1 line" : `${lines} lines`;
  const why = `you and ${who} changed what the other wrote`;
  const stays = lines === 1 ? "stays" : "stay";
  return lines === null ? `${name} stays as it is: ${why}.` : `${what} of ${name} ${stays}: ${why} there.`;
}
