/**
 * The indexes of context: keys in order, and what was set last in a project.
 * Invariant: a look visits only the items that it yields, and expired ones whose end the log does not have yet.
 */

import type { ContextItem, ContextTable } from "./base-state.ts";
import { SortedKeys } from "./sorted-keys.ts";

/** Returns the item's key in the table. */
export function itemKey(project: string, key: string): string {
  return `${project}\n${key}`;
}

export function indexItem({ places, lately }: ContextTable, item: ContextItem): void {
  places.add(itemKey(item.project, item.key));
  const known = lately.get(item.project);
  if (known === undefined) lately.set(item.project, new SortedKeys(timeKey(item)));
  else known.add(timeKey(item));
}

export function unindexItem({ places, lately }: ContextTable, item: ContextItem): void {
  places.delete(itemKey(item.project, item.key));
  const known = lately.get(item.project);
  known?.delete(timeKey(item));
  if (known?.size === 0) lately.delete(item.project);
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

const timeDigits = 11;

function timeKey({ at, key }: ContextItem): string {
  return `${timeText(at)} ${key}`;
}

function timeText(at: number): string {
  return Math.max(0, Math.trunc(at)).toString(36).padStart(timeDigits, "0");
}
