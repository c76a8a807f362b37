/** Messages by thread, in the order in which a person wants to see them. */
import type { PostedRow } from "../../../../protocol/schemas/message.ts";

export interface Thread {
  readonly id: string;
  readonly project: string;
  /** Oldest first. */
  readonly messages: readonly PostedRow[];
  readonly isUnread: boolean;
  /** Whether an unread message of it is urgent. */
  readonly isUrgent: boolean;
  /** When its last message was sent. */
  readonly at: number;
}

/** Returns the threads: those that somebody has not read first, of these the urgent ones, each from the newest. */
export function threadsOf(messages: readonly PostedRow[]): readonly Thread[] {
  const byId = new Map<string, PostedRow[]>();
  for (const message of messages) {
    const key = `${message.project}\n${message.thread}`;
    const found = byId.get(key);
    if (found === undefined) byId.set(key, [message]);
    else found.push(message);
  }
  const threads = [...byId.values()].map(threadOf);
  return threads.sort((a, b) => urgency(a) - urgency(b) || b.at - a.at);
}

function threadOf(messages: readonly PostedRow[]): Thread {
  const sorted = [...messages].sort((a, b) => a.at - b.at);
  const unread = sorted.filter(({ to }) => to.some(({ state }) => state === "unread"));
  const [{ thread: id, project } = { thread: "", project: "" }] = sorted;
  return {
    ...{ id, project, messages: sorted },
    isUnread: unread.length > 0,
    isUrgent: unread.some(({ urgent }) => urgent),
    at: sorted.at(-1)?.at ?? 0,
  };
}

function urgency({ isUnread, isUrgent }: Thread): number {
  return isUrgent ? 0 : isUnread ? 1 : 2;
}

/** Returns whether a message has the text, or somebody of that name. */
export function hasText({ messages }: Thread, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  return messages.some(message =>
    [message.text, message.from?.name ?? "", ...message.to.map(({ name }) => name)].some(one =>
      one.toLowerCase().includes(wanted),
    ),
  );
}
