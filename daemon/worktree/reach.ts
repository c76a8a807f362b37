/** Whether a git command takes or wipes what is uncommitted in a file. */
import type { GuardedCommand } from "../../protocol/guard.ts";
import type { FileState } from "../facts/git-status.ts";

/** `held`: somebody else holds the file; what is held is as good as written. `state` null: a directory that is held. */
export function reaches(command: GuardedCommand, state: FileState | null, held: boolean): boolean {
  if (state === null) return command.reach === "tree";
  const { staged, changed, untracked, ignored } = state;
  if (ignored) return command.ignored ?? false;
  if (command.reach === "tree") {
    // It removes what git does not know, and nothing else.
    if (command.name.startsWith("git clean")) return untracked;
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
