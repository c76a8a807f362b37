/** What outcomes of hooks tell of other agents: their locks, their writes, their worktrees. */

/** A file that another one changes in another worktree. */
export interface MergeNote {
  /** From the top of the worktree. */
  readonly file: string;
  /** The worktree of the one who is told. */
  readonly own: string;
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
  /** What it edited last, absolute, the latest last; empty where something better is known. */
  readonly edited: readonly string[];
  /** In how long it would yield if it does not touch the file again; null where it does not yield. */
  readonly yieldsInMs: number | null;
}

/** What an agent is to be told of its files with its next event that waits. */
export type FileNote = PastLockNote | TakenNote;

/**
 * A file was written past a lock (after the writer's own had ended, or by a shell command), or by two actors shortly
 * one after the other.
 */
export interface PastLockNote {
  readonly what: "lost_update" | "bypassed" | "conflict";
  /** Absolute. */
  readonly file: string;
  /** The actor itself did it; else it was done to what the actor has. */
  readonly mine: boolean;
  /** The other one, as people see it; null where there is none. */
  readonly other: string | null;
}

/** A git command of another one took the agent's uncommitted work. */
export interface TakenNote {
  /** `discarded`: it is not in the working tree any more, whether git still has it (a stash) or not. */
  readonly what: "committed" | "discarded";
  /** Absolute, at most `limits.guardFilesMax`; `more` counts the rest. */
  readonly files: readonly string[];
  readonly more: number;
  /** Whose command it was, as people see it. */
  readonly other: string;
  /** As people say it: `git commit -a`. */
  readonly command: string;
  /** The commit's id, abbreviated; null where there is none, or it could not be told. */
  readonly commit: string | null;
}

/** A file that was refused and is free: nobody holds it, nobody stands in line for it. */
export interface FreedFile {
  /** Absolute. */
  readonly file: string;
  /** Who had it last, as people see it, where that is known. */
  readonly had: string | null;
}
