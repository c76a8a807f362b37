/**
 * Lock files that say which process holds them, so that the next command removes what a killed one left. Git's `index.lock` may
 * be one: git never reads what is in it.
 *
 * Invariants: a file is taken by a link, so nobody sees one without its holder. A note in Kite's directory names each lock from
 * before it is taken until after it is released. Only a lock of a process that is gone is removed.
 */

import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isAlive, processAnchor } from "../../daemon/facts/processes.ts";
import { isSystemError } from "../../protocol/errors.ts";
import type { KitePaths } from "../../protocol/paths.ts";

/** Tries to take a file are at most so far apart, in milliseconds: git, which has no queue, waits likewise. */
const betweenMs = 50;

let taken = 0;

/** Takes the lock file; waits for at most `waitMs`. Returns what releases it; null: another process has it all the time. */
export async function takeFile(
  { tries }: Pick<KitePaths, "tries">,
  file: string,
  waitMs: number,
): Promise<(() => void) | null> {
  taken += 1;
  const notes = join(tries, "locks");
  mkdirSync(notes, { recursive: true, mode: 0o700 });
  const note = join(notes, `${process.pid}-${taken}`);
  writeFileSync(note, file, { mode: 0o600 });
  const own = besideLock(file, `${process.pid}-${taken}`);
  try {
    writeFileSync(own, JSON.stringify({ kite: processAnchor(process.pid) }));
    const until = performance.now() + waitMs;
    for (let n = 1; ; n += 1) {
      if (links(own, file)) break;
      removeIfLeft(file);
      if (performance.now() >= until) {
        rmSync(note, { force: true });
        return null;
      }
      await pause(Math.min(betweenMs, 5 * n) * (0.5 + Math.random()));
    }
  } catch (error) {
    rmSync(note, { force: true });
    throw error;
  } finally {
    rmSync(own, { force: true });
  }
  return () => {
    rmSync(file, { force: true });
    rmSync(note, { force: true });
  };
}

/** Returns the path of a file of this process beside a lock, for what is to take the place of the locked file. */
export function besideLock(file: string, name: string): string {
  return `${file}.kite-${name}`;
}

/** Removes the lock files that killed commands left. What the system does not permit stays for another command. */
export function sweepFiles({ tries }: Pick<KitePaths, "tries">): void {
  const notes = join(tries, "locks");
  for (const name of namesIn(notes)) {
    // The notes of a live process are its own to remove; whether the very process lives the lock says.
    const [pid = ""] = name.split("-");
    if (Number(pid) === process.pid) continue;
    try {
      sweep(join(notes, name), pid);
    } catch (error) {
      if (!isSystemError(error)) throw error;
    }
  }
}

function sweep(note: string, pid: string): void {
  const file = textIn(note);
  if (file !== null) {
    removeIfLeft(file);
    if (processAnchor(Number(pid)) !== null) return;
    const beside = besideLock(file, `${pid}-`);
    for (const one of namesIn(dirname(file)))
      if (join(dirname(file), one).startsWith(beside)) rmSync(join(dirname(file), one), { force: true });
  }
  rmSync(note, { force: true });
}

function links(own: string, file: string): boolean {
  try {
    linkSync(own, file);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

/** Removes a lock of a process that is gone. */
function removeIfLeft(file: string): void {
  const text = textIn(file);
  if (text === null || !isLeft(text)) return;
  // Two may see it at once: whoever moves another one than it saw puts it back.
  const aside = `${file}.left-${process.pid}`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw error;
  }
  if (textIn(aside) !== text) links(aside, file);
  rmSync(aside, { force: true });
}

function isLeft(text: string): boolean {
  const [, pid, startTime = ""] =
    /^\{"kite":\{"pid":(\d{1,10}),"startTime":"([^"\\]{1,100})"\}\}$/.exec(text) ?? [];
  return pid !== undefined && !isAlive({ pid: Number(pid), startTime });
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isSystemError(error)) return []; // There is none, or nobody may read it.
    throw error;
  }
}

function textIn(file: string): string | null {
  try {
    return readFileSync(file, "utf8").slice(0, 4096);
  } catch (error) {
    if (isSystemError(error)) return null; // Gone meanwhile, or nobody may read it.
    throw error;
  }
}

function codeOf(error: unknown): string | null {
  return isSystemError(error) && error instanceof Error && "code" in error ? String(error.code) : null;
}
