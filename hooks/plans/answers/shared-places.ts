/** Words what a line does to what all who work in a repository share: git's lock files. */

import { limits } from "../../../protocol/limits.ts";
import { duration, frame, nearPath, quote } from "../../../protocol/text.ts";
import type { HeldGitLock } from "../../seam/outcomes.ts";

/** The line does not run as long as these processes do. */
export function gitLockDenied(found: readonly HeldGitLock[], cwd: string): string {
  return [
    `Kite: this command line did not run: ${commands(found)} in it would remove ${what(found)}.`,
    notes(found, cwd),
    `What to do: wait until that command has ended. Git then removes the lock file itself. Send the same command again if the file is still there: it will run. If the command hangs, tell ${people(found)}.`,
  ].join("\n");
}

/** The guard only warns. */
export function gitLockWarned(found: readonly HeldGitLock[], cwd: string): string {
  return [
    `Kite: ${commands(found)} removes ${what(found)}. The command line runs anyway.`,
    notes(found, cwd),
    "Next time: wait until that command has ended. Git then removes the lock file itself.",
  ].join("\n");
}

function commands(found: readonly HeldGitLock[]): string {
  return unique(found.map(({ command }) => `\`${command}\``)).join(" and ");
}

function what(found: readonly HeldGitLock[]): string {
  return found.length === 1
    ? "a lock file of git that a running git command may hold"
    : "lock files of git that running git commands may hold";
}

function notes(found: readonly HeldGitLock[], cwd: string): string {
  const shown = found.slice(0, limits.guardFilesShownMax);
  const texts = shown.map(one => {
    const { path, ageMs, by, pid, ranMs } = one;
    const file = `${quote(nearPath(path, cwd))} is ${duration(ageMs)} old`;
    return `${file}; ${quote(by, limits.nameBytes)} (process ${pid}) of ${whose(one)} has run for ${duration(ranMs)}`;
  });
  const more = found.length - shown.length;
  return `${frame} ${[...texts, ...(more > 0 ? [`and ${more} more`] : [])].join("; ")}.`;
}

function whose({ who, isOwnSession }: HeldGitLock): string {
  if (who !== null) return quote(who, limits.nameBytes);
  return isOwnSession ? "an agent of your own session" : "your user";
}

function people(found: readonly HeldGitLock[]): string {
  const names = found.flatMap(({ who }) => (who === null ? [] : [quote(who, limits.nameBytes)]));
  return [...unique(names).slice(0, limits.guardWaysMax), "your user"].join(" or ");
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}
