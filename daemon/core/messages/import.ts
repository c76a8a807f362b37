/**
 * Takes a message of another log, whose recipients are in this one now.
 *
 * Invariants: only live recipients with room get it; its sender may be in that log alone, and is shown as that log called it. Nobody
 * but this machine's daemon enters it.
 */
import { refuse } from "../../../protocol/codes.ts";
import type { Handler } from "../rules.ts";
import { hasRoom } from "./inbox.ts";
import { inboxKey } from "./recipients.ts";
import { putMessage } from "./send.ts";

export const messageImport: Handler<"message_import"> = (state, command, _meta, step) => {
  const { messages, sessions, limits } = state;
  const { bytes } = command;
  const to = command.to.filter(row => sessions.live.has(row.id) && hasRoom(messages, inboxKey(row)));
  if (messages.bytes - messages.readBytes + bytes > limits.messagesBytes) {
    const error = `unread messages would exceed ${limits.messagesBytes} bytes; let agents read theirs first`;
    step.reply = refuse("messages_full", error);
    return;
  }
  // In its own log it may answer another one, which is not here.
  const posting = { ...command, to, thread: null, replyTo: null };
  step.reply = { ok: true, reached: to.length };
  if (to.length > 0) putMessage(state, posting, step);
};
