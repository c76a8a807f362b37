/**
 * Whether a worktree's checks are green for its present state. Pure and without bounds of its own: it looks up one
 * result for each wanted check.
 */
import { type CheckResult, resultKey } from "./table.ts";

/**
 * - `green`, `red`: the latest run was of this command, in this state of the worktree.
 * - `stale`: the latest run was of another command, or in another state.
 * - `never_run`: no result is kept.
 * - `unknown`: the present state could not be told.
 */
export type CheckStatus = "green" | "red" | "stale" | "never_run" | "unknown";

/** A check that has to be green: its name, and the hash of its command's text. */
export interface WantedCheck {
  readonly name: string;
  readonly command: string;
}

/** The parts of the state, and of a result, that a status depends on. */
export interface KnownResults {
  readonly checks: {
    readonly results: ReadonlyMap<string, Pick<CheckResult, "command" | "exit" | "commit" | "dirty">>;
  };
}

/** The present state of a worktree; `dirty` is null if it could not be told. */
export interface PresentState {
  readonly commit: string | null;
  readonly dirty: string | null;
}

/** Returns the status of each wanted check by its name, in their order. */
export function checkStatuses(
  { checks }: KnownResults,
  { project, worktree }: { readonly project: string; readonly worktree: string },
  wanted: readonly WantedCheck[],
  present: PresentState,
): ReadonlyMap<string, CheckStatus> {
  return new Map(
    wanted.map(({ name, command }) => {
      const result = checks.results.get(resultKey({ project, worktree, name }));
      if (result === undefined) return [name, "never_run"];
      if (present.dirty === null) return [name, "unknown"];
      const isSame =
        result.command === command && result.commit === present.commit && result.dirty === present.dirty;
      if (!isSame) return [name, "stale"];
      return [name, result.exit === 0 ? "green" : "red"];
    }),
  );
}
