/**
 * What Kite's folder remembers of its journal, beside the journal's own folder. Without it, a lost journal would look like
 * one that never was.
 *
 * A start writes the mark before it serves, and a stop writes it again. That is enough, because the mark tells two things.
 * Whether there was a journal is true from the first start on. How far the journal went tells people that a copy is older.
 * If the folder is still there, its manifest knows that exactly. Without the mark, other files of a daemon show that there
 * was a journal.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { diskCode, type JournalFiles, journalFiles, nodeDisk } from "./disk.ts";
import { SegmentWriter } from "./segments.ts";

export interface StoreMark {
  readonly storeId: string;
  readonly epoch: number;
  /** The last entry when the mark was written; 0: the mark is lost, and `daemon.json` has the rest. */
  readonly seq: number;
  /** Later marks keep it, since people look when that start is over. */
  readonly short?: ShortStart | undefined;
}

/** A start that found less than there had been. */
interface ShortStart {
  readonly at: number;
  /** The last entry that it found, and the core's time then, which does not count a machine's sleep. */
  readonly seq: number;
  readonly asOf: number;
  /** False: only the manifest was missing, so perhaps no entry was. */
  readonly isCertain: boolean;
}

/**
 * Replaces the mark as a whole; on a full disk the one before stays. Only for the holder of the daemon's lock. Without
 * `short` it keeps that of the mark before.
 */
