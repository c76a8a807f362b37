/** What came of an action. */

import type { Refusal } from "../../protocol/codes.ts";
import type { ForeignFile, GuardedCommand, GuardFinding, HeadPlace } from "../../protocol/guard.ts";
import type { FileLockReply, LockUse } from "../../protocol/schemas/lock.ts";
import type { MessageRow } from "../../protocol/schemas/message.ts";
import type { WorkedOn } from "../../protocol/schemas/session.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { ElsewhereRow } from "../../protocol/work.ts";

// What hook outcomes tell about other agents: their locks, their writes, their worktrees.

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
  | CommitNote
  | HeadMovedNote
  | OverlapNote;

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

/** Commits of the agent fell out of all refs, or were published, while a command of another session ran, or unseen. */
export interface CommitNote {
  /** `commit_lost`: no ref has them. `commit_rewritten`: the same, and another commit is in the place of each. */
  readonly what: "commit_lost" | "commit_rewritten" | "commit_pushed";
  /** At most `limits.commitsShownMax`; `more` counts the rest. */
  readonly commits: readonly NotedCommit[];
  readonly more: number;
  /** The command's actor, by its name for people; null: Kite did not see who did it. */
  readonly other: string | null;
  /** The command's name for people: `git commit --amend`; null: not known. */
  readonly command: string | null;
}

export interface NotedCommit {
  /** The whole id. */
  readonly commit: string;
  /** The first line of its message, shortened. */
  readonly subject: string;
  /** The commit in its place. */
  readonly now?: string;
}

