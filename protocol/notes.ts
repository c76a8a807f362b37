/** What outcomes of hooks tell of other agents: their locks, their writes, their worktrees. */

/** A file that another one changes in another worktree. */
export interface MergeNote {
  /** From the top of the worktree. */
  readonly file: string;
  readonly name: string;
  readonly worktree: string;
  readonly branch: string | null;
}

/** A held file. `holder` is a name as people see it (an agent's begins with its session's name and a slash). */
export interface LockNote {
  /** What is held, absolute: the file that was asked for, or a directory that it is in. */
  readonly file: string;
  readonly holder: string;
  readonly heldMs: number;
  readonly waiters: number;
  /** What the holder does, in a few words, as far as it is known. */
  readonly doing: string | null;
  /** In how long it would yield if it does not touch the file again; null where it does not yield. */
  readonly yieldsInMs: number | null;
}

/**
 * A file was written past a lock (after the writer's own had ended, or by a shell command), or by two actors shortly
 * one after the other.
 */
export interface FileNote {
  readonly what: "lost_update" | "bypassed" | "conflict";
  /** Absolute. */
  readonly file: string;
  /** The actor itself did it; else it was done to what the actor has. */
  readonly mine: boolean;
  /** The other one, as people see it; null where there is none. */
  readonly other: string | null;
}

/** A file that was refused and is free: nobody holds it, nobody stands in line for it. */
export interface FreedFile {
  /** Absolute. */
  readonly file: string;
  /** Who had it last, as people see it, where that is known. */
  readonly had: string | null;
}
