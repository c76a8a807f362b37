/** Whether a git command takes or wipes the uncommitted work in a file. */
import type { GuardedCommand } from "../../protocol/guard.ts";
import type { FileState } from "../facts/git/status.ts";

/** Whether the command leaves all uncommitted work alone, but perhaps in ignored files: git refuses to overwrite the rest. */
export function sparesWork({ reach, changes }: GuardedCommand): boolean {
  return touchesNoFile(reach) || changes?.loses === "ignored";
}

function touchesNoFile(reach: GuardedCommand["reach"]): boolean {
  return reach === "stash" || reach === "place";
}

/** `held`: another agent holds the file, which counts as written. `state` null: a directory that is held. */
export function reaches(command: GuardedCommand, state: FileState | null, held: boolean): boolean {
  if (sparesWork(command)) return !touchesNoFile(command.reach) && state?.ignored === true;
  if (state === null) return command.reach === "tree";
  const { staged, changed, untracked, ignored } = state;
  if (ignored) return command.ignored ?? false;
  if (command.reach === "tree") {
    // It removes files that git does not know, and no others; with -X it keeps those that are not ignored.
    if (command.name.startsWith("git clean")) return untracked && command.untracked;
    if (held) return true;
    if (command.name === "git sparse-checkout") return false;
    return untracked ? command.untracked : staged || changed;
  }
  if (command.reach === "take_all") {
    return untracked ? command.untracked : changed || (staged && command.commits);
  }
  if (!command.commits) return false;
  // Named paths are committed as they are in the working tree, whatever is staged.
  return command.paths === null ? staged : staged || changed;
}
