/**
 * Messages with their letters and indexes: the only file that adds or changes letters. `dropLetter` of `tables/messages.ts`
 * removes them.
 *
 * Invariants: an inbox is in the order of sending. A message in no inbox does not exist. Finding the oldest unread or read
 * message of an inbox visits no other message.
 */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import { limits } from "../../../protocol/limits.ts";
import type { ActorRow } from "../../../protocol/schemas/lock.ts";
import type { MessageRow } from "../../../protocol/schemas/message.ts";
import type { Actor } from "../frame/actors.ts";
import { addToSet, assert, removeFromSet } from "../frame/collections.ts";
import type { BaseState, Letter, Message, Messages, Session } from "../tables/base-state.ts";
import type { Step } from "../tables/entries.ts";
import { countOpen, dropLetter, inboxAt, inboxKey, listFor, sortKeyOf } from "../tables/messages.ts";
import {
  nameKey,
  sessionsAlike,
  sessionsNamedLike,
  sessionsOf,
  sessionsWithAgent,
} from "../tables/sessions.ts";

// Finds the recipients of a message. Invariant: every recipient is alive and in the sender's project.

/**
 * Returns the recipient that `to` names. An id counts before a name (a session's, an agent's `alice/Explore` or `Explore`).
 * A name counts before the beginning of a session's name or id. The refusal of an ambiguous name lists the candidates.
 * `undone` says what did not happen.
 */
export function recipientOf(
  state: BaseState,
  project: string,
  to: string,
  undone = "message not sent",
): ActorRow | Refusal {
  const { live, names } = state.sessions;
  const exact = live.get(to);
  if (exact?.project === project) return rowOf(exact);
  const called = live.get(names.get(nameKey(project, to)) ?? "");
  const agents = some(agentsCalled(state, project, to));
  const elsewhere =
    state.isShared && called === undefined ? some(sessionsOnMachines(state, project, to)) : [];
  const named = [...(called === undefined ? [] : [rowOf(called)]), ...agents, ...elsewhere.map(rowOf)];
  const found = named.length > 0 ? named : some(sessionsBegunBy(state, project, to)).map(rowOf);
  const [only, another] = found;
  if (only === undefined) return gone(state, project, to, undone);
  return another === undefined ? only : ambiguous(to, found);
}

/** Yields the sessions that are called so on their machine: in a shared project names end with the machine's, `alice@laptop`. */
function* sessionsOnMachines(
  { sessions }: BaseState,
  project: string,
  name: string,
): Generator<Session, void> {
  // A machine's name has no @, and one within a session's name is no end of it.
  for (const session of sessionsNamedLike(sessions, project, `${name}@`))
    if (!session.name.includes("@", name.length + 1)) yield session;
}

/** Yields the sessions whose name or id begins with `to`, each once. */
function* sessionsBegunBy({ sessions }: BaseState, project: string, to: string): Generator<Session, void> {
  const seen = new Set<Session>();
  for (const alike of [sessionsNamedLike, sessionsAlike])
    for (const session of alike(sessions, project, to)) {
      if (!seen.has(session)) yield session;
      seen.add(session);
    }
}

/** Returns the sender of an answered message: by its id, never by its name, which another session may have now. */
export function senderOf(
  state: BaseState,
  project: string,
  { id, agent, name }: ActorRow,
): ActorRow | Refusal {
  const session = state.sessions.live.get(id);
  if (session === undefined || session.project !== project) return gone(state, project, name);
  return agent === null ? rowOf(session) : { id, agent, name };
}

/** Returns the main agents of all other sessions of the project. */
export function everyoneElse(state: BaseState, project: string, actor: Actor | null): ActorRow[] {
  const rows: ActorRow[] = [];
  for (const session of sessionsOf(state.sessions, project))
    if (session.id !== actor?.session) rows.push(rowOf(session));
  return rows;
}

/** Returns the live actors of the project, at most `max`: main agents first, then the agents in their sessions. */
export function everyoneIn({ sessions }: BaseState, project: string, max: number): ActorRow[] {
  const main: ActorRow[] = [];
  const agents: ActorRow[] = [];
  for (const session of sessionsOf(sessions, project)) {
    if (main.length === max) break;
    main.push(rowOf(session));
    for (const [agent, name] of session.agents) {
      if (main.length + agents.length >= max) break;
      agents.push({ id: session.id, agent, name: `${session.name}/${name}` });
    }
  }
  return [...main, ...agents].slice(0, max);
}

/** Returns the key of an actor's inbox. */
export function inboxOf({ session, agent }: Actor): string {
  return inboxKey({ id: session, agent });
}

/** Returns the first items, at most one more than a refusal names. */
function some<T>(all: Iterable<T>): T[] {
  const found: T[] = [];
  for (const one of all) {
    found.push(one);
    if (found.length > limits.recipientsNamedMax) break;
  }
  return found;
}

function rowOf({ id, name }: Session): ActorRow {
  return { id, agent: null, name };
}

/** Yields the agents that `to` names, in the order their sessions began; those named `session/agent` come last. */
function* agentsCalled({ sessions }: BaseState, project: string, to: string): Generator<ActorRow, void> {
  const seen = new Set<Session>();
  for (const session of sessionsWithAgent(sessions, project, to)) {
    seen.add(session);
    yield* agentsOf(session, to);
  }
  // Names may contain slashes, so every slash may separate session and agent.
  for (let at = to.indexOf("/"); at !== -1; at = to.indexOf("/", at + 1)) {
    const session = sessions.live.get(sessions.names.get(nameKey(project, to.slice(0, at))) ?? "");
    if (session !== undefined && !seen.has(session)) yield* agentsOf(session, to);
    if (session !== undefined) seen.add(session);
  }
}

/** Returns the agents of a session that `to` names: by id, by name, or as `session/agent`. */
function agentsOf(session: Session, to: string): ActorRow[] {
  return [...session.agents].flatMap(([agent, name]) => {
    const full = `${session.name}/${name}`;
    return to === name || to === full || to === agent ? [{ id: session.id, agent, name: full }] : [];
  });
}

function ambiguous(to: string, found: readonly ActorRow[]): Refusal {
  const matches = found.slice(0, limits.recipientsNamedMax);
  const more = found.length > matches.length ? " and others" : "";
  // Ids are long, and a whole name says it as well if no other one has it.
  const isClear = matches.every(
    ({ name }) => name !== to && matches.filter(m => m.name === name).length === 1,
  );
  const named = ({ id, agent, name }: ActorRow) =>
    isClear ? name : `${name} (${agent === null ? id : `${id}, ${agent}`})`;
  const error = `${to} can be ${matches.map(named).join(", ")}${more}; say which by its ${isClear ? "whole name" : "id"}`;
  return refuse("recipient_ambiguous", error, { to, matches });
}

function gone(state: BaseState, project: string, to: string, undone = "message not sent"): Refusal {
  const here = some(sessionsOf(state.sessions, project));
  const names = here.slice(0, limits.recipientsNamedMax).map(s => s.name);
  const others = names.length === 0 ? "no session is active" : `active: ${names.join(", ")}`;
  const why = state.sessions.ended.has(to)
    ? `${to} has ended`
    : `no session or agent named ${to} in ${project}`;
  return refuse("recipient_gone", `${why}; ${undone}; ${others}`, { to });
}

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

// Inboxes: their bounds, and their end with a session or an agent.
//
// Invariants: a letter's session is alive. An inbox has at most `limits.inboxMax` messages, in the order of sending. A
// message in no inbox does not exist. A read message is never delivered again.

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
