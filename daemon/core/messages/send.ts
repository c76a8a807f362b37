/**
 * Sends messages and broadcasts. Delivery is at least once, in the order of sending.
 *
 * Invariants: a message is in the inbox of every recipient its reply names. Sender and recipient are of one project. A
 * session sends at most `limits.messageRateMax` within `limits.messageRateMs`. All texts together stay within
 * `limits.messagesBytes`.
 */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import { personOnWire, personsNode } from "../../../protocol/names.ts";
import type { ActorRow } from "../../../protocol/schemas/lock.ts";
import type { Actor } from "../frame/actors.ts";
import { beginFreeze, freezeRow, mayFreeze } from "../locks/freezes.ts";
import type { BaseState, Message, Messages, Meta } from "../tables/base-state.ts";
import type { CommandOf, Step } from "../tables/entries.ts";
import { dropLetter, inboxKey, type MessageSend, type Posted } from "../tables/messages.ts";
import { isPerson, noSession, speakerRow } from "../tables/naming.ts";
import { sessionsOf } from "../tables/sessions.ts";
import { addMessage, everyoneElse, hasRoom, makeRoom, messageAt, recipientOf, senderOf } from "./inbox.ts";

/** The `to` that means all other sessions of the project. */
export const everyone = "everyone";

export function messageSend(
  state: BaseState,
  command: CommandOf<"message_send">,
  _meta: Meta,
  step: Step,
): void {
  const { actor, replyTo } = command;
  const project = projectWrittenTo(state, command);
  if (project === undefined) {
    step.reply = noSession(state, actor?.session ?? "");
    return;
  }
  const answered = replyTo === null ? undefined : state.messages.all.get(replyTo);
  const parent = answered?.project === project ? answered : undefined;
  const to = recipientsOf(state, project, command, parent);
  const refused = "ok" in to ? to : (mayPost(state, command, project) ?? allFull(state, to));
  if (refused !== null || "ok" in to) {
    step.reply = refused;
    return;
  }
  const thread = parent?.thread ?? replyTo;
  const { urgent } = command;
  step.reply = post(state, command, { project, to, thread, replyTo, urgent, broadcast: false }, step);
}

export function broadcast(state: BaseState, command: CommandOf<"broadcast">, _meta: Meta, step: Step): void {
  const { actor, text } = command;
  const project = projectWrittenTo(state, command);
  if (project === undefined) {
    step.reply = noSession(state, actor?.session ?? "");
    return;
  }
  const to = everyoneElse(state, project, actor);
  const mayWrite = mayPost(state, command, project);
  const refused = command.hold === null ? mayWrite : (mayWrite ?? mayFreeze(state, actor, project));
  if (refused !== null) {
    step.reply = refused;
    return;
  }
  const more = { thread: null, replyTo: null, urgent: false, broadcast: true };
  const reply = post(state, command, { project, to, ...more }, step);
  if (command.hold === null) {
    step.reply = reply;
    return;
  }
  const message = state.rules >= 2 ? { message: reply.message.id } : {};
  const hold = beginFreeze(state, { actor, project, text, ...message, ...command.hold }, step);
  step.reply = { ...reply, hold: freezeRow(hold, state.t) };
}

interface Posting {
  readonly project: string;
  readonly to: readonly ActorRow[];
  /** Null: the message begins a thread. */
  readonly thread: string | null;
  readonly replyTo: string | null;
  readonly urgent: boolean;
  readonly broadcast: boolean;
}

/** The reply to a message: its id and thread, and the recipients that it reached and did not reach. */
type Sent = {
  readonly ok: true;
  readonly message: { readonly id: string; readonly thread: string; readonly to: readonly ActorRow[] };
  readonly full?: readonly ActorRow[];
};

/**
 * Writes a notice of the core's own, in the actor's name, to those who have room for it. It reaches none if the actor
 * may not write now. Returns its id and whom it reached, or null.
 */
export function postNotice(
  state: BaseState,
  posted: Posted,
  to: readonly ActorRow[],
  step: Step,
): Sent["message"] | null {
  const reached = to.filter(row => hasRoom(state.messages, inboxKey(row)));
  if (reached.length === 0 || mayPost(state, posted, posted.project) !== null) return null;
  const posting = { project: posted.project, thread: null, replyTo: null, urgent: false, broadcast: false };
  return post(state, posted, { ...posting, to: reached }, step).message;
}

function post(state: BaseState, posted: Posted, posting: Posting, step: Step): Sent {
  const { text, bytes, wallMs: at, actor } = posted;
  const from = speakerRow(state, actor);
  const to = posting.to.filter(row => hasRoom(state.messages, inboxKey(row)));
  noteSent(state, actor?.session ?? posting.project);
  const message = putMessage(state, { ...posting, to, from, text, bytes, at }, step);
  const reached = new Set(to);
  const full = posting.to.filter(row => !reached.has(row));
  return { ok: true, message, ...(full.length === 0 ? {} : { full }) };
}

