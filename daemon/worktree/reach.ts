/** Whether a git command takes or wipes the uncommitted work in a file. */
import type { GuardedCommand } from "../../protocol/guard.ts";
import type { FileState } from "../facts/git-status.ts";

/** `held`: another agent holds the file, which counts as written. `state` null: a directory that is held. */
export function reaches(command: GuardedCommand, state: FileState | null, held: boolean): boolean {
  if (state === null) return command.reach === "tree";
  const { staged, changed, untracked, ignored } = state;
  if (ignored) return command.ignored ?? false;
  if (command.reach === "tree") {
    // It removes files that git does not know, and no others; with -X it keeps those that are not ignored.
    if (command.name.startsWith("git clean")) return untracked && command.untracked;
    if (held) return true;
    return untracked ? command.untracked : staged || changed;
  }
  if (command.reach === "take_all") {
    return untracked ? command.untracked : changed || (staged && command.commits);
  }
  if (!command.commits) return false;
  // Named paths are committed as they are in the working tree, whatever is staged.
  return command.paths === null ? staged : staged || changed;
}
