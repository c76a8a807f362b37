/**
 * Messages with their letters and indexes: the only file that adds, removes or changes letters.
 *
 * Invariants: an inbox is in the order of sending; a message in no inbox does not exist; finding the oldest unread or
 * read message of an inbox visits no other message.
 */

import type { ActorRow } from "../../../protocol/schemas/lock.ts";
import { assert } from "../assert.ts";
import type { Inbox, Letter, Message, Messages } from "../base-state.ts";
import { addToSet, removeFromSet } from "../sets.ts";
import { SortedKeys } from "../sorted-keys.ts";
import { inboxKey } from "./recipients.ts";

/** A message before it is added. */
export type NewMessage = Omit<Message, "letters" | "open"> & { readonly letters: readonly Letter[] };

/** Adds a message with its letters, at least one. */
export function addMessage(messages: Messages, sent: NewMessage): Message {
  const own = new Map<string, Letter>();
  // Naming each field is by far the fastest way to copy, and such rows are read fast.
  const message: Message = {
    id: sent.id,
    order: sent.order,
    project: sent.project,
    from: sent.from,
    letters: own,
    open: 0,
    text: sent.text,
    bytes: sent.bytes,
    replyTo: sent.replyTo,
    thread: sent.thread,
    urgent: sent.urgent,
    broadcast: sent.broadcast,
    at: sent.at,
  };
  messages.all.set(message.id, message);
  messages.bytes += message.bytes;
  if (message.from !== null) addToSet(messages.bySender, message.from.id, message.id);
  const place = sortKeyOf(message);
  messages.places.add(place);
  let open = 0;
  for (const letter of sent.letters) {
    const key = inboxKey(letter.to);
    const inbox = inboxAt(messages, key, letter.to.id);
    inbox.all.add(place);
    listFor(inbox, letter)?.add(place);
    const { size } = own;
    own.set(key, letter);
    messages.touched.add(letter.to.id);
    if (own.size > size && letter.state !== "read") open += 1;
  }
  countOpen(messages, message, open);
  return message;
}

/** Adds a letter to its inbox, or replaces the message's letter there. */
export function putLetter(messages: Messages, message: Message, letter: Letter): void {
  const key = inboxKey(letter.to);
  const place = sortKeyOf(message);
  const before = message.letters.get(key);
  const inbox = inboxAt(messages, key, letter.to.id);
  if (before === undefined) inbox.all.add(place);
  else listFor(inbox, before)?.delete(place);
  listFor(inbox, letter)?.add(place);
  messages.preimages.writable(message).letters.set(key, letter);
  messages.touched.add(letter.to.id);
  countOpen(
    messages,
    message,
    Number(letter.state !== "read") - Number(before !== undefined && before.state !== "read"),
  );
}

/** Removes a message from one inbox, and altogether if that was the last one. */
export function dropLetter(messages: Messages, message: Message, letter: Letter): void {
  const key = inboxKey(letter.to);
  const place = sortKeyOf(message);
  const inbox = inboxAt(messages, key, letter.to.id);
  inbox.all.delete(place);
  listFor(inbox, letter)?.delete(place);
  if (inbox.all.size === 0) {
    messages.inboxes.delete(key);
    removeFromSet(messages.bySession, letter.to.id, key);
  }
  messages.preimages.writable(message).letters.delete(key);
  messages.touched.add(letter.to.id);
  countOpen(messages, message, letter.state === "read" ? 0 : -1);
  if (message.letters.size > 0) return;
  messages.read.delete(place);
  messages.readBytes -= message.bytes;
  messages.all.delete(message.id);
  messages.places.delete(place);
  messages.bytes -= message.bytes;
  if (message.from !== null) removeFromSet(messages.bySender, message.from.id, message.id);
}

/** Changes the message's sender to the id under which its process goes on. */
export function changeSender(messages: Messages, message: Message, from: ActorRow): void {
  if (message.from !== null) removeFromSet(messages.bySender, message.from.id, message.id);
  messages.preimages.writable(message).from = from;
  addToSet(messages.bySender, from.id, message.id);
}

/** Returns the message of an inbox's sort key, with its letter there. */
export function letterAt(messages: Messages, key: string, place: string): readonly [Message, Letter] {
  const message = messageAt(messages, place);
  const letter = message.letters.get(key);
  assert(letter !== undefined, () => `${message.id} is in no inbox of ${key}`);
  return [message, letter];
}

export function messageAt(messages: Messages, place: string): Message {
  const message = messageIn(messages, place);
  assert(message !== undefined, () => `no message ${place}`);
  return message;
}

/** Returns the message of a sort key, if it is still there. */
export function messageIn(messages: Messages, place: string): Message | undefined {
  return messages.all.get(place.slice(place.indexOf(" ") + 1));
}

/** Yields the messages from number `order` on, in the order of sending; messages may come and go meanwhile. */
export function* messagesFrom(messages: Messages, order: number): Generator<Message, void> {
  const { places } = messages;
  for (let key = places.after(sortKeyOf({ order, id: "" })); key !== undefined; key = places.after(key)) {
    const message = messageIn(messages, key);
    if (message !== undefined) yield message;
  }
}

/** Yields the messages in an inbox, oldest first, each with its letter. Messages may come and go meanwhile. */
export function* lettersOf(messages: Messages, key: string): Generator<readonly [Message, Letter], void> {
  const after = (place: string) => messages.inboxes.get(key)?.all.after(place);
  for (let place = after(""); place !== undefined; place = after(place)) yield letterAt(messages, key, place);
}

/** Returns the message's sort key, by the order of sending. */
export function sortKeyOf({ order, id }: Pick<Message, "order" | "id">): string {
  return `${order.toString(36).padStart(11, "0")} ${id}`;
}

function inboxAt(messages: Messages, key: string, session: string): Inbox {
  const known = messages.inboxes.get(key);
  if (known !== undefined) return known;
  const [all, unread, handed, read] = [
    new SortedKeys(),
    new SortedKeys(),
    new SortedKeys(),
    new SortedKeys(),
  ];
  const inbox = { all, unread, handed, read };
  messages.inboxes.set(key, inbox);
  addToSet(messages.bySession, session, key);
  return inbox;
}

/** Adds `more` to the message's unread letters, and updates the index of messages that all recipients have read. */
function countOpen(messages: Messages, message: Message, more: number): void {
  message.open += more;
  const place = sortKeyOf(message);
  const isRead = message.open === 0;
  const changed = isRead ? messages.read.add(place) : messages.read.delete(place);
  if (changed) messages.readBytes += isRead ? message.bytes : -message.bytes;
}

/** Returns the inbox's list for the letter's state; `offered` has none, since lookups of offered letters are by id. */
function listFor(inbox: Inbox, { state }: Letter): SortedKeys | null {
  return state === "offered" ? null : inbox[state];
}
