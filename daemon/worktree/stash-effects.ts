/** Which entries of a stash list the commands of a line take. Each command is assumed to succeed. */
import type { StashUse } from "../../protocol/guard.ts";

/** A command of the line that uses the list. */
export interface StashStep {
  readonly use: StashUse;
  /** It surely puts an entry on the list. `git stash push` succeeds without one if there is nothing to put away. */
  readonly isMade: boolean;
}

/**
 * Returns the commits of the entries that each step takes or copies, of those in `list`, the latest first. What the
 * line itself made is not among them. Both count: what a step takes if each earlier one made its entry, and if only
 * those did that surely do.
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
