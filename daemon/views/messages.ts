/** Inboxes and freezes as `query` shows them. */

import type { Refusal } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { personOnWire } from "../../protocol/names.ts";
import type { ContextRow } from "../../protocol/schemas/context.ts";
import type { HoldRow, PostedRow } from "../../protocol/schemas/message.ts";
import { SortedKeys } from "../core/frame/collections.ts";
import { freezeRow } from "../core/locks/freezes.ts";
import { lettersOf, messageIn, messageRow, messagesFrom, stateOf } from "../core/messages/inbox.ts";
import type { State } from "../core/state.ts";
import type { ContextItem, Message, Messages } from "../core/tables/base-state.ts";
import { isThere, itemKey } from "../core/tables/context.ts";
import { sortKeyOf } from "../core/tables/messages.ts";
import { idIn, type Logs, type LogView } from "../engine/log-view.ts";
import type { Steps } from "../server/call.ts";
import {
  hasRowsOf,
  type Keyed,
  logPage,
  nowhere,
  type PageOf,
  type Part,
  type PartOf,
  part,
  passedCost,
  placeIn,
  type RowsOf,
  unwantedCost,
} from "./paging.ts";

interface InboxWanted {
  readonly unread?: boolean | undefined;
  readonly thread?: string | undefined;
  readonly limit?: number | undefined;
}

/** An actor's inbox in one log. */
interface Inbox {
  readonly log: LogView;
  readonly key: string;
}

/** A message's place in an inbox; `box`: the inbox's place in a list of several. */
interface InboxPlace {
  readonly box: number;
  readonly order: number;
}

/**
 * Returns a page of an actor's inboxes, one after the other, each oldest first, after the message at `behind`. It has at
 * least one message, at most `limit`, and about `limits.lineBytes` at most.
 */
export function* inboxPage(
  inboxes: readonly Inbox[],
  { unread: onlyUnread = false, thread, limit: max = limits.rowsDefault }: InboxWanted,
  behind: InboxPlace,
): Steps<string> {
  const messages: string[] = [];
  let unread = 0;
  let size = 0;
  let last: string | undefined;
  let next: string | undefined;
  for (const [box, message, letter] of lettersIn(inboxes)) {
    if (stateOf(letter) === "unread") unread += 1;
    const isBehind = box > behind.box || (box === behind.box && message.order > behind.order);
    const isWanted =
      next === undefined &&
      isBehind &&
      (thread === undefined || message.thread === thread) &&
      (!onlyUnread || stateOf(letter) === "unread");
    if (!isWanted) {
      yield passedCost;
      continue;
    }
    const row = JSON.stringify(messageRow(message, letter));
    size += row.length;
    if (last !== undefined && (messages.length === max || size > limits.lineBytes / 2)) next = last;
    else {
      messages.push(row);
      last = box === inboxes.length - 1 ? message.id : `${box}.${message.id}`;
    }
    yield row.length + unwantedCost;
  }
  const more = next === undefined ? "" : `,"next":${JSON.stringify(next)}`;
  return `{"ok":true,"messages":[${messages.join(",")}],"unread":${unread}${more}}`;
}

/** Which messages: those that the session, as the log calls it, sent or got. Undefined: those of all sessions. */
interface PostedOf extends Pick<RowsOf, "from"> {
  readonly session?: string | undefined;
}

/** Messages that are in any inbox of a log, in the order of sending. */
export function* postedRows(
  log: LogView,
  { session, from }: PostedOf = {},
): Generator<Keyed<PostedRow>, void> {
  const { messages } = log.state;
  for (const message of session === undefined
    ? messagesFrom(messages, from?.place ?? 0)
    : messagesOf(messages, session)) {
    const { id: key, order: place } = message;
    yield { place, key, row: () => postedRow(message) };
  }
}

/**
 * Which messages: those of one project, or with null of all. `id`: those that this session sent or got; without it, those of
 * all.
 */
interface PostedWanted extends PageOf {
  readonly id?: string | undefined;
}

/** Returns a page of messages, in the order of sending in each log: the own one writes of merges and freezes in any project. */
export function postedPage(logs: Logs, wanted: PostedWanted): Steps<string | Refusal> {
  return logPage(logs, { ...wanted, project: null }, (log, of) => postedPart(log, wanted, of));
}

function* postedPart(
  log: LogView,
  { project, id }: PostedWanted,
  { max, room, after }: PartOf,
): Steps<Part | Refusal> {
  const from = after === undefined ? null : placeIn(after);
  if (from === "nowhere") return nowhere();
  const session = id === undefined ? undefined : idIn(log, id);
  const wanted = (row: PostedRow) =>
    (project === null || row.project === project) &&
    (session === undefined || row.from?.id === session || row.to.some(to => to.id === session));
  return yield* part(postedRows(log, { session, from }), { wanted, from, max, room });
}

