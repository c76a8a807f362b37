/**
 * Context: small shared JSON values, by project and key.
 *
 * Invariants: keys and values together stay within `limits.contextBytes` and `limits.contextKeysMax`. Verdicts of debates do
 * not count, since debates have a bound. Only closing a debate sets a verdict, and only the debate's end removes it. A key's
 * version only rises, even across deletion: a new key begins above every ended version. A value that is not durable ends
 * with a restart of its node's daemon. No reader sees an expired value, even before the log records its end. A durable value
 * without an end of its own leaves if nobody used it for `limits.contextUnusedMs`. The log announces that, and the value
 * goes if nobody used it for another `limits.contextLeavesMs`. So a value is announced before it goes, even if no daemon ran
 * meanwhile.
 */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import type { BaseState, ContextItem, ContextTable, Meta } from "../tables/base-state.ts";
import {
  contextRecords,
  isKeptByUse,
  isThere,
  isVerdictKey,
  itemKey,
  sizeOf,
  usedItem,
  verdicts,
} from "../tables/context.ts";
import type { CommandOf, Step } from "../tables/entries.ts";
import type { ContextSet } from "../tables/messages.ts";
import { speakerRow } from "../tables/naming.ts";

export function contextSet(
  state: BaseState,
  command: CommandOf<"context_set">,
  meta: Meta,
  step: Step,
): void {
  const { project, key } = command;
  const refused =
    reservedRefusal(key) ??
    conflictOf(contextAt(state, project, key), command) ??
    contextFull(state, command);
  if (refused !== null) {
    step.reply = refused;
    return;
  }
  const endsAt = command.ttlMs === null ? null : state.t + command.ttlMs;
  const version = setItem(state, command, endsAt, meta, step);
  step.reply = { ok: true, key, version };
  if (endsAt !== null) step.timers.push({ at: endsAt, due: { what: "context_over", project, key, version } });
}

export function contextDelete(
  state: BaseState,
  command: CommandOf<"context_delete">,
  _meta: Meta,
  step: Step,
): void {
  const { project, key } = command;
  const known = contextAt(state, project, key);
  if (known === undefined) {
    step.reply = contextAbsent(key);
    return;
  }
  const refused = reservedRefusal(key) ?? conflictOf(known, command);
  if (refused !== null) {
    step.reply = refused;
    return;
  }
  forget(state.context, known);
  step.reply = { ok: true, key, version: known.version };
  announce(known, speakerRow(state, command.actor), true, step);
}

/** Notes that a value was read. Reads shortly after a use change nothing. */
export function contextRead(
  state: BaseState,
  { project, key }: CommandOf<"context_read">,
  _meta: Meta,
  step: Step,
): void {
  step.reply = { ok: true };
  const item = contextAt(state, project, key);
  if (item === undefined || !isReadNews(state, item, state.t)) return;
  // The timer of its last use is there still: it looks again when it is due.
  contextRecords.put(state.context, usedItem(item, state.t));
}

/** Whether a read of the item at `now` (core time, ms) has to be noted, so that the item stays. */
export function isReadNews({ rules, limits }: BaseState, item: ContextItem, now: number): boolean {
  if (rules < 2 || !isKeptByUse(item)) return false;
  return item.leavesAt !== undefined || (item.usedAt ?? 0) + limits.contextReadMs <= now;
}

/** When the item's use is looked at next (core time, ms), or null. An item whose uses were never noted begins at once. */
export function useLookAt({ rules, limits }: BaseState, item: ContextItem): number | null {
  if (rules < 2 || !isKeptByUse(item)) return null;
  if (item.usedAt === undefined) return 0;
  return item.leavesAt ?? item.usedAt + limits.contextUnusedMs;
}

/** Begins to count, announces that the item leaves, or ends it. */
export function lookAtUse(state: BaseState, item: ContextItem, step: Step): void {
  if (item.leavesAt !== undefined) {
    endItem(state, item, step);
    return;
  }
  const { t, limits } = state;
  const next =
    item.usedAt === undefined ? usedItem(item, t) : { ...item, leavesAt: t + limits.contextLeavesMs };
  contextRecords.put(state.context, next);
  pushUseTimer(state, next, step);
}

/** Begins to count the uses of all items, when the level of rules that counts them begins. */
export function countUses(state: BaseState, step: Step): void {
  for (const item of state.context.items.values()) pushUseTimer(state, item, step);
}

function pushUseTimer(state: BaseState, item: ContextItem, step: Step): void {
  const { project, key, version } = item;
  const at = useLookAt(state, item);
  if (at !== null) step.timers.push({ at, due: { what: "context_unused", project, key, version } });
}

