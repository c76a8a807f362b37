/** Checks Kite's files (journal, space, logs), and requests that failed by a bug. */

import { constants, existsSync, lstatSync, opendirSync, readdirSync, statfsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { readPersonToken } from "../../daemon/instance/socket.ts";
import { inspectJournal } from "../../daemon/journal/remains.ts";
import {
  lostStore,
  lostStoreAdvice,
  lostStoreText,
  olderStoreAdvice,
  olderStoreText,
  startWithout,
} from "../../daemon/journal/store-mark.ts";
import { fileName, trailFiles } from "../../daemon/trail/line.ts";
import { isSystemError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import type { StatsReply } from "../../protocol/schemas/daemon.ts";
import { shellArgument } from "../../protocol/text.ts";
import type { AskPerson } from "../context/person.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { exitCodes } from "../context/with-daemon.ts";
import { damageTexts } from "../rescue/shown.ts";
import { bytes, clock, counted } from "../view/text.ts";
import { damaged, type OddFile, oddFile, oddFolder } from "./odd-files.ts";
import { oddJournalFile, repair, unwritableJournal } from "./repair.ts";
import {
  type Advice,
  advise,
  aside,
  type Check,
  FixFailed,
  fail,
  ok,
  restart,
  runLines,
  warn,
} from "./results.ts";

/** Doctor warns below this much free space, in bytes. */
const freeMin = 64 * 1024 * 1024;

/** `isRunning`: a daemon answers, which writes the journal and holds all of it in memory. */
export function checkJournal(world: ProcessContext, isRunning: boolean): Check {
  const { paths } = world;
  const check = "journal";
  const stat = lstatSync(paths.journal, { throwIfNoEntry: false });
  const lost = lostStore(paths);
  if (lost !== null) return fail(check, lostStoreText(paths, lost), lostStoreAdvice);
  if (stat === undefined) return ok(check, "none yet");
  if (!stat.isDirectory()) {
    const detail = `${paths.journal} is not a folder, so the daemon stores nothing`;
    return fail(check, detail, advise("put it aside", aside(paths.journal), startWithout(paths)));
  }
  const odd = oddJournalFile(paths.journal);
  if (odd !== null) return fail(check, `${odd.what}, so the journal cannot be read`, odd.advice);
  const shut = unwritableJournal(paths.journal);
  if (shut !== null) return fail(check, `${shut.what}, so the daemon cannot store anything`, shut.advice);
  const found = inspectJournal(paths.journal);
  if (found.damage !== null) {
    const advice = isRunning
      ? restart("the daemon has everything in memory and stores it anew at a stop")
      : repairJournal();
    return fail(check, whatIsDamaged(found.damage), advice);
  }
  const older = olderStoreText(paths, world.now(), at => clock(at, world.now()));
  if (older !== null) return warn(check, older, olderStoreAdvice);
  const detail = `${counted(found.lastSeq, "record")}, ${bytes(found.bytes)} in ${counted(found.segments, "segment")} and ${counted(found.snapshots, "snapshot")}`;
  const isBusy = isRunning && found.tornBytes > 0;
  if (found.notes.length === (isBusy ? 1 : 0)) return ok(check, detail);
  const [first, ...more] = found.damagedSnapshots.map(aside);
  const begun = isRunning ? restart("a start mends it") : advise("a start mends it", "kite up");
  const advice = first === undefined ? begun : advise("put it aside", first, ...more);
  return warn(check, `${detail}; ${found.notes.join("; ")}`, advice);
}

/** Saving what a damaged journal holds gives up the rest, which `kite repair` shows before it asks. */
function repairJournal(): Advice {
  const does = "kite repair && kite up";
  const work = async (world: ProcessContext, ask: AskPerson | null) => {
    if ((await repair(world, {}, ask)) !== exitCodes.done) throw new FixFailed("the journal is as it was");
    return runLines(world, ["kite up"]);
  };
  return {
    todo: `keep what can be read, and a copy of the rest: ${does}`,
    fix: { does, givesUp: true, work },
  };
}

/** The first sentence of the damage: the others advise a person who has no `kite repair`. */
function whatIsDamaged(damage: string): string {
  return damage.split(". ")[0] ?? damage;
}

/** Checks the files of ends that no daemon took: where one cannot be read, hooks or daemons fail at it without a word. */
export function checkUnheardEnds(world: ProcessContext): Check[] {
  const { unheardEnds: path } = world.paths;
  return [path, `${path}.old`, `${path}.taken`].flatMap(file => {
    const odd = oddFile(file, constants.R_OK | constants.W_OK);
    if (odd === null) return [];
    const detail = `${odd.what}, so no daemon hears of edits and turns that ended while none ran`;
    return [fail("ends", detail, odd.advice)];
  });
}

/** Checks the kept versions of files, as the running daemon sees them; says nothing if all is well. */
export async function checkKeptWork(world: ProcessContext): Promise<Check[]> {
  const client = await world.connect({ name: "kite doctor", reconnect: false });
  try {
    const state = await client.request("rescue_state", {});
    if (!state.ok) return [];
    const texts = damageTexts(state.damage, state.trouble);
    return texts.map(text =>
      warn("kept work", text, "see what is kept, and how to have it back: kite rescue"),
    );
  } finally {
    client.close();
  }
}

export function checkSpace({ paths }: ProcessContext, stats: StatsReply | null): Check {
  const check = "disk";
  const place = existsSync(paths.home) ? paths.home : existing(dirname(paths.home));
  const { bavail, bsize } = statfsSync(place);
  const free = bavail * bsize;
  const detail = `${bytes(free)} free at ${place}`;
  const todo = "free disk space: Kite then continues by itself";
  if (stats?.storeFull === true) {
    return fail(check, `the journal's disk is full; ${detail}`, todo);
  }
  return free < freeMin ? warn(check, detail, todo) : ok(check, detail);
}

function existing(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : existing(dirname(path));
}

/** Reports requests that failed by a bug; the daemon undid each and skips its entry. */
export function checkVoided(stats: StatsReply, logPath: string): Check {
  const check = "bugs";
  const count = stats.voided.length;
  if (count === 0) return ok(check, "none seen");
  const entries = stats.voided.slice(0, 5).join(", ");
  const detail = `${counted(count, "request")} failed inside Kite and changed nothing (entry ${entries}${count > 5 ? ", ..." : ""})`;
  return warn(check, detail, `report the bug, with the lines of ${logPath}`);
}

/** Checks that log rotation works: without it, sizes grow far over their bounds. */
export function checkLogs(world: ProcessContext, stats: StatsReply | null): Check {
  const { paths } = world;
  const check = "logs";
  const logs = filesOf(paths.home, name => name.startsWith("daemon.log"));
  const trails = filesOf(paths.trail, name => name.startsWith("trail-"));
  const detail = `the daemon's own log ${bytes(sumOf(logs))}, log of decisions ${bytes(sumOf(trails))}`;
  const [logsMax, trailMax] = [
    limits.logBytes * (limits.logFilesMax + 1),
    limits.trailBytes * (limits.trailFilesMax + 1),
  ];
  if (sumOf(logs) > logsMax || sumOf(trails) > trailMax) {
    const [largest] = [...(sumOf(logs) > logsMax ? logs : trails)].sort((a, b) => b.size - a.size);
    const line = `rm ${shellArgument(largest?.path ?? paths.log)}`;
    const advice = advise(
      "remove the largest, and let the daemon begin a new one",
      line,
      "kite down --yes",
      "kite up",
    );
    return warn(check, `${detail}, more than their bounds`, advice);
  }
  const dropped = stats?.trailDropped ?? 0;
  if (dropped === 0) return ok(check, detail);
  const lost = `the daemon could not write ${counted(dropped, "line")} of the log in time`;
  return warn(check, `${detail}; ${lost}`, "check the disk's speed and space");
}

interface Sized {
  readonly path: string;
  readonly size: number;
}

function filesOf(dir: string, isCounted: (name: string) => boolean): Sized[] {
  // Another check says why a folder cannot be read.
  if (!existsSync(dir) || oddFolder(dir) !== null) return [];
  const paths = readdirSync(dir)
    .filter(isCounted)
    .map(name => join(dir, name));
  return paths.map(path => ({ path, size: statSync(path, { throwIfNoEntry: false })?.size ?? 0 }));
}

function sumOf(files: readonly Sized[]): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}

// Checks the files that the daemon and the commands read and write: whether each is what it should be, and may be used.

const { R_OK, W_OK, X_OK } = constants;

/** A file of Kite whose content no other check looks at, or that another check needs to be one. */
interface OwnFile {
  readonly path: keyof KitePaths;
  readonly folder?: true;
  readonly mode: number;
  /** What does not work without it, behind a comma. */
  readonly so: string;
  /** Nothing that is stored or enforced depends on it. */
  readonly isMinor?: true;
  /** The daemon uses it again after a new start only. */
  readonly restarts?: true;
}

const ownFiles: readonly OwnFile[] = [
  { path: "lockFile", mode: R_OK | W_OK, so: "so no daemon can start", restarts: true },
  {
    path: "daemonFile",
    mode: R_OK,
    so: "so commands do not know which process the daemon is",
    restarts: true,
  },
  { path: "log", mode: W_OK, so: "so the daemon cannot write its log, and does not start", restarts: true },
  { path: "personToken", mode: R_OK, so: "so no command counts as a person's", restarts: true },
  {
    path: "personWindows",
    mode: R_OK | W_OK,
    so: "so Kite asks again in each terminal whether you are a person",
    isMinor: true,
  },
  { path: "storeMark", mode: R_OK, so: "so a start does not notice a journal that is lost" },
  { path: "seen", folder: true, mode: R_OK | W_OK | X_OK, so: "so Kite does not tell who changed its files" },
  {
    path: "presence",
    mode: R_OK,
    so: "so a start of the daemon forgets which turns run",
    isMinor: true,
  },
  {
    path: "events",
    mode: R_OK | W_OK,
    so: "so programs that reconnect miss events of before a restart",
    isMinor: true,
  },
  {
    path: "hookFailures",
    mode: R_OK | W_OK,
    so: "so hooks do not remember that the daemon was silent",
    isMinor: true,
  },
  {
    path: "trail",
    folder: true,
    mode: R_OK | W_OK | X_OK,
    so: "so no decision is recorded",
    restarts: true,
  },
  { path: "plugins", mode: R_OK, so: "so Kite does not know its plugins" },
];

/** `isRunning`: a daemon answers. Returns no check if all is well. */
export async function checkOwnFiles(world: ProcessContext, isRunning: boolean): Promise<Check[]> {
  const { paths } = world;
  const checks = ownFiles.flatMap(file => {
    const odd = (file.folder ? oddFolder : oddFile)(paths[file.path], file.mode);
    return odd === null ? [] : [rowOf(file, odd, isRunning)];
  });
  const isTrailOdd = oddFolder(paths.trail, R_OK | X_OK) !== null;
  const [newest] = isTrailOdd ? [] : await trailFiles(paths.trail);
  const trail = newest === undefined ? null : oddFile(join(paths.trail, fileName(newest)), R_OK | W_OK);
  if (trail !== null) {
    const row = { so: "so decisions are missing in kite log", restarts: true } as const;
    checks.push(rowOf(row, trail, isRunning));
  }
  const token = paths.personToken;
  if (isRunning && oddFile(token) === null && readPersonToken(token) === null) {
    const advice = restart("restart the daemon, which writes it");
    checks.push(fail("files", `${missingOr(token)}, so no command counts as a person's`, advice));
  }
  return checks;
}

/** Returns the sentence's start for a file that Kite cannot read, because it is missing or damaged. */
export function missingOr(path: string): string {
  return oddFile(path)?.what ?? (existsSync(path) ? damaged(path) : `${path} is missing`);
}

function rowOf(
  { so, isMinor, restarts }: Pick<OwnFile, "so" | "isMinor" | "restarts">,
  odd: OddFile,
  isRunning: boolean,
): Check {
  return (isMinor ? warn : fail)(
    "files",
    `${odd.what}, ${so}`,
    adviceFor(odd, restarts === true && isRunning),
  );
}

function adviceFor({ line, advice }: OddFile, restarts: boolean): Advice {
  if (line === null || !restarts) return advice;
  return advise("mend it, and start the daemon again", line, "kite down --yes", "kite up");
}

// What Kite's directory takes on disk, by part.

/** What the directory takes. Sizes are those of the blocks on disk, in bytes. */
export interface DiskUse {
  readonly total: number;
  /** By part, the largest first: `journal`, `trail`, `log`, each other folder, and `other files`. */
  readonly parts: readonly (readonly [string, number])[];
  /** Whether everything was counted: a look ends at `filesMax` files and folders. */
  readonly isWhole: boolean;
}

export function checkDiskUse({ paths }: ProcessContext): Check {
  const { total, parts, isWhole } = diskUse(paths.home);
  const each = parts
    .map(([name, size]) => `${name === "trail" ? "decisions" : name} ${bytes(size)}`)
    .join(", ");
  const more = isWhole ? "" : "more than ";
  return ok("size", `${paths.home} takes ${more}${bytes(total)}${each === "" ? "" : `: ${each}`}`);
}

/** Measures a directory without following links. Counts the files right in it before those of its folders. */
export function diskUse(home: string, filesMax: number = limits.measuredFilesMax): DiskUse {
  const parts = new Map<string, number>();
  const folders: (readonly [path: string, part: string | null])[] = [[home, null]];
  let left = filesMax;
  // Breadth first: a folder with many files hides none of the parts.
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    const [path, part] = folder;
    for (const name of namesIn(path, left)) {
      if (left === 0) return used(parts, false);
      left -= 1;
      const stat = lstatSync(join(path, name), { throwIfNoEntry: false });
      // Removed since its name was read.
      if (stat === undefined) continue;
      const its = part ?? (stat.isDirectory() ? name : partOf(name));
      // Blocks have 512 bytes whatever the filesystem.
      parts.set(its, (parts.get(its) ?? 0) + stat.blocks * 512);
      if (stat.isDirectory()) folders.push([join(path, name), its]);
    }
  }
  return used(parts, true);
}

function partOf(name: string): string {
  return name.startsWith("daemon.log") ? "log" : "other files";
}

function used(sizes: ReadonlyMap<string, number>, isWhole: boolean): DiskUse {
  const parts = [...sizes].filter(([, size]) => size > 0).sort(([, a], [, b]) => b - a);
  return { total: parts.reduce((sum, [, size]) => sum + size, 0), parts, isWhole };
}

/** Yields up to one name more than `max`, so that the caller sees that there are more. */
function namesIn(folder: string, max: number): string[] {
  try {
    const dir = opendirSync(folder);
    try {
      const names: string[] = [];
      for (let entry = dir.readSync(); entry !== null && names.length <= max; entry = dir.readSync())
        names.push(entry.name);
      return names;
    } finally {
      dir.closeSync();
    }
  } catch (error) {
    // Removed meanwhile, or another check says that this user may not read it.
    if (isSystemError(error)) return [];
    throw error;
  }
}
