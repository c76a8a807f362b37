/** Checks Kite's files (journal, space, logs), and requests that failed by a bug. */
import { constants, existsSync, lstatSync, readdirSync, statfsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { inspectJournal } from "../../daemon/journal/remains.ts";
import {
  lostStore,
  lostStoreAdvice,
  lostStoreText,
  olderStoreAdvice,
  olderStoreText,
  startWithout,
} from "../../daemon/journal/store-mark.ts";
import { limits } from "../../protocol/limits.ts";
import type { StatsReply } from "../../protocol/schemas/daemon.ts";
import { shellArgument } from "../../protocol/text.ts";
import type { AskPerson } from "../ask-person.ts";
import type { ProcessContext } from "../process-context.ts";
import { repair } from "../repair/repair.ts";
import type { Check } from "../view/doctor.ts";
import { bytes, clock, counted } from "../view/text.ts";
import { damageTexts } from "../view/versions.ts";
import { exitCodes } from "../with-daemon.ts";
import { type Advice, advise, aside, FixFailed, fail, ok, restart, runLines, warn } from "./advice.ts";
import { oddJournalFile, unwritableJournal } from "./journal-files.ts";
import { oddFile, oddFolder } from "./odd-file.ts";

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
