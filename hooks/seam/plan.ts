/** The types between the daemon and an adapter: plan, outcomes, context. */

import type { Refusal } from "../../protocol/codes.ts";
import type { GuardedCommand, GuardFinding } from "../../protocol/guard.ts";
import type { HookReply } from "../../protocol/hook.ts";
import type { GateFinding } from "../../protocol/lead/gates.ts";
import type { TeamFinding } from "../../protocol/lead/team.ts";
import type { FileLockReply } from "../../protocol/lock.ts";
import type { MessageRow } from "../../protocol/message.ts";
import type { Doing, WorkedOn } from "../../protocol/session.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { PlainAction } from "./action-traits.ts";
import type { HookAction } from "./actions.ts";
import type {
  CodeViewNote,
  FileNote,
  FinishedNote,
  FreedFile,
  HealthNote,
  LockNote,
  MergeNote,
  PeerLock,
  ReturnedMerge,
} from "./notices.ts";
import type { ClientTeams } from "./teams.ts";

/**
 * Whether the tool of an event runs: the daemon decides it, an adapter words it. `deny`: it does not run, and its agent
 * is told why. `allow_with_note`: it runs, and its agent is told something. `allow`: it runs without a word.
 */
export type Verdict = "deny" | "allow_with_note" | "allow";

/** The outcome of an action. That of `lock` tells whether and how long the actor waited, and who held the file before. */
export type HookOutcome =
  | {
      readonly did: "begin";
      readonly ok: true;
      readonly name: string;
      readonly project: string;
      /** Why the session's repository is not known now. */
      readonly unplaced?: string;
    }
  | { readonly did: PlainAction; readonly ok: true }
  | {
      /** With none of them: the session is not woken. */
      readonly did: "await_release";
      readonly ok: true;
      readonly freed: FreedFile | null;
      /** Agents that it leads and that stalled. */
      readonly health: readonly HealthNote[];
      /** A merge that came back, and of which a message tells it. */
      readonly cameBack?: ReturnedMerge;
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
      readonly notes?: readonly FileNote[];
      readonly dropped?: number;
      /** What is to be told now of the health of agents, and of the reader's own. */
      readonly health?: readonly HealthNote[];
      /** The number of the session's open terminals, to be told now; null: one terminal, or told before. */
      readonly terminals?: number | null;
    }
  /** Notices on the agent's files, to be told now. */
  | {
      readonly did: "notes";
      readonly ok: true;
      readonly notes: readonly FileNote[];
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
      readonly before: string | null;
    }
  | GateOutcome
  | TeamOutcome
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
  | {
      readonly did: HookAction["do"];
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

/** What the gates found before a step of an agent. */
export interface GateOutcome {
  readonly did: "gate_write" | "gate_shell" | "gate_stop" | "gate_complete";
  readonly ok: true;
  readonly verdict: Verdict;
  readonly findings: readonly GateFinding[];
  /** The agent was told the same findings before. */
  readonly isRepeated: boolean;
  /** The task that the agent claimed, for an example; null: it claimed none. */
  readonly task: string | null;
}

/** What the rules of a team found before a call of the client's own tools. */
export interface TeamOutcome {
  readonly did: "gate_team";
  readonly ok: true;
  readonly verdict: Verdict;
  readonly findings: readonly TeamFinding[];
}

/** What a plan needs from outside the payload. */
export interface HookContext {
  readonly env: Readonly<Record<string, string>>;
  readonly ppid: number | null;
  /** The socket, for the client's environment file. */
  readonly socket: string;
  readonly waitMs: number;
  /** The hook runs beside the one that ends the turn, and wakes its session when it exits with 2. */
  readonly wake: boolean;
  /** The event is what the client gives its status line. */
  readonly statusLine?: boolean;
}

/**
 * One event at the seam between the daemon and the adapter for one agent client. The adapter, which is pure, turns it into
 * actions. The daemon runs them up to the first refusal (`action-traits.ts` says which run after it, too). The adapter
 * words the outcomes for the hook to print. So the core knows no client, and the adapter no sockets.
 */
export interface HookPlan {
  readonly event: string;
  readonly session: string | null;
  readonly agent: string | null;
  readonly tool: string | null;
  readonly file: string | null;
  /** What the actor does now, or did, if the event says it. */
  readonly doing: Doing | null;
  /** The record of the spawned agent that the session is, by `KITE_SPAWN` in its environment. */
  readonly spawn?: string;
  /** The client's own folder, as far as the event tells. */
  readonly home: string | null;
  /** The transcript of the session; null if the event names none. */
  readonly transcript: string | null;
  readonly actions: readonly HookAction[];
  readonly answer: (outcomes: readonly HookOutcome[]) => Omit<HookReply, "ok">;
}

/** What the daemon knows of one agent client. Pure: it reads no file and no clock. */
export interface HookAdapter {
  /** Turns one event into a plan. Never throws: an unknown event has no actions and an empty answer. */
  plan(event: Readonly<Record<string, unknown>>, context: HookContext): HookPlan;
  readonly agentFile: AgentFile;
  readonly teams: ClientTeams;
  readonly lifeFiles: LifeFiles;
}

/** A file in which the client keeps the parent of one of its agents. */
export interface AgentFile {
  /** Whether an absolute path can be such a file. The daemon reads no other, whatever an event names. */
  isOne(path: string): boolean;
  /** The parent of the agent; null if the text names none or does not have the form of such a file. */
  parentIn(text: string): string | null;
}

/** Files in which the client shows that an agent lives. Pure: it says which they are, and what their texts mean. */
export interface LifeFiles {
  /** The files of an agent; null if `transcript` cannot be a transcript of the client. */
  of(agent: WatchedAgent): { readonly transcript: string; readonly status: string | null } | null;
  /** What the end of a transcript tells, by its last lines, the oldest first; the first may be cut. */
  readEnd(lines: readonly string[]): TranscriptEnd;
  /** What the status file of this session says; null if it is another session's, or has another form. */
  readStatus(text: string, session: string): ClientStatus | null;
}

export interface WatchedAgent {
  readonly session: string;
  readonly agent: string | null;
  /** The transcript that the session's events name. */
  readonly transcript: string;
  readonly pid: number | null;
}

/**
 * `tool`: a tool is called and has not answered. `service`: the client asks the model's service again and again.
 * `interrupted`: a person interrupted the turn. `model`: none of these. `unknown`: the lines do not tell.
 */
export type TranscriptEnd = "tool" | "service" | "interrupted" | "model" | "unknown";

/** `waiting`: on a person; `on` says for what, in the client's words. */
export interface ClientStatus {
  readonly status: "busy" | "idle" | "waiting";
  readonly on: string;
}