export function writeStoreMark(
  { storeMark }: Pick<KitePaths, "storeMark">,
  { storeId, epoch, seq }: StoreMark,
  onTrouble: (message: string, error: unknown) => void,
  short = markIn(storeMark)?.short,
): void {
  const temporary = `${storeMark}.new`;
  try {
    rmSync(temporary, { force: true });
    const file = openSync(temporary, "wx", 0o600);
    try {
      writeSync(file, `${JSON.stringify({ storeId, epoch, seq, short })}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, storeMark);
  } catch (error) {
    onTrouble("how far the journal went could not be noted outside its folder", error);
  }
}

/** What is known of a journal of which nothing is left; `shownBy` is the file that shows that there was one. */
type LostStore = Pick<StoreMark, "epoch" | "seq"> & { readonly shownBy: string };

/** Returns what there was if nothing of the journal is left; null if there is a journal, or never was one. */
export function lostStore(paths: KitePaths): LostStore | null {
  const { epoch, seq, isGone } = journalBefore(paths);
  const shownBy = isGone ? signOfJournal(paths) : null;
  return shownBy === null ? null : { epoch, seq, shownBy };
}

/** Returns what only a daemon with a journal writes, so `kite install` does not; null if none of it is there. */
function signOfJournal(paths: KitePaths): string | null {
  const { storeMark, daemonFile, events, presence, rescue, trail } = paths;
  // `kite log --follow` makes the trail's folder, and nothing in it.
  const isSign = (path: string) => existsSync(path) && (path !== trail || readdirSync(path).length > 0);
  return [storeMark, daemonFile, events, presence, rescue, trail].find(isSign) ?? null;
}

/** Returns the line that starts a daemon when the journal is put aside. */
export function startWithout(paths: KitePaths): string {
  return signOfJournal(paths) === null ? "kite up" : "kite up --empty";
}

/** Says what is missing. */
export function lostStoreText({ journal }: KitePaths, { seq, shownBy }: LostStore): string {
  const records = seq === 1 ? "1 record" : `${seq} records`;
  const held = seq === 0 ? `${shownBy} shows that there was one` : `${journal} held ${records} or more`;
  return `the journal is missing: ${held}, and nothing of it is ${seq === 0 ? `in ${journal}` : "there"}`;
}

/** What to do about it. */
export const lostStoreAdvice =
  "put the folder back if you have it, then: kite up. To give up what it held and begin anew: kite up --empty";

/** Returns what is missing and what to do about it, or null. */
export function lostStoreProblem(paths: KitePaths): string | null {
  const lost = lostStore(paths);
  return lost === null ? null : `${lostStoreText(paths, lost)}; ${lostStoreAdvice}`;
}

/** What is known of the journal while it is not open. No token of `epoch` may come back; 0: no start is known. */
export function journalBefore({ journal, storeMark, daemonFile }: KitePaths) {
  const { epoch, seq, short } = markIn(storeMark) ?? markIn(daemonFile) ?? { epoch: 0, seq: 0 };
  const files = filesIn(journal);
  const { segments, snapshots, manifests } = files ?? noFiles;
  const isGone = files !== null && segments.length + snapshots.length + manifests.length === 0;
  const isThere = files !== null && !isGone;
  // The last segment has the epoch of the last start, and stays.
  const isOlder = isThere && files.epoch < epoch;
  return { epoch, seq, short, isGone, isOlder, hasNoEnd: isThere && seq > 0 && manifests.length === 0 };
}

/** Returns what a start at `at` lacks that found entries up to `seq`; undefined: nothing. */
export function shortStart(
  before: ReturnType<typeof journalBefore>,
  { seq, t }: { readonly seq: number; readonly t: number },
  at: number,
): ShortStart | undefined {
  const isCertain = before.isOlder || seq < before.seq;
  return isCertain || before.hasNoEnd ? { at, seq, asOf: t, isCertain } : undefined;
}

/**
 * Says that the journal is not all that there was, or returns null: before a start, and for `limits.shortStartToldMs`
 * after it. It is no damage: a start goes on with what is there. `clock` words a time.
 */
export function olderStoreText(paths: KitePaths, now: number, clock: (at: number) => string): string | null {
  const { seq, short, isOlder, hasNoEnd } = journalBefore(paths);
  const what = `the journal in ${paths.journal} `;
  const went = seq === 0 ? "" : `: the last one went to record ${seq} or further`;
  if (isOlder) return `${what}is an older copy${went}, and what came after the copy was made is missing`;
  if (hasNoEnd) return `${what}has no manifest, so records at its end may be missing`;
  if (short === undefined || now - short.at >= limits.shortStartToldMs) return null;
  const end = short.seq === 0 ? "was empty" : `ended with record ${short.seq}, of about ${clock(short.asOf)}`;
  const rest = short.isCertain ? "is missing" : "may be missing";
  return `the journal with which Kite started at ${clock(short.at)} ${end}; what came after that ${rest}`;
}

/** What to do about it. */
export const olderStoreAdvice =
  "put the newer journal back if you have it: kite down, its folder in place of the present one, kite up. Else Kite goes on with what is there";

/**
 * Makes an empty journal in place of the lost one. It goes on with a later epoch, so that no token and no cursor of
 * before can come back. The mark of what a person gave up goes. Only for the holder of the daemon's lock.
 */
export async function beginEmpty({ journal, storeMark }: KitePaths, lost: LostStore): Promise<void> {
  nodeDisk.mkdir(journal);
  const segment = await SegmentWriter.create(nodeDisk, journal, lost.epoch + 1, 1);
  segment.close();
  rmSync(storeMark, { force: true });
}

/** Returns null if there is something that cannot be read as a folder: a start says why. */
function filesIn(journal: string): JournalFiles | null {
  try {
    return journalFiles(nodeDisk, journal);
  } catch (error) {
    return diskCode(error) === "ENOENT" ? noFiles : null;
  }
}

const noFiles: JournalFiles = { segments: [], snapshots: [], manifests: [], unfinished: [], epoch: 0 };

function markIn(path: string): StoreMark | null {
  try {
    const stat = lstatSync(path);
    if (!stat.isFile() || stat.size > limits.smallFileBytes) return null;
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    const mark = typeof value === "object" ? { seq: 0, ...value } : null;
    return isStoreMark(mark) ? mark : null;
  } catch {
    // None, or damaged: it tells nothing, and the next start writes it anew.
    return null;
  }
}

function isStoreMark(value: unknown): value is StoreMark {
  if (typeof value !== "object" || value === null) return false;
  const { storeId, epoch, seq, short = null }: Partial<Record<keyof StoreMark, unknown>> = value;
  const isWhole = typeof storeId === "string" && [epoch, seq].every(Number.isSafeInteger);
  return isWhole && (short === null || isShortStart(short));
}

function isShortStart(value: unknown): value is ShortStart {
  if (typeof value !== "object" || value === null) return false;
  const { at, seq, asOf }: Partial<Record<keyof ShortStart, unknown>> = value;
  return [at, seq, asOf].every(Number.isSafeInteger);
}
