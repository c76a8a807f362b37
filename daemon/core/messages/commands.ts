/** The log's commands for context, messages, freezes, and the ends of agents. */

import type { JsonValue } from "../../../protocol/schemas/context.ts";
import type { ActorRow } from "../../../protocol/schemas/lock.ts";
import type { Actor } from "../actor.ts";
import type { FileRef } from "../file-ref.ts";
import type { Retry } from "../origin.ts";

/** Sets a key's value; `actor` null: a person. `bytes` is the size of the value as JSON. */
export interface ContextSet {
  readonly actor: Actor | null;
  readonly project: string;
  readonly key: string;
  readonly value: JsonValue;
  readonly bytes: number;
  readonly durable: boolean;
  /** The request left open whether the value is durable: a durable key stays that. */
  readonly keeps?: true;
  readonly ifVersion: number | null;
  readonly ttlMs: number | null;
  readonly wallMs: number;
  readonly retry?: Retry;
}

export interface ContextDelete {
  readonly actor: Actor | null;
  readonly project: string;
  readonly key: string;
  readonly ifVersion: number | null;
  readonly retry?: Retry;
}

/** The fields of a message and of a broadcast. */
export interface Posted {
  /** Null: a person. */
  readonly actor: Actor | null;
  /** The project that a person writes to; ignored if a session writes, which has its own. */
  readonly project: string;
  readonly text: string;
  /** The size of the text as UTF-8. */
  readonly bytes: number;
  readonly wallMs: number;
  readonly retry?: Retry;
}

export interface MessageSend extends Posted {
  /** An id, a prefix of one, a name or `everyone`; null: the sender of `replyTo`. */
  readonly to: string | null;
  readonly replyTo: string | null;
  readonly urgent: boolean;
}

/** Writes to every other session; `hold` also freezes files for the others. */
export interface Broadcast extends Posted {
  readonly hold: { readonly files: readonly FileRef[]; readonly ttlMs: number } | null;
}

/** A message to sessions of this machine, of the log that it leaves or of Kite itself. `from`: null: a person. */
export interface MessageImport {
  readonly project: string;
  readonly from: ActorRow | null;
  readonly to: readonly ActorRow[];
  readonly text: string;
  /** The size of the text as UTF-8. */
  readonly bytes: number;
  readonly urgent: boolean;
  readonly broadcast: boolean;
  /** Wall time in milliseconds when it was sent. */
  readonly at: number;
  readonly retry?: Retry;
}

export interface MessageAck {
  readonly actor: Actor;
  readonly messages: readonly string[];
  /** The messages stay in the inbox, as read. */
  readonly read?: true;
  readonly retry?: Retry;
}

/** Notes that somebody read the key's value, so that it stays. */
export interface ContextRead {
  readonly project: string;
  readonly key: string;
}

/**
 * Takes up to `max` unread messages for the answer to the actor's event. The messages that earlier answers delivered
 * become read.
 */
export interface InboxTake {
  readonly actor: Actor;
  readonly max: number;
  /** The total length of their texts in UTF-16 units; the first message may be longer. */
  readonly chars: number;
}

/** Records whether the answer with these messages reached its client; if not, they are unread again. */
export interface InboxTold {
  readonly actor: Actor;
  readonly messages: readonly string[];
  readonly heard: boolean;
}

/** An agent within a session ended: its inbox and its freezes end too. */
export interface AgentEnd {
  readonly actor: Actor;
  /** Another agent stopped it, so the main agent is told of its tasks. */
  readonly stopped?: true;
}

/** Ends the actor's freezes, or those of the whole project if a person asks; with `hold` only that one, with `files` only those over them. */
export interface Resume {
  readonly actor: Actor | null;
  readonly project: string;
  readonly hold: string | null;
  readonly files?: readonly FileRef[];
  readonly retry?: Retry;
}

/** These commands by name. */
export interface TalkCommands {
  context_set: ContextSet;
  context_delete: ContextDelete;
  context_read: ContextRead;
  message_send: MessageSend;
  message_ack: MessageAck;
  message_import: MessageImport;
  inbox_take: InboxTake;
  inbox_told: InboxTold;
  broadcast: Broadcast;
  resume: Resume;
  agent_end: AgentEnd;
}

/** The timers of context and freezes. */
export interface TalkDues {
  context_over: { readonly project: string; readonly key: string; readonly version: number };
  context_unused: { readonly project: string; readonly key: string; readonly version: number };
  edit_hold_over: { readonly hold: string };
}
