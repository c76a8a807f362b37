/** The invariants of what agents share: context, messages, holds on edits. */
import { limits } from "../../protocol/limits.ts";
import { itemKey } from "./context.ts";
import { lettersOf } from "./inbox-table.ts";
import { inboxKey } from "./recipients.ts";
import { rebuiltMessages } from "./snapshot.ts";
import type { Messages, State } from "./state.ts";

/** What is wrong, a sentence each. */
export function* checkTalk(state: State): Generator<string> {
  yield* checkContext(state);
  yield* checkMessages(state);
  yield* checkEditHolds(state);
}

function* checkContext({ context, nodes }: State): Generator<string> {
  let bytes = 0;
  for (const [place, item] of context.items) {
    bytes += item.bytes + 2 * (item.project.length + item.key.length);
    if (place !== itemKey(item.project, item.key)) yield `${place} holds the value of ${item.key}`;
    if (item.version <= 0) yield `${item.key} has version ${item.version}`;
    if (!nodes.has(item.node)) yield `${item.key} was set on ${item.node}, where no daemon started`;
  }
  if (bytes !== context.bytes) yield `context counts ${context.bytes} bytes, not ${bytes}`;
  if (bytes > limits.contextBytes || context.items.size > limits.contextKeysMax) yield "context is over full";
}

function* checkMessages({ messages, sessions, t }: State): Generator<string> {
  let bytes = 0;
  let last = 0;
  const inboxes = new Map<string, string[]>();
  for (const message of messages.all.values()) {
    const { id, letters, order } = message;
    bytes += message.bytes;
    if (order <= last) yield `${id} stands behind message ${last}`;
    last = order;
    if (letters.size === 0) yield `${id} is in no inbox and kept`;
    for (const [key, { to }] of letters) {
      if (key !== inboxKey(to)) yield `${id} is in the inbox ${key}, not in that of ${to.id}`;
      const inbox = inboxes.get(key);
      if (inbox === undefined) inboxes.set(key, [id]);
      else inbox.push(id);
      if (!sessions.live.has(to.id)) yield `${id} is in the inbox of ${to.id}, which is not alive`;
    }
  }
  if (last > messages.count) yield `message ${last} has an order of the future`;
  if (bytes !== messages.bytes) yield `messages count ${messages.bytes} bytes, not ${bytes}`;
  for (const [key, ids] of inboxes) {
    if ([...lettersOf(messages, key)].map(([{ id }]) => id).join() !== ids.join())
      yield `the inbox ${key} is not in order`;
    if (ids.length > limits.inboxMax) yield `the inbox ${key} is over full`;
  }
  if (messages.inboxes.size !== inboxes.size) yield "inboxes of nobody are indexed";
  if (indexesOf(messages) !== indexesOf(rebuiltMessages(messages))) yield "an index of messages is wrong";
  for (const [by, times] of messages.sent) {
    const lately = times.filter(at => at + limits.messageRateMs > t);
    if (lately.length > limits.messageRateMax) yield `${by} sent ${lately.length} messages within a minute`;
  }
}

function* checkEditHolds({ editHolds, sessions }: State): Generator<string> {
  const counts = new Map<string, number>();
  if (editHolds.all.size > limits.holdsMax) yield "more holds on edits are in force than may be";
  for (const { id, actor, project } of editHolds.all.values()) {
    const by = actor === null ? project : [actor.session, actor.incarnation, actor.agent].join("\n");
    const count = (counts.get(by) ?? 0) + 1;
    counts.set(by, count);
    if (count > limits.holdsPerActorMax) yield `${by} holds edits ${count} times`;
    if (actor === null) continue;
    const session = sessions.live.get(actor.session);
    const isAlive = session?.incarnations.some(i => i.ordinal === actor.incarnation) ?? false;
    if (!isAlive) yield `${id} holds edits for ${actor.session}, which is not alive`;
  }
}

/** All that is derived from messages, as text. */
function indexesOf({ inboxes, bySession, bySender, read, readBytes, all }: Messages): string {
  const lists = [...inboxes].map(([key, inbox]) => [
    key,
    ...Object.values(inbox).map(list => [...list].join()),
  ]);
  const sets = [...bySession, ...bySender].map(([key, values]) => [key, ...[...values].sort()]);
  const open = [...all.values()].map(message => message.open);
  return JSON.stringify([lists.sort(), sets.sort(), [...read], readBytes, open]);
}
