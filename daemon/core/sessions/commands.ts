/** The log's commands for sessions, and for the agents within them. */
import type { Actor, Anchor } from "../actor.ts";
import type { Retry } from "../origin.ts";
import type { NameSource } from "./name-source.ts";

export interface SessionBegin {
  readonly session: string;
  readonly anchor: Anchor | null;
  readonly cwd: string;
  readonly project: string;
  readonly worktree: string;
  readonly branch: string | null;
  readonly name: string | null;
  /** Who chose `name`; absent: the client, for good. */
  readonly named?: NameSource;
  /** Whether an id that ended within the last hour may begin again, also in a process that it had, or in none. */
  readonly revive: boolean;
  /** The record of the spawned agent that this session is, as its process says. */
  readonly spawn?: string;
  /** Its agent client, if its entries name one. */
  readonly client?: string;
  /** Wall time, to be shown to people. */
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** Gives a session a name that only a person replaces. */
export interface SessionRename {
  /** Null: a person. */
  readonly by: Actor | null;
  /** Which, as recipients are named, in this project. */
  readonly of: string;
  readonly name: string;
  readonly project: string;
  readonly retry?: Retry;
}

/** Ends one incarnation, or with `incarnation: null` the whole session. */
export interface SessionEnd {
  readonly session: string;
  readonly incarnation: number | null;
  /** `begun` of the incarnation meant, so that the command does not end a later one of the same ordinal. */
  readonly begun?: number;
  readonly cause: "deregistered" | "ended" | "anchor_gone";
  readonly retry?: Retry;
}

/** A session without anchor sent no sign of life for `limits.silenceMs`, or one whose process says nothing of its life no turn. */
export interface SessionLost {
  readonly session: string;
  /** `begun` of the session meant, so that the command does not touch a later one of the same id. */
  readonly begun: number;
  /** It had no turn for long, and its process may outlive it. */
  readonly isIdle?: true;
}

/** A lost session sent a sign of life. */
export interface SessionFound {
  readonly session: string;
}

/** Suspends the session: its process may go on under another id and then inherits its explicit locks and tasks. */
export interface SessionSuspend {
  readonly session: string;
}

/** An agent within a session begins; `name` is its client's name for it, or null if not known yet. */
export interface AgentBegin {
  readonly session: string;
  readonly agent: string;
  readonly name: string | null;
}

/** These commands by name. */
export interface SessionCommands {
  session_begin: SessionBegin;
  session_rename: SessionRename;
  session_end: SessionEnd;
  session_lost: SessionLost;
  session_found: SessionFound;
  session_suspend: SessionSuspend;
  agent_begin: AgentBegin;
}

export interface OfSession {
  readonly session: string;
  readonly begun: number;
}

/** The timers of sessions. */
export interface SessionDues {
  suspend_over: OfSession;
  lost_turns_over: OfSession;
  lost_leases_over: OfSession;
  lost_over: OfSession;
}