/** Puts a message into the inboxes of its recipients, all of which have room, and tells of it. */
export function putMessage(
  state: BaseState,
  { to, thread: known, ...sent }: Posting & Pick<Message, "from" | "text" | "bytes" | "at">,
  step: Step,
): Sent["message"] {
  const { messages } = state;
  const { project, from, urgent, bytes } = sent;
  for (const row of to) makeRoom(messages, inboxKey(row));
  dropRead(messages, bytes);
  messages.count += 1;
  // A machine that shares has messages of two logs.
  const id = `${state.isShared && state.rules >= 3 ? "ms" : "m"}-${messages.count.toString(36)}`;
  const thread = known ?? id;
  const letters = to.map(row => ({ to: row, state: "unread" as const, undelivered: null }));
  if (letters.length > 0) addMessage(messages, { ...sent, id, order: messages.count, letters, thread });
  const shown = to.slice(0, state.limits.eventFilesMax);
  const more = to.length > shown.length ? { more: to.length - shown.length } : {};
  step.events.push({
    event: { event: "message_sent", message: id, from, to: shown, ...more, project, urgent },
    about: to.map(row => row.id),
    project,
  });
  return { id, thread, to };
}

function recipientsOf(
  state: BaseState,
  project: string,
  { actor, to, replyTo }: MessageSend,
  parent: Message | undefined,
): readonly ActorRow[] | Refusal {
  if (to === everyone) {
    const all = everyoneElse(state, project, actor);
    return all.length > 0
      ? all
      : refuse("recipient_gone", "no other session in this project; message not sent", { to });
  }
  if (to !== null) {
    const found = recipientOf(state, project, to);
    return "ok" in found ? found : [found];
  }
  if (parent === undefined) {
    const error = `the daemon no longer keeps message ${replyTo}; name the recipient with to`;
    return refuse("unknown_message", error, { message: replyTo });
  }
  if (parent.from === null || isPerson(parent.from)) return noInbox(state, project, parent);
  const found = senderOf(state, project, parent.from);
  return "ok" in found ? found : [found];
}

/** Refuses an answer to a person, with what to do instead: people read all messages of the project. */
function noInbox(state: BaseState, project: string, { id, from }: Message): Refusal {
  const node = personsNode(from?.id ?? "");
  // In a copy, the person of its own machine is null.
  const isOwn = node === null || !state.isShared;
  const named = isOwn ? [] : namesOn(state, project, node);
  const whom = named.length === 0 ? everyone : `an agent there (${named.join(", ")}) or to ${everyone}`;
  const todo = isOwn
    ? "answer in your own words to your user"
    : `write to ${whom}: people read these in kite message inbox`;
  const who = from === null ? personOnWire : from.name;
  return refuse("recipient_gone", `${who} wrote ${id} and has no inbox; ${todo}`, { message: id });
}

/** Returns the names of sessions of the node, at most as many as a refusal names. */
function namesOn(state: BaseState, project: string, node: string): readonly string[] {
  const found: string[] = [];
  for (const session of sessionsOf(state.sessions, project)) {
    if (found.length === state.limits.recipientsNamedMax) break;
    if (session.node === node) found.push(session.name);
  }
  return found;
}

function mayPost(state: BaseState, { actor, bytes }: Posted, project: string): Refusal | null {
  const { messages, t, limits } = state;
  const lately = (messages.sent.get(actor?.session ?? project) ?? []).filter(at => isLately(state, at));
  const [first] = lately;
  if (first !== undefined && lately.length >= limits.messageRateMax) {
    const seconds = Math.ceil((first + limits.messageRateMs - t) / 1000);
    const error = `that is more than ${limits.messageRateMax} messages in a minute; wait ${seconds} s, and put more into one`;
    return refuse("too_many_messages", error, { retryMs: first + limits.messageRateMs - t });
  }
  if (messages.bytes - messages.readBytes + bytes <= limits.messagesBytes) return null;
  return refuse(
    "messages_full",
    `unread messages would exceed ${limits.messagesBytes} bytes; try again when some have been read`,
  );
}

function allFull(state: BaseState, to: readonly ActorRow[]): Refusal | null {
  if (to.some(row => hasRoom(state.messages, inboxKey(row)))) return null;
  const names = to.map(row => row.name).slice(0, state.limits.recipientsNamedMax);
  const error = `${names.join(", ")} has ${state.limits.inboxMax} unread messages already; message not sent`;
  return refuse("inbox_full", error, { to: names });
}

/** Evicts the oldest messages that all recipients have read, until `bytes` more fit. */
function dropRead(messages: Messages, bytes: number): void {
  while (messages.bytes + bytes > messages.limits.messagesBytes) {
    const { first } = messages.read;
    const message = first === undefined ? undefined : messageAt(messages, first);
    if (message === undefined) return;
    for (const letter of [...message.letters.values()]) dropLetter(messages, message, letter);
  }
}

/** Records when the sender wrote, and forgets senders whose last message is too old to count. */
function noteSent(state: BaseState, by: string): void {
  const { sent } = state.messages;
  const lately = [...(sent.get(by) ?? []).filter(at => isLately(state, at)), state.t];
  sent.delete(by);
  sent.set(by, lately);
  for (const [sender, times] of sent) {
    if (isLately(state, times.at(-1) ?? 0)) break;
    sent.delete(sender);
  }
}

function isLately({ t, limits }: BaseState, at: number): boolean {
  return at + limits.messageRateMs > t;
}

/** Returns the project that the message goes to, or undefined if the sender's incarnation is not alive. */
function projectWrittenTo(
  state: BaseState,
  { actor, project }: { actor: Actor | null; project: string },
): string | undefined {
  if (actor === null) return project;
  const session = state.sessions.live.get(actor.session);
  return session?.incarnations.some(i => i.ordinal === actor.incarnation) ? session.project : undefined;
}
