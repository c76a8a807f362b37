/** The invariants of context, messages, notices and freezes; part of `check`. */

import type { BaseState } from "../base-state.ts";
import { contextRecords, isKeptByUse } from "../context-index.ts";
import { isSame } from "../same-index.ts";
import { conflictRecords, pendingRecords } from "./notice-table.ts";
import { inboxKey } from "./recipients.ts";
import { freezeRecords } from "./state.ts";
import { lettersOf, sortKeyOf } from "./table.ts";

/** Yields one sentence per broken invariant. */
export function* checkContext({ context, nodes, limits, t }: BaseState): Generator<string> {
  yield* contextRecords.check(context, "items of context");
  for (const item of context.items.values()) {
    const { usedAt, leavesAt } = item;
    if (usedAt !== undefined && (usedAt > t || !isKeptByUse(item))) yield `${item.key} was used at ${usedAt}`;
    if (leavesAt !== undefined && (usedAt === undefined || leavesAt - usedAt < limits.contextUnusedMs))
      yield `${item.key} leaves at ${leavesAt}, though it was used at ${usedAt}`;
    if (item.version <= 0) yield `${item.key} has version ${item.version}`;
    if (!nodes.has(item.node)) yield `${item.key} was set on ${item.node}, where no daemon started`;
  }
  if (context.bytes > limits.contextBytes || context.items.size - context.verdicts > limits.contextKeysMax)
    yield "context is over full";
}

/** Yields one sentence per broken invariant. */
export function* checkMessages(state: BaseState): Generator<string> {
  const { messages, sessions, t, limits } = state;
  let bytes = 0;
  let last = 0;
  for (const message of messages.all.values()) {
    const { id, letters, order } = message;
    bytes += message.bytes;
    if (order <= last) yield `${id} stands behind message ${last}`;
    last = order;
    if (letters.size === 0) yield `${id} is in no inbox and kept`;
    for (const [key, { to }] of letters) {
      if (key !== inboxKey(to)) yield `${id} is in the inbox ${key}, not in that of ${to.id}`;
      if (!sessions.live.has(to.id)) yield `${id} is in the inbox of ${to.id}, which is not alive`;
    }
  }
  if (!isSame([...messages.places], [...messages.all.values()].map(sortKeyOf)))
    yield "the order of messages is noted wrong";
  if (last > messages.count) yield `message ${last} has an order of the future`;
  if (bytes !== messages.bytes) yield `messages count ${messages.bytes} bytes, not ${bytes}`;
  yield* checkInboxes(state);
  for (const [by, times] of messages.sent) {
    const lately = times.filter(at => at + limits.messageRateMs > t);
    if (lately.length > limits.messageRateMax) yield `${by} sent ${lately.length} messages within a minute`;
  }
}

/** Checks the indexes derived from messages: every indexed letter exists, and the counts agree. */
function* checkInboxes({ messages, limits }: BaseState): Generator<string> {
  let letters = 0;
  let read = 0;
  let sent = 0;
  for (const message of messages.all.values()) {
    const open = [...message.letters.values()].filter(({ state }) => state !== "read").length;
    letters += message.letters.size;
    if (open !== message.open) yield `${message.id} counts ${message.open} open letters, not ${open}`;
    if (open === 0) read += message.bytes;
    if ((open === 0) !== messages.read.has(sortKeyOf(message))) yield `${message.id} is wrongly read by all`;
    if (message.from === null) continue;
    sent += 1;
    if (!messages.bySender.get(message.from.id)?.has(message.id)) yield `${message.id} has no sender`;
  }
  if (read !== messages.readBytes) yield `${messages.readBytes} bytes are read by all, not ${read}`;
  for (const ids of messages.bySender.values()) sent -= ids.size;
  if (sent !== 0) yield "messages are indexed under a sender they do not have";
  let owned = 0;
  for (const [key, inbox] of messages.inboxes) {
    const found = [...lettersOf(messages, key)];
    letters -= found.length;
    const order = found.map(([message]) => message.order);
    if (order.some((n, i) => i > 0 && n <= (order[i - 1] ?? 0))) yield `the inbox ${key} is not in order`;
    if (found.length > limits.inboxMax) yield `the inbox ${key} is over full`;
    for (const state of ["unread", "handed", "read"] as const) {
      const places = found
        .filter(([, letter]) => letter.state === state)
        .map(([message]) => sortKeyOf(message));
      if ([...inbox[state]].join() !== places.join())
        yield `the inbox ${key} is wrong about what is ${state}`;
    }
    const [first] = found;
    if (first === undefined) yield `the inbox ${key} is empty`;
    else if (messages.bySession.get(first[1].to.id)?.has(key)) owned += 1;
  }
  if (letters !== 0) yield "letters are in other inboxes than those they name";
  for (const keys of messages.bySession.values()) owned -= keys.size;
  if (owned !== 0) yield "inboxes are indexed under a session that is not theirs";
}

/** Yields one sentence per broken invariant. */
export function* checkFreezes({ freezes, sessions, limits }: BaseState): Generator<string> {
  const counts = new Map<string, number>();
  yield* freezeRecords.check(freezes, "freezes", limits.freezesMax);
  for (const { id, actor, project } of freezes.all.values()) {
    const by = actor === null ? project : [actor.session, actor.incarnation, actor.agent].join("\n");
    const count = (counts.get(by) ?? 0) + 1;
    counts.set(by, count);
    if (count > limits.freezesPerActorMax) yield `${by} holds edits ${count} times`;
    if (actor === null) continue;
    const session = sessions.live.get(actor.session);
    const isAlive = session?.incarnations.some(i => i.ordinal === actor.incarnation) ?? false;
    if (!isAlive) yield `${id} holds edits for ${actor.session}, which is not alive`;
  }
}

/** Yields one sentence per broken invariant. */
export function* checkNotes({ notes, sessions, limits }: BaseState): Generator<string> {
  yield* pendingRecords.check(notes, "agents with notes", limits.notedActorsMax);
  yield* conflictRecords.check(notes, "conflicts", limits.conflictsToldMax);
  const given = new Set<number>();
  for (const [key, pending] of notes.pending) {
    const { session } = pending;
    if (!sessions.live.has(session)) yield `${session} has ended and is to be told something`;
    if (pending.notes.length === 0 || pending.notes.length > limits.fileNotesMax)
      yield `${key} has ${pending.notes.length} notes`;
    let last = 0;
    for (const { n } of pending.notes) {
      if (n <= last || n > notes.count || given.has(n)) yield `${key} has note ${n} behind ${last}`;
      given.add(n);
      last = n;
    }
    if (new Set(pending.notes.map(({ note }) => JSON.stringify(note))).size < pending.notes.length)
      yield `${key} is to be told something twice`;
  }
}
