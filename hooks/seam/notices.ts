/** What hook outcomes tell about other agents: their locks, their writes, their worktrees. */

import type { LockUse } from "../../protocol/schemas/lock.ts";

/** A file that another session changes in another worktree. */
export interface MergeNote {
  /** Relative to the top of the worktree. */
  readonly file: string;
  /** The worktree of the session that is told. */
  readonly own: string;
  readonly name: string;
  readonly worktree: string;
  readonly branch: string | null;
}

/** A held file. `holder` is a name for people (an agent's begins with its session's name and a slash). */
export interface LockNote {
  /** What is held, absolute: the requested file, or a directory that contains it. */
  readonly file: string;
  readonly holder: string;
  /** The client of the holder's session, if its entries name it. */
  readonly client?: string;
  readonly heldMs: number;
  readonly waiters: number;
  /** The holder's task in a few words, as far as it is known. */
  readonly doing: string | null;
  /** Files that it edited and has not committed, absolute, the latest last; empty if `doing` is known. */
  readonly edited: readonly string[];
  /** It is a directory that was locked as a whole. */
  readonly isDirectory: boolean;
  /** Why it does not yield. Null: it yields, or its holder waits for it, too. */
  readonly stays: LockUse | null;
  /** The time in milliseconds until it yields if it does not touch the file again; null if it does not yield. */
  readonly yieldsInMs: number | null;
}

/** A lock of another session or of an agent within it, as one that starts is told of it. */
export interface PeerLock extends Pick<LockNote, "file" | "heldMs" | "waiters" | "isDirectory" | "stays"> {
  /** The id of the holder's session. */
  readonly session: string;
}

/** What an agent is told of its files with its next event that waits. */
export type BaseNote =
  | LeaseNote
  | PastLockNote
  | TakenNote
  | WipedNote
  | StashTakenNote
  | OverlapNote
  | SameFileNote;

/**
 * An actor wrote a file without its lock (after the lock had ended, or by a shell command). Or two actors wrote it
 * within a few minutes.
 */
export interface PastLockNote {
  readonly what: "lost_update" | "bypassed" | "conflict";
  /** Absolute. */
  readonly file: string;
  /** The agent itself wrote the file; else another one wrote a file in which the agent has work. */
  readonly mine: boolean;
  /** The other actor, by its name for people; null if there is none. */
  readonly other: string | null;
  /** Of a conflict: the lines that the other actor changed, if known. */
  readonly lines?: string;
}

/** The lease of the agent's lock on a resource is over, and it did not lock the resource again. */
export interface LeaseNote {
  readonly what: "lease_over";
  /** The resource's name. */
  readonly file: string;
}

/** The files that an agent declared that it will change. */
export interface CodeViewNote {
  readonly id: string;
  readonly agent: string | null;
  /** Absolute; folders end with a slash. At most `limits.startFilesMax`. */
  readonly files: readonly string[];
  /** The number of files besides these. */
  readonly more: number;
}

/** A task that was finished. */
export interface FinishedNote {
  readonly description: string;
  /** Who finished it; null: a person. */
  readonly by: string | null;
  readonly result: string | null;
}

/** Another agent declared a file that this one declared, too, or a folder with it or in it. */
export interface OverlapNote {
  readonly what: "overlap";
  /** Absolute, as the other agent declared it. */
  readonly file: string;
  /** The other agent, by its name for people. */
  readonly other: string;
  /** What it will do there; empty: it did not say. */
  readonly will: string;
}

/** An agent on another machine changed a file that this session changed, too, and otherwise, as far as that is known. */
export interface SameFileNote {
  readonly what: "same_file";
  /** Absolute. */
  readonly file: string;
  /** The other agent, by its name for people. */
  readonly other: string;
  /** Its session in the shared log, by which the notice is found again, whatever the agent is called then. */
  readonly session: string;
  /** Its branch; null: unknown, or none. */
  readonly branch: string | null;
  /** The other agent has not committed what it changed. */
  readonly uncommitted?: true;
}

/** A git command of another actor took the agent's uncommitted work. */
export interface TakenNote {
  /** `discarded`: the work is not in the working tree any more, whether git still has it (a stash) or not. */
  readonly what: "committed" | "discarded";
  /** Absolute, at most `limits.guardFilesMax`; `more` counts the rest. */
  readonly files: readonly string[];
  readonly more: number;
  /** The command's actor, by its name for people. */
  readonly other: string;
  /** The command's name for people: `git commit -a`. */
  readonly command: string;
  /** The commit's id, abbreviated; null if there is none, or if it is not known. */
  readonly commit: string | null;
}

/** Uncommitted work was wiped or overwritten, and Kite kept it. */
export interface WipedNote {
  readonly what: "wiped";
  /** What brings it back: `r-12`. */
  readonly wipe: string;
  /** The agent itself did it; else it was the agent's work. */
  readonly mine: boolean;
  /** Whose command it was, or of a note on a command of the agent's own whose work, by the name for people; null: nobody's. */
  readonly other: string | null;
  /** The command in short form: `git checkout`. */
  readonly command: string;
  /** Absolute, at most `limits.guardFilesMax`; `more` counts the rest. */
  readonly files: readonly string[];
  readonly more: number;
  /** Lines that these files lost, of all together; null: not counted. */
  readonly lines: number | null;
  /** The wipe has no other files. */
  readonly isAll: boolean;
}

/** Another session's git command took stash entries that the agent's session had made. */
export interface StashTakenNote {
  readonly what: "stash_taken";
  /** Their commits, at most `limits.stashesShownMax`; `more` counts the rest. */
  readonly commits: readonly string[];
  readonly more: number;
  /** The command's actor, by its name for people. */
  readonly other: string;
  /** The command's name for people: `git stash pop`. */
  readonly command: string;
}

/** A file that was refused and is free: it has no holder and no waiter. */
export interface FreedFile {
  /** Absolute. */
  readonly file: string;
  /** Its last holder, by its name for people, if that is known. */
  readonly had: string | null;
}

/** A merge that came back. Branches by their short names. */
export interface ReturnedMerge {
  readonly merge: string;
  readonly branch: string;
  readonly base: string;
}