/** HEAD of the agent's worktree is somewhere else than the agent knows: its next commit lands there. */
export interface HeadMovedNote {
  readonly what: "head_moved";
  /** Absolute. */
  readonly worktree: string;
  readonly from: HeadPlace;
  readonly to: HeadPlace;
  /** Who moved it, by its name for people; null: Kite did not see that. */
  readonly other: string | null;
  /** Whose the operation in progress there is, by its name for people; absent: there is none, or it is not known. */
  readonly owner?: string;
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

/** What the slices of both halves give to the outcomes of the base. */
interface Names {
  /** The names of all actions, and of those with nothing to tell. */
  readonly action: string;
  readonly plain: string;
  /** What an agent is told with its notes, and besides. */
  readonly note: unknown;
  readonly news: unknown;
}

/**
 * Whether the tool of an event runs: the daemon decides it, an adapter words it. `deny`: it does not run, and its agent
 * is told why. `allow_with_note`: it runs, and its agent is told something. `allow`: it runs without a word.
 */
export type Verdict = "deny" | "allow_with_note" | "allow";

/** A file with others' uncommitted work that a command of a line wipes. */
export interface WipedFile extends Omit<ForeignFile, "file"> {
  /** Absolute. */
  readonly path: string;
  /** The command in short form: `rm`. */
  readonly command: string;
  /** False: Kite could not check in time whether it is committed. */
  readonly isSeen: boolean;
}

/** What happened to a file while an actor waited for it. */
interface FileChange {
  readonly changedWhileWaiting: boolean;
  /** Who wrote the file meanwhile, if the daemon saw it. */
  readonly changedBy: { readonly name: string; readonly lines: string | null } | null;
}

/** A write of the file by another actor of which the edit's actor does not know, as far as Kite can tell. */
export interface UnseenChange {
  /** The file's path. */
  readonly file: string;
  /** The name of the actor that wrote it. */
  readonly name: string;
  /** The changed lines, if known. */
  readonly lines: string | null;
  readonly agoMs: number;
}

/** The outcome of an action. That of `lock` tells whether and how long the actor waited, and who held the file before. */
export type BaseOutcome<N extends Names> =
  | {
      readonly did: "begin";
      readonly ok: true;
      readonly name: string;
      readonly project: string;
      /** Why the session's repository is not known now. */
      readonly unplaced?: string;
    }
  | { readonly did: N["plain"]; readonly ok: true }
  | {
      /** With none of them: the session is not woken. */
      readonly did: "await_release";
      readonly ok: true;
      readonly freed: FreedFile | null;
      /** Agents that it leads and that stalled. */
      readonly health: readonly N["news"][];
      /** A merge that came back, and of which a message tells it. */
      readonly cameBack?: ReturnedMerge;
      /** Notices say that others changed or removed its work; they come with the prompt that follows. */
      readonly hasNotice?: true;
    }
  /** A lock that is not needed: the project ignores the file. */
  | { readonly did: "ignored"; readonly ok: true }
  | {
      readonly did: "list_peers";
      readonly ok: true;
      /** The session's own name. */
      readonly self: string;
      /**
       * The other sessions of the project, the nearest first. Sessions on the same files come first, then those in the
       * same directory, then those on the same branch, then the rest. Within each group those seen last come first. The
       * daemon gives as many as can be shown, and the number of further ones.
       */
      readonly sessions: readonly SessionRow[];
      readonly moreSessions: number;
      /** At a start, sessions of the project on other machines, and the number of further ones; absent: no store is set. */
      readonly elsewhere?: readonly ElsewhereRow[];
      readonly moreElsewhere?: number;
      /**
       * At a start, while the shared store is away: how long ago the project's tasks and messages were known, in
       * milliseconds. Null: they are not known. Absent: as of now.
       */
      readonly storeAgoMs?: number | null;
      /** The session of an agent that starts within it, with the agents that were there; null: a session starts. */
      readonly own: SessionRow | null;
      /** What agents of these sessions will change, as far as they declared it. */
      readonly views: readonly CodeViewNote[];
      /** Their latest locks; those of one session in a row, the nearest first, at most `limits.startFilesMax`. */
      readonly locks: readonly PeerLock[];
      /** Tasks of the project that were finished lately, the latest first. */
      readonly finished: readonly FinishedNote[];
      /** Keys of the project's context by name, and the number of further ones. */
      readonly keys: readonly string[];
      readonly moreKeys: number;
      /** The number of tasks of the project that could be claimed now. */
      readonly readyTasks: number;
      /** The tasks that the session has claimed, the latest first. */
      readonly ownTasks: readonly WorkedOn[];
      /** The number of messages in the main agent's inbox that it was not shown. */
      readonly unread: number;
      /**
       * All above is only what changed since the session was told last: of sessions whose work is known, of tasks and keys
       * of others. `gone`: names of sessions that have ended; `isFirst`: it was told nothing yet. Null: all above is what
       * there is.
       */
      readonly changes: { readonly gone: readonly string[]; readonly isFirst: boolean } | null;
    }
  | {
      readonly did: "glance";
      readonly ok: true;
      /** Null: the daemon does not know the session. */
      readonly glance: Glance | null;
    }
  | {
      readonly did: "inbox";
      readonly ok: true;
      /** The messages to show now. */
      readonly messages: readonly MessageRow[];
      /** The number of unread messages besides these. */
      readonly unread: number;
      /** Notices on the agent's files to show now, and the number of older ones that are lost. */
      readonly notes?: readonly N["note"][];
      readonly dropped?: number;
      /** What is to be told now of the health of agents, and of the reader's own. */
      readonly health?: readonly N["news"][];
      /** The number of the session's open terminals, to be told now; null: one terminal, or told before. */
      readonly terminals?: number | null;
    }
  /** Notices on the agent's files, to be told now. */
  | {
      readonly did: "notes";
      readonly ok: true;
      readonly notes: readonly N["note"][];
      /** The number of older notices that were dropped for lack of room. */
      readonly dropped: number;
    }
  | {
      readonly did: "lock";
      readonly ok: true;
      readonly reply: FileLockReply;
      /** `allow_with_note`: the file changed meanwhile, or another session changes it in another worktree. */
      readonly verdict: Verdict;
      readonly waitedMs: number;
      /** The file differs from what it was when the actor began to wait. */
      readonly changedWhileWaiting: boolean;
      /** Files with work in this and another worktree, of which the session was not told yet. */
      readonly mergeRisks: readonly MergeNote[];
      /** Who wrote the file meanwhile, if the daemon saw it. */
      readonly changedBy: { readonly name: string; readonly lines: string | null } | null;
      /** The path of that file; null: none changed. */
      readonly changedFile?: string | null;
      /** Null: there is none that the tool would undo. */
      readonly unseen?: UnseenChange | null;
      /** Paths of files with uncommitted work that the tool replaces and of which Kite has no copy. */
      readonly unkept: readonly string[];
      readonly before: string | null;
    }
  | {
      /** The step would write a file of Kite's own. A step that would not has no outcome. */
      readonly did: "check_own_files";
      readonly ok: true;
      readonly verdict: "deny";
      /** The file's name in Kite's directory; empty: that directory itself. */
      readonly name: string;
      /** Its path. */
      readonly path: string;
    }
  | {
      readonly did: "guard";
      readonly ok: true;
      readonly verdict: Verdict;
      /** The commands for which the aliases stand. */
      readonly aliased: readonly GuardedCommand[];
      /** All that the answer has to tell; if empty, the line may run. */
      readonly findings: readonly GuardFinding[];
      /** Why a part could not be checked, in a sentence; null if all was checked. */
      readonly unchecked: string | null;
      /** How long the actor waited for an index, and who held it. */
      readonly waitedMs: number;
      readonly before: string | null;
    }
  | ({
      readonly did: "plain_files";
      readonly ok: true;
      /** `allow_with_note`: it wipes work of ended sessions, or a file changed while the line waited. */
      readonly verdict: Verdict;
      /** The work of others that the line would wipe, at most `limits.guardFilesMax` files; `more` counts the rest. */
      readonly wiped: readonly WipedFile[];
      readonly more: number;
      readonly waitedMs: number;
      readonly before: string | null;
      /** The first file that it changes, and what happened to that one while the line waited. */
      readonly file: string | null;
      /** Paths of files with uncommitted work that it changes and of which Kite has no copy. */
      readonly unkept: readonly string[];
    } & FileChange)
  | {
      readonly did: "keep_work";
      readonly ok: true;
      /** `deny`: the same line runs when it is sent again. */
      readonly verdict: Verdict;
      /** Files that the line wipes and whose content is not kept yet, absolute, at most `limits.rescueNamedMax`. */
      readonly files: readonly string[];
      readonly more: number;
    }
  | {
      readonly did: N["action"];
      readonly ok: false;
      readonly refusal: Refusal;
      /** `allow`: the tool runs although Kite failed, and its person is told. */
      readonly verdict: Exclude<Verdict, "allow_with_note">;
      readonly holder: LockNote | null;
      /** The longest wait in milliseconds, if that is less than the event asked for. */
      readonly waitMs?: number;
      /** The queue position that the actor keeps although it was refused, counted from 1. */
      readonly place?: number;
    };

/** What a person in front of a session wants to see of it at any time. */
export interface Glance {
  /** What others call the session. */
  readonly name: string;
  /** The files that the session and its agents hold, the latest first, and how many more. */
  readonly holds: readonly string[];
  readonly moreHolds: number;
  /** Who waits for one of them; each once. */
  readonly waiters: readonly string[];
  /** The first file that one of them waits for, and who has it if somebody does. */
  readonly waitsFor: { readonly file: string; readonly holder: string | null } | null;
  readonly readyTasks: number;
  readonly unread: number;
}
