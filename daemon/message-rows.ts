/** Inboxes and holds on edits as they are shown. */
import { limits } from "../protocol/limits.ts";
import type { MessageListReply, MessageRow, PostedRow } from "../protocol/message.ts";
import { lettersOf, messageRow, stateOf } from "./core/inbox.ts";
import type { Message, State } from "./core/state.ts";
import type { Keyed } from "./rows.ts";

export interface InboxWanted {
  readonly unread?: boolean | undefined;
  readonly thread?: string | undefined;
  readonly limit?: number | undefined;
}

/**
 * A page of an inbox, oldest first, behind the message with the order `behind`: at most `limit` messages, and about
 * `limits.lineBytes` of them (one at least).
 */
export function inboxPage(
  state: State,
  key: string,
  { unread: onlyUnread = false, thread, limit: max = limits.rowsDefault }: InboxWanted,
  behind: number,
): MessageListReply {
  const messages: MessageRow[] = [];
  let unread = 0;
  let size = 0;
  let next: string | undefined;
  for (const [message, letter] of lettersOf(state.messages, key)) {
    if (stateOf(letter) === "unread") unread += 1;
    const row = messageRow(message, letter);
    const isWanted =
      message.order > behind &&
      (thread === undefined || message.thread === thread) &&
      (!onlyUnread || row.state === "unread");
    if (!isWanted || next !== undefined) continue;
    size += JSON.stringify(row).length;
    const last = messages.at(-1);
    if (last !== undefined && (messages.length === max || size > limits.lineBytes / 2)) next = last.id;
    else messages.push(row);
  }
  return { ok: true, messages, unread, ...(next === undefined ? {} : { next }) };
}

/** Messages that are in some inbox, in the order they were sent. */
export function* postedRows({ messages }: State): Generator<Keyed<PostedRow>, void> {
  for (const message of messages.all.values()) {
    const { id: key, order: place } = message;
    yield { place, key, row: () => postedRow(message) };
  }
}

function postedRow(message: Message): PostedRow {
  const { id, from, project, text, replyTo, thread, urgent, broadcast, at } = message;
  const to = message.letters.map(letter => ({ ...letter.to, state: stateOf(letter) }));
  return { id, from, to, project, text, replyTo, thread, urgent, broadcast, at };
}

/** The number in a message's id, or null where it is none. */
export function orderOf(id: string): number | null {
  return /^m-[0-9a-z]{1,11}$/.test(id) ? Number.parseInt(id.slice(2), 36) : null;
}
