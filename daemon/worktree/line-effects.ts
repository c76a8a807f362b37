/**
 * What the commands of a line do to a file before a later one of them runs. A new file enters the index, leaves it again, or
 * is committed. Each command is assumed to succeed.
 */

import type { GuardedCommand, StashUse } from "../../protocol/guard.ts";
import type { FileState } from "../facts/git/status.ts";

const unstaging: ReadonlySet<string> = new Set(["git reset", "git restore --staged"]);
const removing: ReadonlySet<string> = new Set(["git rm --cached", "git update-index --force-remove"]);

/** The file's state after a command that reaches it. Only commands that write no files change it. */
export function stateAfter(command: GuardedCommand, state: FileState): FileState {
  if (command.reach === "tree") return state;
  const { staged, changed, untracked, ignored, isNew } = state;
  if (removing.has(command.name)) {
    const isKnown = staged || changed;
    return isKnown && !untracked ? { ...state, staged: !isNew, changed: false, untracked: true } : state;
  }
  if (unstaging.has(command.name)) {
    if (!staged) return state;
    return { ...state, staged: false, changed: !isNew, untracked: isNew };
  }
  const isTaken = (untracked && command.untracked) || (ignored && command.ignored === true);
  const isKnown = isTaken || (staged && !untracked) || changed;
  const all = isTaken || (command.reach === "take_all" && isKnown);
  const now = all ? { ...state, staged: true, changed: false, untracked: false, ignored: false } : state;
  const isCommitted = command.commits || command.name.startsWith("git commit");
  return isCommitted && now.staged && !now.untracked ? { ...now, staged: false, isNew: false } : now;
}

/** Whether the command goes to another commit and removes from the files what was committed last. */
export function goesBack({ name, changes }: GuardedCommand): boolean {
  return name === "git reset --hard" && changes?.revisions[0] !== "HEAD";
}

/** What the command may make uncommitted: `back` is work that was put away, `other` is something else; null: nothing. */
export function bringing({ name, reach, paths }: GuardedCommand): "back" | "other" | null {
  if (/^git (?:stash (?:pop|apply|branch)|reset(?! --hard))/.test(name)) return "back";
  if (/^git (?:cherry-pick|revert|merge|apply)/.test(name)) return "other";
  return reach === "tree" && paths !== null && /^git (?:checkout|restore)/.test(name) ? "other" : null;
}

// Which entries of a stash list the commands of a line take. Each command is assumed to succeed.

/** A command of the line that uses the list. */
export interface StashStep {
  readonly use: StashUse;
  /** It surely puts an entry on the list. `git stash push` succeeds without one if there is nothing to put away. */
  readonly isMade: boolean;
}

/**
 * Returns the commits of the entries that each step takes or copies, of those in `list`, the latest first. Entries that the
 * line itself made are not among them. Both count: what a step takes if each earlier one made its entry, and if only those
 * did that surely do.
 */
export function entriesTaken(
  list: readonly string[],
  steps: readonly StashStep[],
): readonly ReadonlySet<string>[] {
  const taken = steps.map(() => new Set<string>());
  for (const isEachMade of [true, false]) {
    // An entry of the line's own has no commit yet.
    let now: readonly (string | null)[] = list;
    for (const [i, { use, isMade }] of steps.entries()) {
      if (use.does === "make") {
        if (isMade || isEachMade) now = [null, ...now];
        continue;
      }
      const entry = "entry" in use ? use.entry : null;
      const isNamed = (commit: string | null, at: number) =>
        typeof entry === "number" ? entry === at : entry === null || commit?.startsWith(entry) === true;
      for (const commit of now.filter(isNamed)) if (commit !== null) taken[i]?.add(commit);
      // If which ones go is not known, the others stay where they are.
      if (use.does === "take" && entry !== null) now = now.filter((commit, at) => !isNamed(commit, at));
    }
  }
  return taken;
}
