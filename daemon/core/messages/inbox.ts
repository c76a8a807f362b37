/**
 * Inboxes: who has which message, and how far it has got.
 *
 * Invariants: a letter's session is alive; an inbox is in the order in which its messages were sent, has at most
 * `limits.inboxMax` of them, and a message in no inbox is no more; what was read is never offered again.
 */

import { limits } from "../../../protocol/limits.ts";
import type { MessageRow } from "../../../protocol/message.ts";
import type { Actor } from "../actor.ts";
import type { Step } from "../outcome.ts";
import type { Letter, Message, Messages, State } from "../state.ts";
import { inboxKey } from "./recipients.ts";
import { changeSender, dropLetter, letterAt, lettersOf, putLetter } from "./table.ts";

/** Whether there is room for one more in the inbox, or can be made; not where everything in it is unread. */
export function hasRoom(messages: Messages, key: string): boolean {
  const inbox = messages.inboxes.get(key);
  return inbox === undefined || inbox.all.size < limits.inboxMax || inbox.read.size > 0;
}

/** Lets the oldest read message go where the inbox is full. */
export function makeRoom(messages: Messages, key: string): void {
  const inbox = messages.inboxes.get(key);
  const oldest = inbox?.read.first;
  if (inbox === undefined || inbox.all.size < limits.inboxMax || oldest === undefined) return;
  dropLetter(messages, ...letterAt(messages, key, oldest));
}

/**
 * The inboxes of a session that ends (`agent` undefined), or of one agent: what was not read goes back to its sender
 * where that lives, and everybody may see that it did not arrive.
 */
export function closeInboxes(state: State, session: string, agent: string | undefined, step: Step): void {
  const { messages } = state;
  const own =
    agent === undefined ? [...(messages.bySession.get(session) ?? [])] : [inboxKey({ id: session, agent })];
  // In an order that does not depend on how the index came to be.
  for (const key of own.sort()) {
    for (const [message, letter] of [...lettersOf(messages, key)]) {
      if (isUnread(letter)) comeBack(state, message, letter, agent === undefined, step);
      dropLetter(messages, message, letter);
    }
  }
}

/** The process of session `before` goes on as `after`: so do its own inbox, and who is to be answered. */
export function moveInbox(state: State, before: string, after: string): void {
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
    // First into the new inbox: a message in none is no more.
    putLetter(messages, message, { ...letter, to: { ...letter.to, id: after } });
    dropLetter(messages, message, letter);
  }
}

/** A start of the node's daemon: whether an answer that was under way arrived is not known, so it counts as lost. */
export function forgetOffers(state: State, node: string): void {
  for (const message of state.messages.all.values()) {
    for (const letter of message.letters.values()) {
      const isOurs = state.sessions.live.get(letter.to.id)?.node === node;
      if (isOurs && letter.state === "offered")
        putLetter(state.messages, message, { ...letter, state: "unread" });
    }
  }
}

/** Nobody is known to have got it. */
export function isUnread(letter: Letter): boolean {
  return letter.state === "unread" || letter.state === "offered";
}

/** How many messages in an inbox nobody is known to have been shown, those in an answer under way left out. */
export function unreadIn(messages: Messages, key: string): number {
  return messages.inboxes.get(key)?.unread.size ?? 0;
}

/** How many messages in an inbox nobody is known to have got, those in an answer under way among them. */
export function countUngot(messages: Messages, key: string): number {
  const inbox = messages.inboxes.get(key);
  return inbox === undefined ? 0 : inbox.all.size - inbox.handed.size - inbox.read.size;
}

/** What the reader is told: it was read, or not as far as is known. */
export function stateOf(letter: Letter): MessageRow["state"] {
  return letter.state === "read" ? "read" : "unread";
}

export function messageRow(message: Message, letter: Letter): MessageRow {
  const { id, from, project, text, replyTo, thread, urgent, broadcast, at } = message;
  const state = stateOf(letter);
  const { to, undelivered } = letter;
  return { id, from, to, project, text, replyTo, thread, urgent, broadcast, at, state, undelivered };
}

export function inboxOf(actor: Actor): string {
  return inboxKey({ id: actor.session, agent: actor.agent });
}

/** Not for broadcasts, and not twice: a message comes back to who wrote it, once. `ends`: the whole session does. */
function comeBack(state: State, message: Message, letter: Letter, ends: boolean, step: Step): void {
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
