/** Context as `query` shows it: key by key, without the values. */

import type { Refusal } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { personOnWire } from "../../protocol/names.ts";
import type { ContextRow } from "../../protocol/schemas/context.ts";
import type { ContextItem } from "../core/tables/base-state.ts";
import { isThere, itemKey } from "../core/tables/context.ts";
import type { Logs, LogView } from "../engine/log-view.ts";
import type { Steps } from "../server/turns.ts";
import { hasRowsOf, logPage, type Part, type PartOf, passedCost } from "./paging.ts";

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

/** Which keys: of one project, or with null of all. A page begins after the key `after`. */
export interface ContextWanted {
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
  const begin = project === null ? "" : itemKey(log.project(project), prefix);
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
    const row = isWanted ? JSON.stringify(log.outward(contextRow(item, log.now))) : null;
    if (row !== null) {
      rows.push(row);
      shown = place;
    }
    // Keys may have come and gone meanwhile: the page goes on behind the last one.
    if ((yield row === null ? passedCost : row.length) === true) left = places.from(last);
  }
  return { rows };
}