/** Yields the messages that the session or its agents sent or got, in the order of sending. */
function* messagesOf(messages: Messages, session: string): Generator<Message, void> {
  const found = new SortedKeys();
  for (const inbox of messages.bySession.get(session) ?? [])
    for (const place of messages.inboxes.get(inbox)?.all ?? []) found.add(place);
  for (const id of messages.bySender.get(session) ?? []) {
    const message = messages.all.get(id);
    if (message !== undefined) found.add(sortKeyOf(message));
  }
  // The reader may be interrupted, and a message may go meanwhile.
  for (const place of found) {
    const message = messageIn(messages, place);
    if (message !== undefined) yield message;
  }
}

/** Freezes in the order of their beginning. */
export function* holdRows(engine: {
  readonly state: State;
  readonly now: number;
}): Generator<Keyed<HoldRow>, void> {
  for (const hold of engine.state.freezes.all.values()) {
    const place = Number.parseInt(hold.id.slice("h-".length), 36);
    yield { place, key: hold.id, row: () => freezeRow(hold, engine.now) };
  }
}

/** Returns a message as a query shows it. */
export function postedRow(message: Message): PostedRow {
  const { id, from, project, text, replyTo, thread, urgent, broadcast, at } = message;
  const to = [...message.letters.values()].map(letter => ({ ...letter.to, state: stateOf(letter) }));
  return { id, from, to, project, text, replyTo, thread, urgent, broadcast, at };
}

function* lettersIn(inboxes: readonly Inbox[]) {
  for (const [box, { log, key }] of inboxes.entries())
    for (const [message, letter] of lettersOf(log.state.messages, key)) yield [box, message, letter] as const;
}

/** Returns the place that `next` of a page over so many inboxes names, or null if it is no such place. */
export function inboxPlaceOf(next: string, boxes: number): InboxPlace | null {
  const [, box = `${boxes - 1}`, order] = /^(?:(\d)\.)?ms?-([0-9a-z]{1,11})$/.exec(next) ?? [];
  if (order === undefined || Number(box) >= boxes) return null;
  return { box: Number(box), order: Number.parseInt(order, 36) };
}

// Context as `query` shows it: key by key, without the values.

export function contextRow(item: ContextItem, now: number): ContextRow {
  const { key, project, from, at, version, durable, bytes, endsAt, leavesAt } = item;
  return {
    key,
    project,
    from: from?.id ?? null,
    fromName: from?.name ?? personOnWire,
    at,
    version,
    durable,
    bytes,
    endsInMs: endsAt === null ? null : endsAt - now,
    ...(leavesAt === undefined ? {} : { leavesInMs: Math.max(0, leavesAt - now) }),
  };
}

/** Which keys: those of one project, or with null of all. A page begins after the key `after`. */
interface ContextWanted {
  readonly project: string | null;
  readonly prefix?: string | undefined;
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}

/** Returns a page of keys, ordered by name. Expired keys are left out, even before the log has their end. */
export function contextPage(logs: Logs, wanted: ContextWanted): Steps<string | Refusal> {
  const { project, limit: max = limits.rowsDefault, after } = wanted;
  return logPage(logs, { project, max, after }, (log, of) => contextPart(logs, log, wanted, of));
}

function* contextPart(
  logs: Logs,
  log: LogView,
  { project, prefix = "" }: ContextWanted,
  { max, after }: PartOf,
): Steps<Part> {
  const { places, items } = log.state.context;
  const begin = project === null ? "" : itemKey(project, prefix);
  const rows: string[] = [];
  let shown: string | undefined;
  let last = after;
  let left = places.from(after !== undefined && after > begin ? after : begin);
  for (let next = left.next(); next.done !== true; next = left.next()) {
    const place = next.value;
    if (place === last) continue;
    if (!place.startsWith(begin)) break;
    last = place;
    const item = items.get(place);
    const isWanted =
      item?.key.startsWith(prefix) === true && isThere(item, log.now) && hasRowsOf(logs, log, item.project);
    if (isWanted && rows.length === max) return { rows, next: shown };
    const row = isWanted ? JSON.stringify(contextRow(item, log.now)) : null;
    if (row !== null) {
      rows.push(row);
      shown = place;
    }
    // Keys may have come and gone meanwhile: the page goes on after the last one.
    if ((yield row === null ? passedCost : row.length) === true) left = places.from(last);
  }
  return { rows };
}
