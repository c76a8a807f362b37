/** Words what a line does to what all who work in a repository share: git's lock files, and where its working tree is. */

import type { GuardFinding, SharedPlace } from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import { duration, frame, nearPath, quote, shellArgument } from "../../../protocol/text.ts";
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

/** A text for each finding of what is shared. `isHeld`: the line does not run yet; else the guard only warns. */
export function sharedPlaces(
  findings: readonly GuardFinding[],
  isHeld: boolean,
  cwd: string,
): readonly string[] {
  return findings.flatMap(finding =>
    finding.shared === undefined ? [] : [settingText(finding, finding.shared, isHeld, cwd)],
  );
}

function settingText(
  { worktree, more }: GuardFinding,
  { setting: { key, value }, others }: SharedPlace,
  isHeld: boolean,
  cwd: string,
): string {
  const at = quote(worktree, limits.pathBytes);
  const what = key === "core.bare" ? "git fails in a checkout" : "git works on other files than those";
  const does = `\`git config ${key}\` in it changes the repository of ${at} for everyone: ${what} in which others work`;
  const shown = others.slice(0, limits.guardFilesShownMax);
  const rest = others.length - shown.length + more;
  const names = shown.map(
    one =>
      `${quote(one.who, limits.nameBytes)} works in ${quote(nearPath(one.worktree, cwd), limits.pathBytes)}`,
  );
  const notes = `${frame} ${[...names, ...(rest > 0 ? [`and ${rest} more`] : [])].join("; ")}.`;
  if (!isHeld)
    return [
      `Kite: ${does}. The command line runs anyway.`,
      notes,
      `Next time: ${wayOn(key, value, worktree)}`,
    ].join("\n");
  return [
    `Kite: this command line did not run yet: ${does}.`,
    notes,
    `What to do: ${wayOn(key, value, worktree)}`,
    "If you mean all of them, send exactly the same command again: it will run.",
  ].join("\n");
}

function wayOn(key: string, value: string, worktree: string): string {
  if (key === "core.bare")
    return `leave it. For a bare repository of your own: git clone --bare ${shellArgument(worktree)} DIRECTORY`;
  return `name the working tree for your own commands alone: git --work-tree=${value === "" ? "DIRECTORY" : shellArgument(value)} COMMAND`;
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}
