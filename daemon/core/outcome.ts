import type { Refusal } from "../../protocol/codes.ts";
import type { KiteEvent } from "../../protocol/events.ts";
import type { Due, LockRequest } from "./commands.ts";
import type { Origin } from "./origin.ts";

/** An event by the epoch and the entry it came from, and its number there. */
export interface Told {
  readonly epoch: number;
  readonly seq: number;
  readonly n: number;
}

/** A success or a refusal, as it goes over the wire. */
export type Reply = { readonly ok: true; readonly [field: string]: unknown } | Refusal;

/** What an entry leads to outside the state. The engine lets it out once the entry is as durable as it has to be. */
export class Step {
  /** The answer to the entry's own origin; null: it waits. */
  reply: Reply | null = null;
  /** Answers to requests that waited. */
  readonly answers: Answer[] = [];
  readonly events: CoreEvent[] = [];
  /** The latest event before this entry's. */
  told: Told | null = null;
  /** What will be due later. */
  readonly timers: Timer[] = [];
}

export interface Answer {
  readonly to: Origin;
  readonly reply: Reply;
  /** Who was granted a lock: if nobody is there to hear of it, `lock_undelivered` undoes it. Null: no grant. */
  readonly grant: Grant | null;
}

/** Who was granted which files. */
export type Grant = Pick<LockRequest, "actor" | "files">;

/** An event with those it is about; `to` sends it to the connection of one request alone. */
export interface CoreEvent {
  readonly event: KiteEvent;
  readonly about: readonly string[];
  readonly project: string;
  readonly to?: Origin;
}

export interface Timer {
  readonly at: number;
  readonly due: Due;
}
