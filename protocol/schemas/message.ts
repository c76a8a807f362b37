/** The wire of messages and freezes: requests, replies and rows. */

import * as z from "zod";
import { limits } from "../limits.ts";
import { once, type RequestTable, reply } from "../request-table.ts";
import type { ActorRow, FilesNews } from "./lock.ts";
import { baseShape, idSchema, pathSchema } from "./session.ts";

/** The actor; without `id` a person at a terminal, who must name the project. */
const byShape = { ...baseShape, id: idSchema.optional(), agent: idSchema.optional() };
const actorShape = { ...baseShape, id: idSchema, agent: idSchema.optional() };
const recipientSchema = z
  .string()
  .min(1)
  .max(limits.idBytes + limits.nameBytes);
/** The daemon checks the size in bytes when the message is sent: `message_too_long`. */
const textSchema = z.string().min(1);

/**
 * Sends a message within the sender's project. `to` is a session's id, a prefix of one, a name (an agent's within a
 * session is `alice/Explore`), or `everyone`. Refused by `recipient_gone`, `recipient_ambiguous` (with `matches`),
 * `inbox_full`, `too_many_messages`, `messages_full`, `message_too_long`.
 */
export const messageSendSchema = z
  .object({
    ...byShape,
    /** The recipient; without it the sender of `replyTo`. */
    to: recipientSchema.optional(),
    text: textSchema,
    /** The message that this one answers; both are in one thread. */
    replyTo: idSchema.optional(),
    urgent: z.boolean().optional(),
  })
  .refine(r => r.to !== undefined || r.replyTo !== undefined, { error: "give to, or replyTo" });

/** Lists the actor's inbox, oldest first; listing marks no message as read. */
const messageListSchema = z.object({
  ...actorShape,
  /** Only unread messages. */
  unread: z.boolean().optional(),
  /** Only messages of this thread. */
  thread: idSchema.optional(),
  limit: z.number().int().min(1).max(limits.rowsMax).optional(),
  /** `next` of the previous reply. */
  after: z
    .string()
    .max(limits.pathBytes * 2)
    .optional(),
});

/** Acknowledges messages, which then leave the inbox: all of them, or if one is not in it, none (`unknown_message`). */
export const messageAckSchema = z
  .object({
    ...actorShape,
    message: idSchema.optional(),
    messages: z.array(idSchema).min(1).max(limits.inboxMax).optional(),
    /** Marks the messages as read instead: they stay in the inbox, but no answer delivers them again. */
    read: z.literal(true).optional(),
  })
  .refine(r => (r.message === undefined) !== (r.messages === undefined), {
    error: "give exactly one of message and messages",
  });

/** Writes to every other session of the project, and may freeze files for them. */
export const broadcastSchema = z.object({
  ...byShape,
  /** The text. */
  message: textSchema,
  /**
   * Freezes these files: others' edits are refused (`edits_held`) until `resume`, the end of the actor or of `ttlMs`.
   * Refused by `too_many_holds`.
   */
  hold: z
    .object({
      files: z.array(pathSchema).min(1).max(limits.holdFilesMax),
      ttlMs: z.number().int().min(1).max(limits.freezeMaxMs),
    })
    .optional(),
});

/** Ends freezes early: the actor's own, or if a person asks, all of the project. */
export const resumeSchema = z
  .object({
    ...byShape,
    /** Only this freeze; refused by `unknown_hold`. */
    hold: idSchema.optional(),
    /** Only the freezes over these files; refused by `unknown_hold` if no freeze is over one of them. */
    files: z.array(pathSchema).min(1).max(limits.holdFilesMax).optional(),
  })
  .refine(r => r.hold === undefined || r.files === undefined, { error: "give hold, or files" });

