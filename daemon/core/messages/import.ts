/**
 * Takes a message whose sender is not in this log: one of the log that this machine leaves, or of Kite itself.
 *
 * Invariants: only live recipients with room get it; its sender is shown as the command calls it. Nobody but this machine's daemon
 * enters it.
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
  // Where it comes from it may answer another one, which is not here.
  const posting = { ...command, to, thread: null, replyTo: null };
  step.reply = { ok: true, reached: to.length };
  if (to.length > 0) putMessage(state, posting, step);
};
