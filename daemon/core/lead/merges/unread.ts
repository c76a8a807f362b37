/** Merges that came back, and that nobody who has to know has read of. Pure questions to the state. */
import type { ActorRow } from "../../../../protocol/schemas/lock.ts";
import { letterAt } from "../../messages/table.ts";
import type { State } from "../../state.ts";
import { type Merge, mergeOf } from "./table.ts";

/**
 * Returns who has to read that the merge came back and has not; null: nobody is there to read it, and no later merge of the
 * branch was queued; undefined: nobody has to.
 */
export function unreadBy({ messages, merges }: State, merge: Merge): ActorRow | null | undefined {
  const { notice, n, project, branch } = merge;
  if (notice === null) {
    for (const later of merges.all.values())
      if (later.n > n && later.project === project && later.branch === branch) return undefined;
    return null;
  }
  if (notice === undefined) return undefined;
  for (const { to, state } of messages.all.get(notice.message)?.letters.values() ?? [])
    if (state === "unread" || state === "offered") return to;
  return undefined;
}

/** Returns the oldest merge that came back and of which the inbox `key` has an unread message. Costs what is unread there. */
export function firstUnread({ messages, merges }: State, key: string): Merge | undefined {
  for (const place of messages.inboxes.get(key)?.unread ?? []) {
    const id = merges.byNotice.get(letterAt(messages, key, place)[0].id);
    if (id !== undefined) return mergeOf(merges, id);
  }
  return undefined;
}

/** Returns the number of branches whose latest merge came back, at `since` or later, with nobody there to read so. */
export function countUnheard({ merges }: State, since: number): number {
  const latest = new Map<string, Merge>();
  for (const merge of merges.all.values()) latest.set(`${merge.project}\n${merge.branch}`, merge);
  return [...latest.values()].filter(({ notice, changedAt }) => notice === null && changedAt >= since).length;
}

/** Whether an open merge is of a branch of this session's main agent. */
export function hasOpenMerge({ merges }: State, session: string): boolean {
  for (const ids of merges.open.values())
    for (const id of ids) {
      const { author } = mergeOf(merges, id);
      if (author?.id === session && author.agent === null) return true;
    }
  return false;
}
