/**
 * Delivers an inbox's messages with answers to its actor's events, and acknowledges them.
 *
 * Invariants: a message is in one answer at a time. It becomes read with the actor's next event after a delivered answer. An
 * answer that was not delivered leaves its messages unread.
 */

import { refuse } from "../../../protocol/codes.ts";
import type { MessageRow } from "../../../protocol/schemas/message.ts";
import { endFreezesOf } from "../locks/freezes.ts";
import type { BaseState, Letter, Message, Meta } from "../tables/base-state.ts";
import type { CommandOf, Step } from "../tables/entries.ts";
import { dropLetter, inboxKey } from "../tables/messages.ts";
import { actorRow, forgetAgent, noSession } from "../tables/naming.ts";
import { endDeclarations } from "../work/declared-ends.ts";
import { closeInboxes, hasRoom, inboxOf, letterAt, messageRow, putLetter, unreadIn } from "./inbox.ts";
import { putMessage } from "./send.ts";

export function inboxTake(
  state: BaseState,
  { actor, max, chars }: CommandOf<"inbox_take">,
  _meta: Meta,
  step: Step,
): void {
  const { messages } = state;
  const key = inboxOf(actor);
  const inbox = messages.inboxes.get(key);
  const rows: MessageRow[] = [];
  for (const place of [...(inbox?.handed ?? [])]) {
    const [message, letter] = letterAt(messages, key, place);
    putLetter(messages, message, { ...letter, state: "read" });
  }
  const taken: (readonly [Message, Letter])[] = [];
  let length = 0;
  for (const place of inbox?.unread ?? []) {
    const found = letterAt(messages, key, place);
    length += found[0].text.length;
    if (taken.length >= max || (taken.length > 0 && length > chars)) break;
    taken.push(found);
  }
  for (const [message, letter] of taken) {
    putLetter(messages, message, { ...letter, state: "offered" });
    rows.push(messageRow(message, letter));
  }
  step.reply = { ok: true, messages: rows, unread: unreadIn(messages, key) };
}

export function inboxTold(
  state: BaseState,
  { actor, messages, heard: isDelivered }: CommandOf<"inbox_told">,
  _meta: Meta,
  step: Step,
): void {
  const key = inboxOf(actor);
  for (const id of messages) {
    const message = state.messages.all.get(id);
    const letter = message?.letters.get(key);
    if (message === undefined || letter === undefined || !isOnItsWay(state, letter)) continue;
    putLetter(state.messages, message, { ...letter, state: isDelivered ? "handed" : "unread" });
  }
  step.reply = { ok: true };
}

/** Whether an answer may carry the letter. Shared rows do not say so: another start of the daemon may have given it out. */
function isOnItsWay(state: BaseState, letter: Letter): boolean {
  return letter.state === "offered" || (letter.state === "unread" && state.isShared);
}

export function messageAck(
  state: BaseState,
  { actor, messages, read }: CommandOf<"message_ack">,
  _meta: Meta,
  step: Step,
): void {
  const session = state.sessions.live.get(actor.session);
  if (session === undefined) {
    step.reply = noSession(state, actor.session);
    return;
  }
  const key = inboxOf(actor);
  const found: (readonly [Message, Letter])[] = [];
  let missing: string | null = null;
  for (const id of new Set(messages)) {
    const message = state.messages.all.get(id);
    const letter = message?.letters.get(key);
    if (message !== undefined && letter !== undefined) found.push([message, letter]);
    else missing ??= id;
  }
  if (missing !== null) {
    const error = `${missing} is not in your inbox, or was acknowledged already; message_list shows your inbox`;
    step.reply = refuse("unknown_message", error, { message: missing });
    return;
  }
  const by = actorRow(state, actor);
  for (const [message, letter] of found.sort(([one], [other]) => one.order - other.order)) {
    if (read === true) {
      putLetter(state.messages, message, { ...letter, state: "read" });
      continue;
    }
    dropLetter(state.messages, message, letter);
    const event = { event: "message_acknowledged" as const, message: message.id, by };
    const about = message.from === null ? [] : [message.from.id];
    step.events.push({ event, about, project: message.project });
  }
  step.reply = { ok: true, acknowledged: messages };
}

export function agentEnd(
  state: BaseState,
  { actor, stopped }: CommandOf<"agent_end">,
  _meta: Meta,
  step: Step,
): void {
  step.reply = { ok: true };
  const { session, agent } = actor;
  if (agent !== null) endAgent(state, session, agent, stopped === true, step);
}

/** Ends an agent within a session. `isStopped`: another agent stopped it. */
function endAgent(state: BaseState, session: string, agent: string, isStopped: boolean, step: Step): void {
  closeInboxes(state, session, agent, step);
  endFreezesOf(state, { session, agent }, "ended", step);
  endDeclarations(state, session, agent);
  // Told after notices were taken back: a full list keeps one more.
  if (isStopped) for (const { agentIsStopped } of state.points) agentIsStopped?.(state, session, agent);
  // Removed last, because returned messages carry the agent's name.
  const live = state.sessions.live.get(session);
  if (live !== undefined) forgetAgent(state, live, agent);
  for (const { agentEnds } of state.points) agentEnds?.(state, session, agent, isStopped);
}

// Takes a message whose sender is not in this log: one of the log that this machine leaves, or of Kite itself.
//
// Invariants: only live recipients with room get it; its sender is shown as the command calls it. Nobody but this machine's daemon
// enters it.

export function messageImport(
  state: BaseState,
  command: CommandOf<"message_import">,
  _meta: Meta,
  step: Step,
): void {
  const { messages, sessions, limits } = state;
  const { bytes } = command;
  const to = command.to.filter(row => sessions.live.has(row.id) && hasRoom(messages, inboxKey(row)));
  if (messages.bytes - messages.readBytes + bytes > limits.messagesBytes) {
    const error = `unread messages would exceed ${limits.messagesBytes} bytes; let agents read theirs first`;
    step.reply = refuse("messages_full", error);
    return;
  }
  // In its own log it may answer another message, which is not here.
  const posting = { ...command, to, thread: null, replyTo: null };
  step.reply = { ok: true, reached: to.length };
  if (to.length > 0) putMessage(state, posting, step);
}
