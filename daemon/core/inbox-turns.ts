/**
 * What a reader does with an inbox: messages go into answers to its events, and are acknowledged.
 *
 * Invariants: a message goes into one answer at a time; it counts as read when the actor's next event comes after an
 * answer that its client got; an answer that got nowhere leaves its messages unread.
 */
import { refuse } from "../../protocol/codes.ts";
import type { MessageRow } from "../../protocol/message.ts";
import { endHoldsOf } from "./edit-holds.ts";
import type { Handler } from "./handlers.ts";
import { closeInboxes, dropLetter, inboxOf, lettersOf, messageRow, replaceLetter } from "./inbox.ts";
import { actorRow } from "./lock-text.ts";
import { noSession } from "./sessions.ts";

export const inboxTake: Handler<"inbox_take"> = (state, { actor, max, chars }, _meta, step) => {
  const taken: MessageRow[] = [];
  let length = 0;
  let unread = 0;
  let isFull = false;
  for (const [message, letter] of lettersOf(state.messages, inboxOf(actor))) {
    if (letter.state === "handed") replaceLetter(message, letter, { ...letter, state: "read" });
    if (letter.state !== "unread") continue;
    isFull ||= taken.length >= max || (taken.length > 0 && length + message.text.length > chars);
    if (isFull) {
      unread += 1;
      continue;
    }
    length += message.text.length;
    replaceLetter(message, letter, { ...letter, state: "offered" });
    taken.push(messageRow(message, letter));
  }
  step.reply = { ok: true, messages: taken, unread };
};

export const inboxTold: Handler<"inbox_told"> = (state, { actor, messages, heard }, _meta, step) => {
  const told = new Set(messages);
  for (const [message, letter] of lettersOf(state.messages, inboxOf(actor))) {
    if (letter.state !== "offered" || !told.has(message.id)) continue;
    replaceLetter(message, letter, { ...letter, state: heard ? "handed" : "unread" });
  }
  step.reply = { ok: true };
};

export const messageAck: Handler<"message_ack"> = (state, { actor, messages, read }, _meta, step) => {
  const session = state.sessions.live.get(actor.session);
  if (session === undefined) {
    step.reply = noSession(state, actor.session);
    return;
  }
  const wanted = new Set(messages);
  const found = [...lettersOf(state.messages, inboxOf(actor))].filter(([{ id }]) => wanted.has(id));
  if (found.length < wanted.size) {
    const missing = messages.find(id => found.every(([message]) => message.id !== id)) ?? "";
    const error = `${missing} is not in your inbox, or was acknowledged before; message_list shows what is`;
    step.reply = refuse("unknown_message", error, { message: missing });
    return;
  }
  const by = actorRow(state, actor);
  for (const [message, letter] of found) {
    if (read === true) {
      replaceLetter(message, letter, { ...letter, state: "read" });
      continue;
    }
    dropLetter(state.messages, message, letter);
    const event = { event: "message_acknowledged" as const, message: message.id, by };
    const about = message.from === null ? [] : [message.from.id];
    step.events.push({ event, about, project: message.project });
  }
  step.reply = { ok: true, acknowledged: messages };
};

export const agentEnd: Handler<"agent_end"> = (state, { actor }, _meta, step) => {
  step.reply = { ok: true };
  const { session, agent } = actor;
  if (agent === null) return;
  closeInboxes(state, session, agent, step);
  endHoldsOf(state, { session, agent }, "ended", step);
  // Last: what it leaves behind goes back under its name.
  state.sessions.live.get(session)?.agents.delete(agent);
};
