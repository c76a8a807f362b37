/** The effects of an entry: replies, events, timers. Invariant: a step never changes the state. */
import type { Refusal } from "../../protocol/codes.ts";
import type { KiteEvent } from "../../protocol/events.ts";
import type { ActorRow } from "../../protocol/schemas/lock.ts";
import type { Due } from "./commands.ts";
import type { LockRequest } from "./locks/commands.ts";
import type { Origin } from "./origin.ts";

/** An event's position: the epoch and `seq` of its entry, and its number within the entry. */
export interface EventCursor {
  readonly epoch: number;
  readonly seq: number;
  readonly n: number;
}

/** A success or a refusal, as the wire carries it. */
export type Reply = { readonly ok: true; readonly [field: string]: unknown } | Refusal;

/** The effects of an entry outside the state. The engine releases them once the entry is as durable as required. */
export class Step {
  /** In a shared log: the person who speaks in the entry; null: it has another speaker. */
  person: ActorRow | null = null;
  /** The answer to the entry's own origin; null: the request waits. */
  reply: Reply | null = null;
  /** Answers to waiters. */
  readonly answers: Answer[] = [];
  readonly events: CoreEvent[] = [];
  /** The latest event before this entry's. */
  lastEventCursor: EventCursor | null = null;
  /** Timers that the step starts. */
  readonly timers: Timer[] = [];
}

export interface Answer {
  readonly to: Origin;
  readonly reply: Reply;
  /** The grant that this answer carries, or null; `lock_undelivered` undoes it if the answer is not delivered. */
  readonly grant: Granted | null;
}

/** The holder and the files of a grant. */
export type Grant = Pick<LockRequest, "actor" | "files">;

/** A grant with what says how long its lock lasts. */
export type Granted = Grant & Pick<LockRequest, "kind" | "bound">;

/** An event with the sessions that it is `about`; with `to`, only that request's connection gets it. */
export interface CoreEvent {
  readonly event: KiteEvent;
  readonly about: readonly string[];
  readonly project: string;
  readonly to?: Origin;
  /** In a shared log: the node whose news it is, which has another event of it. */
  readonly from?: string;
  /** Of `lock_released`: how long each of the named files was locked, in milliseconds. Not on the wire. */
  readonly heldMs?: readonly number[];
  /** Of a task: who worked on it before the step. Not on the wire. */
  readonly worker?: ActorRow;
}

export interface Timer {
  readonly at: number;
  readonly due: Due;
}
