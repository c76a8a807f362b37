/** What agents say to each other and share, as the log holds it. */

import type { JsonValue } from "../../../protocol/context.ts";
import type { Actor } from "../actor.ts";
import type { FileRef } from "../file-ref.ts";
import type { Retry } from "../origin.ts";

/** A value for a key; `actor` null: a person. `bytes` is the size of the value as JSON. */
export interface ContextSet {
  readonly actor: Actor | null;
  readonly project: string;
  readonly key: string;
  readonly value: JsonValue;
  readonly bytes: number;
  readonly durable: boolean;
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

/** What all that is written to others has. */
export interface Posted {
  /** Null: a person. */
  readonly actor: Actor | null;
  /** Counts where a person writes; else it is the session's. */
  readonly project: string;
  readonly text: string;
  /** Of the text as UTF-8. */
  readonly bytes: number;
  readonly wallMs: number;
  readonly retry?: Retry;
}

export interface MessageSend extends Posted {
  /** An id, the beginning of one, a name or `everyone`; null: who wrote `replyTo`. */
  readonly to: string | null;
  readonly replyTo: string | null;
  readonly urgent: boolean;
}

/** To every other session, perhaps with files that nobody else may edit meanwhile. */
export interface Broadcast extends Posted {
  readonly hold: { readonly files: readonly FileRef[]; readonly ttlMs: number } | null;
}

export interface MessageAck {
  readonly actor: Actor;
  readonly messages: readonly string[];
  /** They stay, as read ones. */
  readonly read?: true;
  readonly retry?: Retry;
}

/**
 * An event of the actor's is about to be answered: what it was given before counts as read, and up to so many more
 * messages go into the answer.
 */
export interface InboxTake {
  readonly actor: Actor;
  readonly max: number;
  /** UTF-16 units of their texts together; the first one may be longer. */
  readonly chars: number;
}

/** Whether the answer with these messages reached its client; if not, they are unread again. */
export interface InboxTold {
  readonly actor: Actor;
  readonly messages: readonly string[];
  readonly heard: boolean;
}

/** An agent within a session begins; `name` is what its client calls it, or null if that is not known yet. */
export interface AgentBegin {
  readonly session: string;
  readonly agent: string;
  readonly name: string | null;
}

/** An agent within a session is no more: its inbox and its holds on edits go. */
export interface AgentEnd {
  readonly actor: Actor;
}

/** Ends the actor's holds on edits, a person's request those of all; with `hold` that one alone. */
export interface Resume {
  readonly actor: Actor | null;
  readonly project: string;
  readonly hold: string | null;
  readonly retry?: Retry;
}

/** These commands by name. */
export interface TalkCommands {
  context_set: ContextSet;
  context_delete: ContextDelete;
  message_send: MessageSend;
  message_ack: MessageAck;
  inbox_take: InboxTake;
  inbox_told: InboxTold;
  broadcast: Broadcast;
  resume: Resume;
  agent_begin: AgentBegin;
  agent_end: AgentEnd;
}
