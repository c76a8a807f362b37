/**
 * Inboxes: who has which message, and how far it has got.
 *
 * Invariants: a letter's session is alive; an inbox is in the order in which its messages were sent, has at most
 * `limits.inboxMax` of them, and a message in no inbox is no more; what was read is never offered again.
 */
import { limits } from "../../protocol/limits.ts";
import type { ActorRow } from "../../protocol/lock.ts";
import type { MessageRow } from "../../protocol/message.ts";
import type { Actor } from "./entry.ts";
import { inboxKey } from "./recipients.ts";
import type { Letter, Message, Messages, State } from "./state.ts";
import type { Step } from "./step.ts";

/** Takes in a message with its letters. */
export function addMessage(messages: Messages, message: Message): void {
  messages.all.set(message.id, message);
  messages.bytes += message.bytes;
  for (const { to } of message.letters) enlist(messages, inboxKey(to), message.id);
}

/** The messages in an inbox, oldest first, each with its letter. */
export function* lettersOf(messages: Messages, key: string): Generator<readonly [Message, Letter], void> {
  for (const id of messages.inboxes.get(key) ?? []) {
    const message = messages.all.get(id);
    const letter = message?.letters.find(({ to }) => inboxKey(to) === key);
    if (message === undefined || letter === undefined) throw new Error(`${id} is in no inbox of ${key}`);
    yield [message, letter];
  }
}

export function replaceLetter(message: Message, letter: Letter, by: Letter): void {
  message.letters = message.letters.map(one => (one === letter ? by : one));
}

/** Takes a message out of one inbox, and away where that was the last. */
export function dropLetter(messages: Messages, message: Message, letter: Letter): void {
  const key = inboxKey(letter.to);
  const inbox = messages.inboxes.get(key);
  inbox?.delete(message.id);
  if (inbox?.size === 0) messages.inboxes.delete(key);
  message.letters = message.letters.filter(one => one !== letter);
  if (message.letters.length > 0) return;
  messages.all.delete(message.id);
  messages.bytes -= message.bytes;
}

/** Makes room for one more in the inbox; false where everything in it is unread. */
export function hasRoom(messages: Messages, key: string): boolean {
  return (messages.inboxes.get(key)?.size ?? 0) < limits.inboxMax || oldestRead(messages, key) !== null;
}

/** Lets the oldest read message go where the inbox is full. */
export function makeRoom(messages: Messages, key: string): void {
  if ((messages.inboxes.get(key)?.size ?? 0) < limits.inboxMax) return;
  const oldest = oldestRead(messages, key);
  if (oldest !== null) dropLetter(messages, ...oldest);
}

/**
 * The inboxes of a session that ends (`agent` undefined), or of one agent: what was not read goes back to its sender
 * where that lives, and everybody may see that it did not arrive.
 */
export function closeInboxes(state: State, session: string, agent: string | undefined, step: Step): void {
  const { messages } = state;
  const own = [...messages.inboxes.keys()].filter(key =>
    agent === undefined
      ? key === session || key.startsWith(`${session}\u0000`)
      : key === inboxKey({ id: session, agent }),
  );
  const grown = new Set<string>();
  // In an order that does not depend on how the index came to be.
  for (const key of own.sort()) {
    for (const [message, letter] of [...lettersOf(messages, key)]) {
      const back = isUnread(letter) ? comeBack(state, message, letter, agent === undefined, step) : null;
      if (back !== null) grown.add(back);
      dropLetter(messages, message, letter);
    }
  }
  for (const key of grown) inOrder(messages, key);
}

/** The process of session `before` goes on as `after`: so do its own inbox, and who is to be answered. */
export function moveInbox(state: State, before: string, after: string): void {
  const { messages } = state;
  const sent = messages.sent.get(before);
  messages.sent.delete(before);
  if (sent !== undefined) messages.sent.set(after, sent);
  const move = (row: ActorRow) => (row.id === before && row.agent === null ? { ...row, id: after } : row);
  for (const message of messages.all.values()) {
    if (message.from !== null) message.from = move(message.from);
    message.letters = message.letters.map(letter => ({ ...letter, to: move(letter.to) }));
  }
  const inbox = messages.inboxes.get(before);
  if (inbox === undefined) return;
  messages.inboxes.delete(before);
  messages.inboxes.set(after, inbox);
}

/** A start of the node's daemon: whether an answer that was under way arrived is not known, so it counts as lost. */
export function forgetOffers(state: State, node: string): void {
  for (const message of state.messages.all.values()) {
    for (const letter of message.letters) {
      const isOurs = state.sessions.live.get(letter.to.id)?.node === node;
      if (isOurs && letter.state === "offered")
        replaceLetter(message, letter, { ...letter, state: "unread" });
    }
  }
}

/** Nobody is known to have got it. */
export function isUnread(letter: Letter): boolean {
  return letter.state === "unread" || letter.state === "offered";
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

function enlist(messages: Messages, key: string, id: string): void {
  const inbox = messages.inboxes.get(key);
  if (inbox === undefined) messages.inboxes.set(key, new Set([id]));
  else inbox.add(id);
}

function oldestRead(messages: Messages, key: string): readonly [Message, Letter] | null {
  for (const found of lettersOf(messages, key)) if (found[1].state === "read") return found;
  return null;
}

/**
 * Not for broadcasts, and not twice: a message comes back to who wrote it, once. Returns the inbox it is in then, at the
 * end, or null. `ends`: the whole session does.
 */
function comeBack(state: State, message: Message, letter: Letter, ends: boolean, step: Step): string | null {
  const { messages } = state;
  const { from, id, project } = message;
  const { to } = letter;
  const about = from === null ? [] : [from.id];
  step.events.push({ event: { event: "message_undelivered", message: id, from, to }, about, project });
  if (from === null || message.broadcast || letter.undelivered !== null) return null;
  if (!state.sessions.live.has(from.id) || (ends && from.id === to.id)) return null;
  const key = inboxKey(from);
  if (messages.inboxes.get(key)?.has(id) || !hasRoom(messages, key)) return null;
  makeRoom(messages, key);
  message.letters.push({ to: from, state: "unread", undelivered: to.name });
  enlist(messages, key, id);
  return key;
}

/** Puts an inbox in the order of sending: what comes back is older than what came since. */
function inOrder(messages: Messages, key: string): void {
  const order = (one: string) => messages.all.get(one)?.order ?? 0;
  const ids = messages.inboxes.get(key);
  if (ids !== undefined) messages.inboxes.set(key, new Set([...ids].sort((a, b) => order(a) - order(b))));
}