/** A message in an inbox. */
export interface MessageRow {
  readonly id: string;
  /** The sender; null: a person at a terminal of this machine. The id of another machine's is `person@NODE`. */
  readonly from: ActorRow | null;
  readonly to: ActorRow;
  readonly project: string;
  readonly text: string;
  readonly replyTo: string | null;
  /** The id of the first message of its thread, perhaps its own. */
  readonly thread: string;
  readonly urgent: boolean;
  readonly broadcast: boolean;
  /** Wall time in milliseconds. */
  readonly at: number;
  readonly state: "unread" | "read";
  /** The name of the ended recipient, if this is the reader's own message returned; else null. */
  readonly undelivered: string | null;
}

/**
 * A message as a query shows it: its recipients, and whether each has read it. `acknowledged`: it has left that inbox, and the
 * target `messages_acknowledged` has it.
 */
export interface PostedRow extends Omit<MessageRow, "to" | "state" | "undelivered"> {
  readonly to: readonly (ActorRow & { readonly state: MessageRow["state"] | "acknowledged" })[];
}

interface SentRow {
  readonly id: string;
  readonly thread: string;
  readonly to: readonly ActorRow[];
}

export interface MessageSendReply {
  readonly ok: true;
  readonly message: SentRow;
  /** Recipients of a message to everyone that it did not reach, because their inboxes are full. */
  readonly full?: readonly ActorRow[];
}

export interface MessageListReply {
  readonly ok: true;
  readonly messages: readonly MessageRow[];
  /** The number of unread messages in the whole inbox. */
  readonly unread: number;
  readonly next?: string;
}

interface MessageAckReply {
  readonly ok: true;
  readonly acknowledged: readonly string[];
}

/** A freeze: files that only `by` may edit for a while. */
export interface HoldRow {
  readonly hold: string;
  readonly files: readonly string[];
  readonly paths: readonly string[];
  readonly project: string;
  /** The actor that froze the files; null: a person at a terminal. */
  readonly by: ActorRow | null;
  readonly text: string;
  readonly heldMs: number;
  readonly leftMs: number;
}

interface BroadcastReply extends MessageSendReply {
  readonly hold?: HoldRow;
}

interface ResumeReply {
  readonly ok: true;
  /** The ids of the freezes that ended. */
  readonly resumed: readonly string[];
}

/**
 * The agent's answer took messages out of its inbox, or says that what it was given before is read. It tells of no entry, so it
 * has no cursor.
 */
export interface InboxEvent {
  readonly event: "inbox_changed";
  readonly by: Pick<ActorRow, "id" | "agent">;
  readonly project: string;
}

/** The events of messages. */
export type MessageEvent =
  | InboxEvent
  | {
      /** Without the text, which the recipients have in their inboxes. */
      readonly event: "message_sent";
      readonly message: string;
      readonly from: ActorRow | null;
      /** At most 100; `more` counts the rest. */
      readonly to: readonly ActorRow[];
      readonly more?: number;
      readonly project: string;
      readonly urgent: boolean;
    }
  | { readonly event: "message_acknowledged"; readonly message: string; readonly by: ActorRow }
  | {
      /** The recipient ended before it read the message. */
      readonly event: "message_undelivered";
      readonly message: string;
      readonly from: ActorRow | null;
      readonly to: ActorRow;
    };

/** The events of freezes. */
export type FreezeEvent =
  | (FilesNews & {
      readonly event: "hold_began";
      readonly hold: string;
      readonly by: ActorRow | null;
      readonly lastsMs: number;
      readonly project: string;
    })
  | (FilesNews & {
      readonly event: "hold_ended";
      readonly hold: string;
      readonly cause: string;
      readonly project: string;
    });

export const messageRequests = {
  message_send: { params: messageSendSchema, reply: reply<MessageSendReply>(), traits: once },
  message_list: { params: messageListSchema, reply: reply<MessageListReply>(), traits: once },
  message_ack: { params: messageAckSchema, reply: reply<MessageAckReply>(), traits: once },
  broadcast: { params: broadcastSchema, reply: reply<BroadcastReply>(), traits: once },
  resume: { params: resumeSchema, reply: reply<ResumeReply>(), traits: once },
} as const satisfies RequestTable;
