/** Context as it is shown: key by key, without the values. */
import type { ContextListReply, ContextRow } from "../protocol/context.ts";
import { limits } from "../protocol/limits.ts";
import type { ContextItem, State } from "./core/state.ts";

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

/** Which keys, `project` null: of all projects. A page begins behind the key `after`. */
export interface ContextWanted {
  readonly project: string | null;
  readonly prefix?: string | undefined;
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}

/** A page of keys in the order of their names. What has ended is not shown, even before that is in the log. */
export function contextPage(
  { state, now }: { readonly state: State; readonly now: number },
  { project, prefix = "", limit: max = limits.rowsDefault, after }: ContextWanted,
): ContextListReply {
  const places: (readonly [string, ContextItem])[] = [];
  for (const [place, item] of state.context.items) {
    if (project !== null && item.project !== project) continue;
    if (!item.key.startsWith(prefix) || (item.endsAt !== null && item.endsAt <= now)) continue;
    places.push([place, item]);
  }
  // The same order at every page, wherever it runs.
  places.sort(([a], [b]) => (a < b ? -1 : 1));
  const from = after === undefined ? 0 : places.findIndex(([place]) => place > after);
  if (from === -1) return { ok: true, rows: [] };
  const shown = places.slice(from, from + max);
  const rows = shown.map(([, item]) => contextRow(item, now));
  const last = shown.at(-1);
  const isMore = from + max < places.length && last !== undefined;
  return isMore ? { ok: true, rows, next: last[0] } : { ok: true, rows };
}
