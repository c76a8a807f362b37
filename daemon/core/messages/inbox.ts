/**
 * Inboxes: their bounds, and their end with a session or an agent.
 *
 * Invariants: a letter's session is alive; an inbox has at most `limits.inboxMax` messages, in the order of sending;
 * a message in no inbox does not exist; a read message is never delivered again.
 */

import type { MessageRow } from "../../../protocol/schemas/message.ts";
import type { BaseState, Letter, Message, Messages } from "../base-state.ts";
import type { Step } from "../outcome.ts";
import { inboxKey } from "./recipients.ts";
import { changeSender, dropLetter, letterAt, lettersOf, putLetter } from "./table.ts";

/** Whether the inbox can take one more message: it is not full, or has a read message to evict. */
export function hasRoom(messages: Messages, key: string): boolean {
  const inbox = messages.inboxes.get(key);
  return inbox === undefined || inbox.all.size < messages.limits.inboxMax || inbox.read.size > 0;
}

/** Evicts the oldest read message if the inbox is full. */
export function makeRoom(messages: Messages, key: string): void {
  const inbox = messages.inboxes.get(key);
  const oldest = inbox?.read.first;
  if (inbox === undefined || inbox.all.size < messages.limits.inboxMax || oldest === undefined) return;
  dropLetter(messages, ...letterAt(messages, key, oldest));
}

/**
 * Closes the inboxes of a session that ends, or with `agent` that of one agent. Unread messages return to senders
 * that are alive, and an event announces each.
 */
export function closeInboxes(state: BaseState, session: string, agent: string | undefined, step: Step): void {
  const { messages } = state;
  const own =
    agent === undefined ? [...(messages.bySession.get(session) ?? [])] : [inboxKey({ id: session, agent })];
  // Sorted, so that replay visits them in the same order.
  for (const key of own.sort()) {
    for (const [message, letter] of [...lettersOf(messages, key)]) {
      if (isUnread(letter)) comeBack(state, message, letter, agent === undefined, step);
      dropLetter(messages, message, letter);
    }
  }
}

/**
 * Moves a session's own inbox, and its name as a sender, to the id under which its process goes on. What has no room there, or
 * is there already, stays.
 */
export function moveInbox(state: BaseState, before: string, after: string): void {
  const { messages } = state;
  const sent = messages.sent.get(before);
  messages.sent.delete(before);
  if (sent !== undefined) messages.sent.set(after, sent);
  for (const id of [...(messages.bySender.get(before) ?? [])]) {
    const message = messages.all.get(id);
    const from = message?.from ?? null;
    if (message !== undefined && from?.agent === null)
      changeSender(messages, message, { ...from, id: after });
  }
  for (const [message, letter] of [...lettersOf(messages, before)]) {
    if (message.letters.has(after) || !hasRoom(messages, after)) continue;
    makeRoom(messages, after);
    // The new inbox gets it first, because a message that is in no inbox is removed.
    putLetter(messages, message, { ...letter, to: { ...letter.to, id: after } });
    dropLetter(messages, message, letter);
  }
}

/** Makes offered messages unread after the node's daemon restarted: the answers that carried them count as lost. */
export function forgetOffers(state: BaseState, node: string): void {
  for (const message of state.messages.all.values()) {
    for (const letter of message.letters.values()) {
      const isOurs = state.sessions.live.get(letter.to.id)?.node === node;
      if (isOurs && letter.state === "offered")
        putLetter(state.messages, message, { ...letter, state: "unread" });
    }
  }
}

/** Whether no answer is known to have delivered the letter. */
function isUnread(letter: Letter): boolean {
  return letter.state === "unread" || letter.state === "offered";
}

/** Returns the number of unread messages in an inbox, without those in an answer under way. */
export function unreadIn(messages: Messages, key: string): number {
  return messages.inboxes.get(key)?.unread.size ?? 0;
}

/** Returns the number of undelivered messages in an inbox, with those in an answer under way. */
export function countUngot(messages: Messages, key: string): number {
  const inbox = messages.inboxes.get(key);
  return inbox === undefined ? 0 : inbox.all.size - inbox.handed.size - inbox.read.size;
}

/** Returns the letter's state for readers: anything but `read` is `unread`. */
export function stateOf(letter: Letter): MessageRow["state"] {
  return letter.state === "read" ? "read" : "unread";
}

export function messageRow(message: Message, letter: Letter): MessageRow {
  const { id, from, project, text, replyTo, thread, urgent, broadcast, at } = message;
  const state = stateOf(letter);
  const { to, undelivered } = letter;
  return { id, from, to, project, text, replyTo, thread, urgent, broadcast, at, state, undelivered };
}

/** Returns a message to its sender, at most once, and never a broadcast. `ends`: the recipient's whole session ends. */
function comeBack(state: BaseState, message: Message, letter: Letter, ends: boolean, step: Step): void {
  const { messages } = state;
  const { from, id, project } = message;
  const { to } = letter;
  const about = from === null ? [] : [from.id];
  step.events.push({ event: { event: "message_undelivered", message: id, from, to }, about, project });
  if (from === null || message.broadcast || letter.undelivered !== null) return;
  if (!state.sessions.live.has(from.id) || (ends && from.id === to.id)) return;
  const key = inboxKey(from);
  if (message.letters.has(key) || !hasRoom(messages, key)) return;
  makeRoom(messages, key);
  putLetter(messages, message, { to: from, state: "unread", undelivered: to.name });
}
