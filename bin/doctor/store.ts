/** Checks Kite's files (journal, space, logs), and requests that failed by a bug. */
import { existsSync, readdirSync, statfsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { inspectJournal } from "../../daemon/journal/inspect.ts";
import type { StatsReply } from "../../protocol/daemon.ts";
import { limits } from "../../protocol/limits.ts";
import type { ProcessContext } from "../process-context.ts";
import type { Check } from "../view/doctor.ts";
import { bytes, counted } from "../view/text.ts";

/** Doctor warns below this much free space, in bytes. */
const freeMin = 64 * 1024 * 1024;

export function checkJournal({ paths }: ProcessContext): Check {
  const check = "journal";
  if (!existsSync(paths.journal)) return { check, result: "ok", detail: "none yet" };
  const found = inspectJournal(paths.journal);
  if (found.damage !== null) {
    const todo = `keep a copy; to start without its sessions and locks: kite down, then move ${paths.journal} away, then kite up`;
    return { check, result: "fail", detail: found.damage, todo };
  }
  const detail = `${counted(found.lastSeq, "record")}, ${bytes(found.bytes)} in ${counted(found.segments, "segment")} and ${counted(found.snapshots, "snapshot")}`;
  if (found.notes.length === 0) return { check, result: "ok", detail };
  return { check, result: "warn", detail: `${detail}; ${found.notes.join("; ")}` };
}

export function checkSpace({ paths }: ProcessContext, stats: StatsReply | null): Check {
  const check = "disk";
  const place = existsSync(paths.home) ? paths.home : existing(dirname(paths.home));
  const { bavail, bsize } = statfsSync(place);
  const free = bavail * bsize;
  const detail = `${bytes(free)} free at ${place}`;
  const todo = "free disk space: Kite then continues by itself";
  if (stats?.storeFull === true) {
    return { check, result: "fail", detail: `the journal's disk is full; ${detail}`, todo };
  }
  return free < freeMin ? { check, result: "warn", detail, todo } : { check, result: "ok", detail };
}

function existing(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : existing(dirname(path));
}

/** Reports requests that failed by a bug; the daemon undid each and skips its entry. */
export function checkVoided(stats: StatsReply, logPath: string): Check {
  const check = "bugs";
  const count = stats.voided.length;
  if (count === 0) return { check, result: "ok", detail: "none seen" };
  const entries = stats.voided.slice(0, 5).join(", ");
  const detail = `${counted(count, "request")} failed inside Kite and changed nothing (entry ${entries}${count > 5 ? ", ..." : ""})`;
  return { check, result: "warn", detail, todo: `report the bug, with the lines of ${logPath}` };
}

/** Checks that log rotation works: without it, sizes grow far over their bounds. */
export function checkLogs({ paths }: ProcessContext, stats: StatsReply | null): Check {
  const check = "logs";
  const log = sizeOf(paths.home, name => name.startsWith("daemon.log"));
  const trail = sizeOf(paths.trail, name => name.startsWith("trail-"));
  const detail = `log ${bytes(log)}, trail ${bytes(trail)}`;
  const isLarge =
    log > limits.logBytes * (limits.logFilesMax + 1) ||
    trail > limits.trailBytes * (limits.trailFilesMax + 1);
  if (isLarge) {
    const todo = `the daemon does not rotate them; see ${paths.log}, then restart: kite down && kite up`;
    return { check, result: "warn", detail: `${detail}, more than their bounds`, todo };
  }
  const dropped = stats?.trailDropped ?? 0;
  if (dropped === 0) return { check, result: "ok", detail };
  const lost = `the daemon could not write ${counted(dropped, "line")} of the trail in time`;
  return { check, result: "warn", detail: `${detail}; ${lost}`, todo: "check the disk's speed and space" };
}

function sizeOf(dir: string, isCounted: (name: string) => boolean): number {
  if (!existsSync(dir)) return 0;
  let sum = 0;
  for (const name of readdirSync(dir).filter(isCounted)) {
    sum += statSync(join(dir, name), { throwIfNoEntry: false })?.size ?? 0;
  }
  return sum;
}
