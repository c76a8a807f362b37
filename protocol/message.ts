import { z } from "zod";
import { limits } from "./limits.ts";
import type { ActorRow } from "./lock.ts";
import { baseShape, idSchema, pathSchema } from "./session.ts";

/** Who acts; without `id` it is a person at a terminal, who has to say the project. */
const byShape = { ...baseShape, id: idSchema.optional(), agent: idSchema.optional() };
const actorShape = { ...baseShape, id: idSchema, agent: idSchema.optional() };
const recipientSchema = z
  .string()
  .min(1)
  .max(limits.idBytes + limits.nameBytes);
/** Its bytes are counted when it is sent: `message_too_long`. */
const textSchema = z.string().min(1);

/**
 * Write to somebody in the sender's project: `to` is a session's id, the beginning of one, a name (an agent's within
 * a session is `alice/Explore`), or `everyone`. Refused by `recipient_gone`, `recipient_ambiguous` (with `matches`),
 * `inbox_full`, `too_many_messages`, `messages_full`, `message_too_long`.
 */
export const messageSendSchema = z
  .object({
    ...byShape,
    /** May be left out with `replyTo`: whoever wrote that message. */
    to: recipientSchema.optional(),
    text: textSchema,
    /** The message that this one answers: both are of one thread. */
    replyTo: idSchema.optional(),
    urgent: z.boolean().optional(),
  })
  .refine(r => r.to !== undefined || r.replyTo !== undefined, { error: "give to, or replyTo" });

/** The actor's inbox, oldest first; nothing counts as read by this. */
export const messageListSchema = z.object({
  ...actorShape,
  /** Only those not read yet. */
  unread: z.boolean().optional(),
  /** Only those of this thread. */
  thread: idSchema.optional(),
  limit: z.number().int().min(1).max(limits.rowsMax).optional(),
  /** `next` of the reply before. */
  after: z
    .string()
    .max(limits.pathBytes * 2)
    .optional(),
});

/** Done with messages: they leave the inbox. One that is not in it refuses all: `unknown_message`. */
export const messageAckSchema = z
  .object({
    ...actorShape,
    message: idSchema.optional(),
    messages: z.array(idSchema).min(1).max(limits.inboxMax).optional(),
    /** Only read: they stay in the inbox, to be answered, and are not shown again by themselves. */
    read: z.literal(true).optional(),
  })
  .refine(r => (r.message === undefined) !== (r.messages === undefined), {
    error: "give exactly one of message and messages",
  });

/** Write to every other session of the project, perhaps asking them not to edit some files for a while. */
export const broadcastSchema = z.object({
  ...byShape,
  /** The text. */
  message: textSchema,
  /**
   * Edits of these files by others are refused (`edits_held`) until `resume`, the end of the actor or of the time.
   * Refused by `too_many_holds`.
   */
  hold: z
    .object({
      files: z.array(pathSchema).min(1).max(limits.holdFilesMax),
      ttlMs: z.number().int().min(1).max(limits.holdMaxMs),
    })
    .optional(),
});

/** Ends holds before their time: the actor's own; a person's request ends those of everybody in the project. */
export const resumeSchema = z.object({
  ...byShape,
  /** Only this one; refused by `unknown_hold`. */
  hold: idSchema.optional(),
});

/** A message in somebody's inbox. */
export interface MessageRow {
  readonly id: string;
  /** Who wrote it; null: a person at a terminal. */
  readonly from: ActorRow | null;
  readonly to: ActorRow;
  readonly project: string;
  readonly text: string;
  readonly replyTo: string | null;
  /** The first message of its thread; its own id where it is that. */
  readonly thread: string;
  readonly urgent: boolean;
  readonly broadcast: boolean;
  /** Wall time in milliseconds. */
  readonly at: number;
  readonly state: "unread" | "read";
  /** The reader's own message, come back: whom it did not reach, who has gone. */
  readonly undelivered: string | null;
}

/** A message as a query shows it: who has it, and whether they have read it. */
export interface PostedRow extends Omit<MessageRow, "to" | "state" | "undelivered"> {
  readonly to: readonly (ActorRow & { readonly state: MessageRow["state"] })[];
}

export interface SentRow {
  readonly id: string;
  readonly thread: string;
  readonly to: readonly ActorRow[];
}

export interface MessageSendReply {
  readonly ok: true;
  readonly message: SentRow;
  /** Recipients of a message to everyone whose inbox is full: it did not reach them. */
  readonly full?: readonly ActorRow[];
}

export interface MessageListReply {
  readonly ok: true;
  readonly messages: readonly MessageRow[];
  /** Unread ones in the whole inbox. */
  readonly unread: number;
  readonly next?: string;
}

export interface MessageAckReply {
  readonly ok: true;
  readonly acknowledged: readonly string[];
}

/** Files that others than `by` may not edit for a while. */
export interface HoldRow {
  readonly hold: string;
  readonly files: readonly string[];
  readonly paths: readonly string[];
  readonly project: string;
  /** Who asked for it; null: a person at a terminal. */
  readonly by: ActorRow | null;
  readonly text: string;
  readonly heldMs: number;
  readonly leftMs: number;
}

export interface BroadcastReply extends MessageSendReply {
  readonly hold?: HoldRow;
}

export interface ResumeReply {
  readonly ok: true;
  /** The holds that ended. */
  readonly resumed: readonly string[];
}