/** A value to set, by a client or by the core. */
type NewValue = Pick<
  ContextSet,
  "actor" | "project" | "key" | "value" | "bytes" | "durable" | "keeps" | "wallMs"
>;

/** Returns the key of the debate's verdict. */
export function verdictKey(debate: string): string {
  return `${verdicts}${debate}`;
}

function reservedRefusal(key: string): Refusal | null {
  if (!isVerdictKey(key)) return null;
  const error = `keys that begin with ${verdicts} are verdicts of debates, which nobody sets or deletes; take another key, or open a new debate to doubt a verdict`;
  return refuse("context_reserved", error, { key });
}

/** Returns why there is no room for the value, or null. */
function contextFull(state: BaseState, value: Pick<NewValue, "project" | "key" | "bytes">): Refusal | null {
  const { context, limits } = state;
  const known = contextAt(state, value.project, value.key);
  const bytes = context.bytes + sizeOf(value) - (known === undefined ? 0 : sizeOf(known));
  const keys = context.items.size - context.verdicts + (known === undefined ? 1 : 0);
  if (bytes <= limits.contextBytes && keys <= limits.contextKeysMax) return null;
  const most = `${limits.contextBytes} bytes and ${limits.contextKeysMax} keys`;
  return refuse(
    "context_full",
    `all projects together may have ${most} of context; delete what is not needed`,
  );
}

/** Sets and announces the value, and returns its version; the caller has checked that there is room. */
export function setItem(
  state: BaseState,
  value: NewValue,
  endsAt: number | null,
  meta: Meta,
  step: Step,
): number {
  const { context } = state;
  const { project, key } = value;
  const known = contextAt(state, project, key);
  // An expired value that is still in the table passes its version on.
  const over = context.items.get(itemKey(project, key));
  if (over !== undefined && known === undefined) forget(context, over);
  const version = (known?.version ?? context.versions) + 1;
  const from = speakerRow(state, value.actor);
  const durable = value.durable || (value.keeps === true && known?.durable === true);
  const node = meta.origin.node;
  const item = itemOf({ ...value, durable }, { from, node, version, endsAt });
  const counted = state.rules >= 2 && isKeptByUse(item) ? usedItem(item, state.t) : item;
  contextRecords.putLast(context, counted);
  pushUseTimer(state, counted, step);
  announce({ project, key, version }, from, false, step);
  return version;
}

/** Returns the key's item unless it has expired at `now` (core time, ms). */
export function contextAt(
  state: BaseState,
  project: string,
  key: string,
  now: number = state.t,
): ContextItem | undefined {
  const item = state.context.items.get(itemKey(project, key));
  return item !== undefined && isThere(item, now) ? item : undefined;
}

export function contextAbsent(key: string): Refusal {
  return refuse("context_absent", `the project has no key ${key}; context_list shows its keys`, {
    key,
  });
}

/** Removes the item and announces its end. */
export function endItem(state: BaseState, item: ContextItem, step: Step): void {
  forget(state.context, item);
  announce(item, null, true, step);
}

/** Ends the values of this node that are not durable, after its daemon restarted. */
export function dropVolatile(state: BaseState, node: string, step: Step): void {
  for (const item of state.context.items.values()) {
    if (!item.durable && item.node === node) endItem(state, item, step);
  }
}

/** Removes a key; the next value of the key begins above its version. */
function forget(context: ContextTable, item: ContextItem): void {
  contextRecords.drop(context, item);
  context.versions = Math.max(context.versions, item.version);
}

function itemOf(
  { project, key, value, bytes, durable, wallMs: at }: NewValue,
  { from, node, version, endsAt }: Pick<ContextItem, "from" | "node" | "version" | "endsAt">,
): ContextItem {
  return { project, key, value, bytes, from, node, at, version, durable, endsAt };
}

function conflictOf(
  known: ContextItem | undefined,
  { key, ifVersion }: { readonly key: string; readonly ifVersion: number | null },
): Refusal | null {
  const version = known?.version ?? 0;
  if (ifVersion === null || ifVersion === version) return null;
  const now = known === undefined ? "is absent" : `has version ${version}`;
  const error = `${key} ${now}, not ${ifVersion}; get it again and decide anew`;
  return refuse("context_conflict", error, { key, version });
}

function announce(
  { project, key, version }: Pick<ContextItem, "project" | "key" | "version">,
  from: ContextItem["from"],
  deleted: boolean,
  step: Step,
): void {
  const event = { event: "context_changed" as const, project, key, version, from, deleted };
  step.events.push({ event, about: [], project });
}
