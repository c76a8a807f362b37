/** What came of an action. */

import type { Refusal } from "../../protocol/codes.ts";
import type { ForeignFile, GuardedCommand, GuardFinding } from "../../protocol/guard.ts";
import type { FileLockReply } from "../../protocol/schemas/lock.ts";
import type { MessageRow } from "../../protocol/schemas/message.ts";
import type { WorkedOn } from "../../protocol/schemas/session.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { ElsewhereRow } from "../../protocol/work.ts";
import type {
  CodeViewNote,
  FinishedNote,
  FreedFile,
  LockNote,
  MergeNote,
  PeerLock,
  ReturnedMerge,
} from "./notices.ts";

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
       * The other sessions of the project, the nearest first: those that work on the same files, then in the same
       * directory, then on the same branch, then the rest; each time those seen last first. The daemon gives as many as
       * can be shown, and the number of further ones.
       */
      readonly sessions: readonly SessionRow[];
      readonly moreSessions: number;
      /** At a start, sessions of the project on other machines, and the number of further ones; absent: no store is set. */
      readonly elsewhere?: readonly ElsewhereRow[];
      readonly moreElsewhere?: number;
      /**
       * At a start, while the shared store is away: how long ago the project's tasks and messages were known, in milliseconds; null: they
       * are not known. Absent: as of now.
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
