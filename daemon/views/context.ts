/** Context as `query` shows it: key by key, without the values. */
import type { ContextRow } from "../../protocol/context.ts";
import { limits } from "../../protocol/limits.ts";
import type { ContextItem, State } from "../core/state.ts";
import type { Steps } from "../server/turns.ts";
import { pageText, passedCost } from "./paging.ts";

export function contextRow(item: ContextItem, now: number): ContextRow {
  const { key, project, from, at, version, durable, bytes, endsAt } = item;
  return {
    key,
    project,
    from: from?.id ?? null,
    fromName: from?.name ?? "a person at a terminal",
    at,
    version,
    durable,
    bytes,
    endsInMs: endsAt === null ? null : endsAt - now,
  };
}

/** Which keys: of one project, or with null of all. A page begins after the key `after`. */
export interface ContextWanted {
  readonly project: string | null;
  readonly prefix?: string | undefined;
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}

/** Returns a page of keys, ordered by name. Expired keys are left out, even before the log has their end. */
export function* contextPage(
  engine: { readonly state: State; readonly now: number },
  { project, prefix = "", limit: max = limits.rowsDefault, after }: ContextWanted,
): Steps<string> {
  let places: (readonly [string, ContextItem])[] = [];
  for (const [place, item] of engine.state.context.items) {
    const isOf = (project === null || item.project === project) && item.key.startsWith(prefix);
    const isThere = item.endsAt === null || item.endsAt > engine.now;
    if (isOf && isThere && (after === undefined || place > after)) places.push([place, item]);
    if (places.length > 2 * limits.rowsMax) places = firstOf(places, max + 1);
    yield passedCost;
  }
  const shown = firstOf(places, max + 1);
  const isMore = shown.length > max;
  if (isMore) shown.pop();
  const rows: string[] = [];
  for (const [, item] of shown) {
    const row = JSON.stringify(contextRow(item, engine.now));
    rows.push(row);
    yield row.length;
  }
  return pageText(rows, isMore ? shown.at(-1)?.[0] : undefined);
}

/** Returns the first `count` keys: the same order on every page and machine. */
function firstOf<P extends readonly [string, ...unknown[]]>(places: readonly P[], count: number): P[] {
  return [...places].sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, count);
}
