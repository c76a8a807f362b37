/**
 * The table of context: its items, their keys in order, and what was set last in a project.
 * Invariant: a look visits only the items that it yields, and expired ones whose end the log does not have yet.
 */

import type { JsonValue } from "../../../protocol/schemas/context.ts";
import type { ActorRow } from "../../../protocol/schemas/lock.ts";
import { Records, sorted, sortedBy, total } from "../frame/records.ts";
import { numberHead, valueList } from "../frame/saved-rows.ts";

export interface ContextItem {
  readonly project: string;
  readonly key: string;
  readonly value: JsonValue;
  /** The size of the value as JSON. */
  readonly bytes: number;
  /** The actor that set it; null: a person. */
  readonly from: ActorRow | null;
  readonly node: string;
  /** Wall time in milliseconds. */
  readonly at: number;
  readonly version: number;
  readonly durable: boolean;
  /** When it expires (core time, ms), or null. */
  readonly endsAt: number | null;
  /** When it was last written, or a read was noted (core time, ms); absent: not since uses are noted. */
  readonly usedAt?: number;
  /** When it goes because nobody used it (core time, ms); absent: it was used lately. */
  readonly leavesAt?: number;
}

/** What the keys of debates' verdicts begin with. */
export const verdicts = "debate/";

/** Whether the key is reserved for a verdict. */
export function isVerdictKey(key: string): boolean {
  return key.startsWith(verdicts);
}

/** Whether the item goes if nobody uses it: others end with the daemon, at their time, or with their debate. */
export function isKeptByUse({ key, durable, endsAt }: ContextItem): boolean {
  return durable && endsAt === null && !isVerdictKey(key);
}

/** Returns the item as used at `now` (core time, ms). */
export function usedItem({ leavesAt: _leavesAt, ...item }: ContextItem, now: number): ContextItem {
  return { ...item, usedAt: now };
}

/** Returns the item's size in bytes for `limits.contextBytes`: each character of project and key counts as two. */
export function sizeOf({ project, key, bytes }: Pick<ContextItem, "project" | "key" | "bytes">): number {
  return bytes + 2 * (project.length + key.length);
}

/** Returns the item's key in the table. */
export function itemKey(project: string, key: string): string {
  return `${project}\n${key}`;
}

const timeDigits = 11;

export const contextRecords = new Records("items", ({ project, key }: ContextItem) => itemKey(project, key), {
  places: sorted(({ project, key }) => itemKey(project, key)),
  /** By project, sort keys of its items by the time of setting. */
  lately: sortedBy(
    (item: ContextItem) => item.project,
    ({ at, key }) => `${timeText(at)} ${key}`,
  ),
  /** The size of all items but verdicts of debates, and the number of those. */
  bytes: total(item => (isVerdictKey(item.key) ? 0 : sizeOf(item))),
  verdicts: total(({ key }) => Number(isVerdictKey(key))),
});

/** Items by `itemKey`, in the order of setting. */
export interface ContextTable extends ReturnType<typeof contextRecords.empty> {
  /** The highest version of any deleted key. */
  versions: number;
}

export function noContext(): ContextTable {
  return { ...contextRecords.empty(), versions: 0 };
}

/** Yields the items of a project in the order of their keys, without those that have expired at `now` (core time, ms). */
export function* itemsOf(context: ContextTable, project: string, now: number): Generator<ContextItem, void> {
  const begin = itemKey(project, "");
  for (const place of context.places.from(begin)) {
    if (!place.startsWith(begin)) return;
    const item = context.items.get(place);
    if (item !== undefined && isThere(item, now)) yield item;
  }
}

/** Yields the items of a project that were set after `since` (whole ms of wall time), in that order; see `itemsOf`. */
export function* itemsSince(
  context: ContextTable,
  project: string,
  since: number,
  now: number,
): Generator<ContextItem, void> {
  for (const place of context.lately.get(project)?.from(timeText(since + 1)) ?? []) {
    const item = context.items.get(itemKey(project, place.slice(timeDigits + 1)));
    if (item !== undefined && isThere(item, now)) yield item;
  }
}

/** Returns the item of a project that was set last, if any is there; see `itemsOf`. */
export function latestItem(context: ContextTable, project: string, now: number): ContextItem | undefined {
  const places = context.lately.get(project);
  for (let place = places?.last; place !== undefined; place = places?.before(place)) {
    const item = context.items.get(itemKey(project, place.slice(timeDigits + 1)));
    if (item !== undefined && isThere(item, now)) return item;
  }
  return undefined;
}

/** Returns how many items a project has, with expired ones whose end the log does not have yet. */
export function countItems({ lately }: ContextTable, project: string): number {
  return lately.get(project)?.size ?? 0;
}

/** Whether the item has not expired at `now` (core time, ms). */
export function isThere({ endsAt }: ContextItem, now: number): boolean {
  return endsAt === null || endsAt > now;
}

function timeText(at: number): string {
  return Math.max(0, Math.trunc(at)).toString(36).padStart(timeDigits, "0");
}

export const contextRows = {
  head: numberHead("contextVersions", "versions"),
  lists: {
    context: valueList(
      (context: ContextTable) => context.items,
      (context, item) => contextRecords.put(context, item),
    ),
  },
};
