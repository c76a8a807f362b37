/**
 * Messages between agents: at least once, in the order they were sent.
 *
 * Invariants: a message is in the inbox of everybody its reply names; sender and recipient are of one project; a
 * session sends at most `limits.messageRateMax` within `limits.messageRateMs`; texts together stay within
 * `limits.messagesBytes`.
 */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import { limits } from "../../../protocol/limits.ts";
import type { ActorRow } from "../../../protocol/lock.ts";
import type { Actor } from "../actor.ts";
import type { Handler } from "../handler.ts";
import { actorRow } from "../locks/replies.ts";
import type { Reply, Step } from "../outcome.ts";
import { noSession } from "../sessions/end.ts";
import type { Message, Messages, State } from "../state.ts";
import type { MessageSend, Posted } from "./commands.ts";
import { holdEdits, holdRow, mayHold } from "./freezes.ts";
import { hasRoom, makeRoom } from "./inbox.ts";
import { everyoneElse, inboxKey, recipientOf, senderOf } from "./recipients.ts";
import { addMessage, dropLetter, messageAt } from "./table.ts";

/** Who is meant by this `to`. */
const everyone = "everyone";

export const messageSend: Handler<"message_send"> = (state, command, _meta, step) => {
  const { actor, replyTo } = command;
  const project = projectOf(state, command);
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
};

export const broadcast: Handler<"broadcast"> = (state, command, _meta, step) => {
  const { actor, text } = command;
  const project = projectOf(state, command);
  if (project === undefined) {
    step.reply = noSession(state, actor?.session ?? "");
    return;
  }
  const to = everyoneElse(state, project, actor);
  const mayWrite = mayPost(state, command, project);
  const refused = command.hold === null ? mayWrite : (mayWrite ?? mayHold(state, actor, project));
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
  const hold = holdEdits(state, { actor, project, text, ...command.hold }, step);
  step.reply = { ...reply, hold: holdRow(hold, state.t) };
};

interface Posting {
  readonly project: string;
  readonly to: readonly ActorRow[];
  /** Null: the message begins one. */
  readonly thread: string | null;
  readonly replyTo: string | null;
  readonly urgent: boolean;
  readonly broadcast: boolean;
}

function post(state: State, posted: Posted, posting: Posting, step: Step): Reply & { readonly ok: true } {
  const { messages } = state;
  const { project, replyTo, urgent, broadcast } = posting;
  const { text, bytes, wallMs: at, actor } = posted;
  const from = actor === null ? null : actorRow(state, actor);
  const to = posting.to.filter(row => hasRoom(messages, inboxKey(row)));
  for (const row of to) makeRoom(messages, inboxKey(row));
  dropRead(messages, bytes);
  noteSent(state, actor?.session ?? project);
  messages.count += 1;
  const id = `m-${messages.count.toString(36)}`;
  const thread = posting.thread ?? id;
  const letters = to.map(row => ({ to: row, state: "unread" as const, undelivered: null }));
  const order = messages.count;
  const message = { id, order, project, from, letters, text, bytes, replyTo, thread, urgent, broadcast, at };
  if (letters.length > 0) addMessage(messages, message);
  const shown = to.slice(0, limits.eventFilesMax);
  const more = to.length > shown.length ? { more: to.length - shown.length } : {};
  step.events.push({
    event: { event: "message_sent", message: id, from, to: shown, ...more, project, urgent },
    about: to.map(row => row.id),
    project,
  });
  const reached = new Set(to);
  const full = posting.to.filter(row => !reached.has(row));
  return { ok: true, message: { id, thread, to }, ...(full.length === 0 ? {} : { full }) };
}

function recipientsOf(
  state: State,
  project: string,
  { actor, to, replyTo }: MessageSend,
  parent: Message | undefined,
): readonly ActorRow[] | Refusal {
  if (to === everyone) {
    const all = everyoneElse(state, project, actor);
    return all.length > 0
      ? all
      : refuse("recipient_gone", "nobody else is here; the message was not sent", { to });
  }
  if (to !== null) {
    const found = recipientOf(state, project, to);
    return "ok" in found ? found : [found];
  }
  if (parent === undefined) {
    const error = `${replyTo} is no message that is still kept; say to whom you write`;
    return refuse("unknown_message", error, { message: replyTo });
  }
  if (parent.from === null) {
    const error = `a person at a terminal wrote ${parent.id} and has no inbox; answer in your own words to your user`;
    return refuse("recipient_gone", error, { message: replyTo });
  }
  const found = senderOf(state, project, parent.from);
  return "ok" in found ? found : [found];
}

function mayPost(state: State, { actor, bytes }: Posted, project: string): Refusal | null {
  const { messages, t } = state;
  const lately = (messages.sent.get(actor?.session ?? project) ?? []).filter(at => isLately(at, t));
  const [first] = lately;
  if (first !== undefined && lately.length >= limits.messageRateMax) {
    const seconds = Math.ceil((first + limits.messageRateMs - t) / 1000);
    const error = `that is more than ${limits.messageRateMax} messages in a minute; wait ${seconds} s, and put more into one`;
    return refuse("too_many_messages", error, { retryMs: first + limits.messageRateMs - t });
  }
  if (messages.bytes - messages.readBytes + bytes <= limits.messagesBytes) return null;
  return refuse(
    "messages_full",
    `all inboxes together hold ${limits.messagesBytes} bytes that nobody has read`,
  );
}

function allFull(state: State, to: readonly ActorRow[]): Refusal | null {
  if (to.some(row => hasRoom(state.messages, inboxKey(row)))) return null;
  const names = to.map(row => row.name).slice(0, limits.recipientsNamedMax);
  const error = `${names.join(", ")} has ${limits.inboxMax} unread messages already; it was not sent`;
  return refuse("inbox_full", error, { to: names });
}

/** Lets the oldest messages that everybody has read go, until there is room. */
function dropRead(messages: Messages, bytes: number): void {
  while (messages.bytes + bytes > limits.messagesBytes) {
    const { first } = messages.read;
    const message = first === undefined ? undefined : messageAt(messages, first);
    if (message === undefined) return;
    for (const letter of [...message.letters.values()]) dropLetter(messages, message, letter);
  }
}

/** Notes that the sender wrote; those who have not written lately are forgotten. */
function noteSent({ messages: { sent }, t }: State, by: string): void {
  const lately = [...(sent.get(by) ?? []).filter(at => isLately(at, t)), t];
  sent.delete(by);
  sent.set(by, lately);
  for (const [sender, times] of sent) {
    if (isLately(times.at(-1) ?? 0, t)) break;
    sent.delete(sender);
  }
}

function isLately(at: number, t: number): boolean {
  return at + limits.messageRateMs > t;
}

/** The project that is written to; undefined where the writing part of the session does not live. */
function projectOf(
  state: State,
  { actor, project }: { actor: Actor | null; project: string },
): string | undefined {
  if (actor === null) return project;
  const session = state.sessions.live.get(actor.session);
  return session?.incarnations.some(i => i.ordinal === actor.incarnation) ? session.project : undefined;
}
