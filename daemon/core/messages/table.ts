/**
 * Messages with their letters and indexes: the only file that adds, removes or changes letters.
 *
 * Invariants: an inbox is in the order in which its messages were sent; a message in no inbox is no more; what a step
 * looks for in an inbox (the oldest unread, the oldest read) it finds without a look at the rest.
 */
import type { ActorRow } from "../../../protocol/lock.ts";
import { addToSet, removeFromSet } from "../sets.ts";
import { SortedKeys } from "../sorted-keys.ts";
import type { Inbox, Letter, Message, Messages } from "../state.ts";
import { inboxKey } from "./recipients.ts";

/** A message before it is taken in. */
export type NewMessage = Omit<Message, "letters" | "open"> & { readonly letters: readonly Letter[] };

/** Takes in a message with its letters, at least one. */
export function addMessage(messages: Messages, { letters, ...rest }: NewMessage): Message {
  const message: Message = { ...rest, letters: new Map(), open: 0 };
  messages.all.set(message.id, message);
  messages.bytes += message.bytes;
  if (message.from !== null) addToSet(messages.bySender, message.from.id, message.id);
  for (const letter of letters) putLetter(messages, message, letter);
  return message;
}

/** Puts a letter into its inbox, or in the place of the one that is there. */
export function putLetter(messages: Messages, message: Message, letter: Letter): void {
  const key = inboxKey(letter.to);
  const place = placeOf(message);
  const before = message.letters.get(key);
  const inbox = inboxAt(messages, key, letter.to.id);
  if (before === undefined) inbox.all.add(place);
  else listFor(inbox, before)?.delete(place);
  listFor(inbox, letter)?.add(place);
  message.letters.set(key, letter);
  messages.touched.add(letter.to.id);
  countOpen(
    messages,
    message,
    Number(letter.state !== "read") - Number(before !== undefined && before.state !== "read"),
  );
}

/** Takes a message out of one inbox, and away where that was the last. */
export function dropLetter(messages: Messages, message: Message, letter: Letter): void {
  const key = inboxKey(letter.to);
  const place = placeOf(message);
  const inbox = inboxAt(messages, key, letter.to.id);
  inbox.all.delete(place);
  listFor(inbox, letter)?.delete(place);
  if (inbox.all.size === 0) {
    messages.inboxes.delete(key);
    removeFromSet(messages.bySession, letter.to.id, key);
  }
  message.letters.delete(key);
  messages.touched.add(letter.to.id);
  countOpen(messages, message, letter.state === "read" ? 0 : -1);
  if (message.letters.size > 0) return;
  messages.read.delete(place);
  messages.readBytes -= message.bytes;
  messages.all.delete(message.id);
  messages.bytes -= message.bytes;
  if (message.from !== null) removeFromSet(messages.bySender, message.from.id, message.id);
}

/** Who wrote it goes on under another id. */
export function changeSender(messages: Messages, message: Message, from: ActorRow): void {
  if (message.from !== null) removeFromSet(messages.bySender, message.from.id, message.id);
  message.from = from;
  addToSet(messages.bySender, from.id, message.id);
}

/** The message at a place of an inbox, with its letter there. */
export function letterAt(messages: Messages, key: string, place: string): readonly [Message, Letter] {
  const message = messageAt(messages, place);
  const letter = message.letters.get(key);
  if (letter === undefined) throw new Error(`${message.id} is in no inbox of ${key}`);
  return [message, letter];
}

export function messageAt(messages: Messages, place: string): Message {
  const id = place.slice(place.indexOf(" ") + 1);
  const message = messages.all.get(id);
  if (message === undefined) throw new Error(`no message ${id}`);
  return message;
}

/** The messages in an inbox, oldest first, each with its letter. */
export function* lettersOf(messages: Messages, key: string): Generator<readonly [Message, Letter], void> {
  for (const place of messages.inboxes.get(key)?.all ?? []) yield letterAt(messages, key, place);
}

/** Where a message stands among all. */
export function placeOf({ order, id }: Pick<Message, "order" | "id">): string {
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

/** So many letters of the message more are not read; without any, it counts as read by all. */
function countOpen(messages: Messages, message: Message, more: number): void {
  message.open += more;
  const place = placeOf(message);
  const isRead = message.open === 0;
  const changed = isRead ? messages.read.add(place) : messages.read.delete(place);
  if (changed) messages.readBytes += isRead ? message.bytes : -message.bytes;
}

/** Offered ones are looked for by their ids alone. */
function listFor(inbox: Inbox, { state }: Letter): SortedKeys | null {
  return state === "offered" ? null : inbox[state];
}
