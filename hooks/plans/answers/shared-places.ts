/**
 * Words what a line does to what all who work in a repository share: git's lock files, where its working tree is, and
 * folders of dependencies.
 */

import type {
  GuardedCommand,
  GuardFinding,
  LinkedFolder,
  SharedPlace,
  TreeSetting,
} from "../../../protocol/guard.ts";
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

/** A finding about what is shared, with the command it is about. */
interface Sharing extends GuardFinding {
  readonly by: Pick<GuardedCommand, "name">;
}

/** A text for each finding of what is shared. `isHeld`: the line does not run yet; else the guard only warns. */
export function sharedPlaces(findings: readonly Sharing[], isHeld: boolean, cwd: string): readonly string[] {
  return findings.flatMap(finding =>
    finding.shared === undefined ? [] : [sharedText(finding, finding.shared, isHeld, cwd)],
  );
}

function sharedText(
  { by, worktree, more }: Sharing,
  { is, others }: SharedPlace,
  isHeld: boolean,
  cwd: string,
): string {
  const { does, where, way, meant } = "key" in is ? ofSetting(is, worktree) : ofFolder(is, cwd);
  const shown = others.slice(0, limits.guardFilesShownMax);
  const rest = others.length - shown.length + more;
  const names = shown.map(
    one =>
      `${quote(one.who, limits.nameBytes)} works in ${quote(nearPath(one.worktree, cwd), limits.pathBytes)}`,
  );
  const notes = `${frame} ${[...where, ...names, ...(rest > 0 ? [`and ${rest} more`] : [])].join("; ")}.`;
  const what = `\`${by.name}\` ${isHeld ? "in it would" : "will"} ${does}`;
  return isHeld
    ? [
        `Kite: this command line did not run yet: ${what}.`,
        notes,
        `What to do: ${way}`,
        `If you mean ${meant}, send exactly the same command again: it will run.`,
      ].join("\n")
    : [`Kite: ${what}. The command line runs anyway.`, notes, `Next time: ${way}`].join("\n");
}

interface SharedWords {
  readonly does: string;
  readonly where: readonly string[];
  /** What to do instead, complete. */
  readonly way: string;
  readonly meant: string;
}

function ofSetting({ key, value }: TreeSetting, worktree: string): SharedWords {
  const what = key === "core.bare" ? "git fails in a checkout" : "git works on other files than those";
  const tree = value === "" ? "DIRECTORY" : shellArgument(value);
  return {
    does: `change the repository of ${quote(worktree, limits.pathBytes)} for everyone: ${what} in which others work`,
    where: [],
    way:
      key === "core.bare"
        ? `leave it. For a bare repository of your own: git clone --bare ${shellArgument(worktree)} DIRECTORY`
        : `name the working tree for your own commands alone: git --work-tree=${tree} COMMAND`,
    meant: "all of them",
  };
}

function ofFolder({ link, target, worktree }: LinkedFolder, cwd: string): SharedWords {
  const [name, to] = [nearPath(link, cwd), quote(target, limits.pathBytes)];
  const of =
    worktree === null ? "outside of this worktree" : `of the worktree ${quote(worktree, limits.pathBytes)}`;
  return {
    does: `empty a folder that others use, ${of}`,
    where: [`${quote(name)} is a link to ${to}`],
    way: `have a folder of your own first: rm ${shellArgument(name)} && mkdir ${shellArgument(name)}`,
    meant: "the folder that they use",
  };
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}
