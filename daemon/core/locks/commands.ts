/** The log's commands for locks, and for the writes in flight under them. */
import type { Actor } from "../actor.ts";
import type { FileName, FileRef } from "../file-ref.ts";
import type { WriteNote } from "../files/commands.ts";
import type { Bound, Origin, Retry } from "../origin.ts";

export type LockKind = "explicit" | "turn";

export interface LockRequest {
  readonly actor: Actor;
  readonly files: readonly FileRef[];
  /** Whether the request named one `file`, not `files`. */
  readonly single: boolean;
  readonly kind: LockKind;
  readonly waitMs: number;
  readonly depth: number;
  /** How long the queue position outlives the time-out, in milliseconds; 0: it ends at once. */
  readonly placeMs: number;
  /** Whether the queue position also outlives the connection, for `limits.placeMs`. */
  readonly detach: boolean;
  readonly progress: boolean;
  /** The prompt that a turn lock belongs to. */
  readonly prompt: string | null;
  /** The tool use that will write after the grant; its write is in flight until its end is seen. */
  readonly flight: string | null;
  /**
   * The end of that write may never be told: this long after the grant, in milliseconds, it counts from as an unused lock
   * does. Absent: its end, or that of its turn, is told.
   */
  readonly untoldMs?: number;
  /** The actor's earlier writes may not have begun yet, so they stay in flight. Absent: they have ended. */
  readonly beside?: true;
  /** A turn lock untouched for this long, in milliseconds, yields to a waiter. */
  readonly yieldMs: number;
  /** Agents of the same session whose locks pass to this actor; null is the main agent. */
  readonly ancestors: readonly (string | null)[];
  readonly bound: Bound | null;
  /** Project and directory of a session id that is not registered yet. */
  readonly project: string;
  readonly cwd: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** The connection of a waiter closed. `kept`: the retry under which a reply sent to that connection is kept. */
export interface LockDetach {
  readonly waiter: Origin;
  readonly kept?: Retry;
}

/**
 * The answer to a grant was not delivered: `waiter` is its origin, `keys` are the keys of its files, `kept` is as in
 * `LockDetach`.
 */
export interface LockUndelivered {
  readonly waiter: Origin;
  readonly actor: Actor;
  readonly keys: readonly string[];
  readonly kept?: Retry;
}

export interface LockRelease {
  readonly actor: Actor;
  readonly files: readonly FileName[] | "all";
  readonly retry?: Retry;
}

/** Takes locks from their holders by force; an event tells each holder and names `by`. */
export interface LockRevoke {
  readonly by: string;
  readonly files: readonly FileName[];
  readonly retry?: Retry;
}

/** A connection with bound locks closed. */
export interface LockUnbind {
  readonly bound: Bound;
}

/** Releases the actor's turn locks, except those of `keepPrompt`. */
export interface TurnEnd {
  readonly actor: Actor;
  readonly keepPrompt: string | null;
  /** The turn ended then (core time), and nobody heard of it: what began later stays. Absent: it ends now. */
  readonly untilMs?: number;
}

/** A write in flight ended, or with `flight: null` all of the actor's did. */
export interface FlightEnd {
  readonly actor: Actor;
  readonly flight: string | null;
  /** Whether the tool wrote the file. */
  readonly wrote: boolean;
  /** The file that was written, if it is in a repository. */
  readonly noted?: WriteNote;
}

/** A permission dialog opened for the actor's write in flight, which renews its lease once. */
export interface LeaseRenew {
  readonly actor: Actor;
}

/** What the actor's client shows of its writes in flight that this start did not see begin: see `locks/unseen.ts`. */
export interface FlightUnseen {
  readonly actor: Actor;
  readonly now: "waits" | "runs" | "over";
}

/** These commands by name. */
export interface LockCommands {
  lock_request: LockRequest;
  lock_detach: LockDetach;
  lock_undelivered: LockUndelivered;
  lock_release: LockRelease;
  lock_revoke: LockRevoke;
  lock_unbind: LockUnbind;
  turn_end: TurnEnd;
  flight_end: FlightEnd;
  lease_renew: LeaseRenew;
  flight_unseen: FlightUnseen;
}

export interface OfWaiter {
  readonly ticket: number;
}

export interface OfLock {
  readonly key: string;
  /** The `grant` of the lock's first token. */
  readonly first: number;
}

/** The timers of locks. */
export interface LockDues {
  wait_over: OfWaiter;
  place_over: OfWaiter;
  turn_lease_over: OfLock;
  resource_lease_over: OfLock;
  yield_over: OfLock;
  unseen_over: OfLock;
  bound_over: OfLock;
  /** A step left free waiters ungranted: `limits.grantsPerStepMax`. */
  grants_left: object;
}
