/** Adds and removes Kite's hooks in the text of the client's settings; keeps every other byte. */
import { SettingsRefused } from "../../install/failed.ts";
import {
  type ArrayNode,
  append,
  type Item,
  member,
  type Node,
  type ObjectNode,
  parseObject,
  readValue,
  remove,
} from "../../install/json-text.ts";
import type { AllowMade } from "./allow-text.ts";
import type { EventGroup } from "./entries.ts";
import { isOurs } from "./ours.ts";
import type { StatusLineMade } from "./status-line-text.ts";

/** Lists and objects that Kite created; uninstall removes them if they are empty. */
export interface Created {
  readonly hooks: boolean;
  readonly events: readonly string[];
  /** Present if Kite added the rule that allows its tools. */
  readonly allow?: AllowMade;
  /** Present if Kite put its status line there. */
  readonly statusLine?: StatusLineMade;
}

/**
 * Returns the settings with exactly these groups of Kite's; `before` lists the objects that an earlier call created, if
 * known. Returns the same text if nothing is missing. Throws SettingsRefused if the text is no JSON object or has
 * another form under `hooks`.
 */
export function addHooks(
  text: string,
  groups: readonly EventGroup[],
  bin: string,
  before: Created | null,
): { readonly text: string; readonly created: Created | null } {
  if (same(present(text, bin), groups)) return { text, created: before };
  const created = before ?? { hooks: false, events: [] };
  let next = removeHooks(text, bin, before);
  const events = new Set(created.events);
  const hooks = member(parseObject(next), "hooks") === undefined;
  if (hooks) next = append(next, parseObject(next), "hooks", {});
  for (const [event, group] of groups) {
    const parent = hooksOf(next);
    if (parent === null) throw new SettingsRefused('"hooks" is not there');
    const list = member(parent, event)?.value;
    if (list === undefined) events.add(event);
    next =
      list === undefined
        ? append(next, parent, event, [group])
        : append(next, listOf(list, event), null, group);
  }
  return { text: next, created: { ...created, hooks: hooks || created.hooks, events: [...events] } };
}

/**
 * Returns the settings without Kite's entries, and without groups that are empty then. Removes the empty lists and
 * objects that Kite created; with `created` null (unknown) all empty ones.
 */
export function removeHooks(text: string, bin: string, created: Created | null): string {
  let next = text;
  const touched = new Set<string>();
  for (let at = firstOurs(next, bin); at !== null; at = firstOurs(next, bin)) {
    touched.add(at.event);
    next = remove(next, at.list, at.index);
  }
  if (touched.size === 0) return text;
  for (const event of touched) {
    if (created !== null && !created.events.includes(event)) continue;
    const hooks = hooksOf(next);
    const index = hooks?.children.findLastIndex(m => m.key === event) ?? -1;
    const list = hooks?.children[index]?.value;
    if (hooks !== null && list?.kind === "array" && list.children.length === 0)
      next = remove(next, hooks, index);
  }
  if (created === null || created.hooks) {
    const root = parseObject(next);
    const index = root.children.findLastIndex(m => m.key === "hooks");
    const hooks = root.children[index]?.value;
    if (hooks?.kind === "object" && hooks.children.length === 0) next = remove(next, root, index);
  }
  return next;
}

/** Returns Kite's entries, in the order of the file. Throws SettingsRefused as `addHooks` does. */
export function entriesOf(text: string, bin: string): readonly unknown[] {
  return present(text, bin).flatMap(([, { hooks }]) => hooks);
}

/** Returns true if the settings are empty. */
export function isEmpty(text: string): boolean {
  return parseObject(text).children.length === 0;
}

/** Returns Kite's entries of every group, in the order of the file. */
function present(
  text: string,
  bin: string,
): readonly (readonly [string, { readonly hooks: readonly unknown[] }])[] {
  return groupsOf(text).flatMap(({ event, group }) => {
    const entries = member(group, "hooks")?.value;
    if (entries?.kind !== "array") return [];
    const ours = entries.children.map(c => readValue(text, c.value)).filter(e => isOurs(e, bin));
    if (ours.length === 0) return [];
    const matcher = member(group, "matcher")?.value;
    return [[event, { ...(matcher && { matcher: readValue(text, matcher) }), hooks: ours }] as const];
  });
}

function same(found: readonly (readonly [string, unknown])[], groups: readonly EventGroup[]): boolean {
  const canonical = (list: readonly (readonly [string, unknown])[]) =>
    list.map(g => JSON.stringify(g)).sort();
  return JSON.stringify(canonical(found)) === JSON.stringify(canonical(groups));
}

/** Returns the first node to remove: an entry, or its group if the entry is the only one. */
function firstOurs(
  text: string,
  bin: string,
): { readonly event: string; readonly list: ArrayNode; readonly index: number } | null {
  for (const { event, list, group, index } of groupsOf(text)) {
    const entries = member(group, "hooks")?.value;
    if (entries?.kind !== "array") continue;
    const ours = (item: Item) => isOurs(readValue(text, item.value), bin);
    const first = entries.children.findIndex(ours);
    if (first === -1) continue;
    return entries.children.every(ours) ? { event, list, index } : { event, list: entries, index: first };
  }
  return null;
}

function groupsOf(text: string): {
  readonly event: string;
  readonly list: ArrayNode;
  readonly group: ObjectNode;
  readonly index: number;
}[] {
  return (hooksOf(text)?.children ?? []).flatMap(({ key: event, value: list }) =>
    list.kind !== "array"
      ? []
      : list.children.flatMap(({ value: group }, index) =>
          group.kind === "object" ? [{ event, list, group, index }] : [],
        ),
  );
}

function hooksOf(text: string): ObjectNode | null {
  const hooks = member(parseObject(text), "hooks")?.value;
  if (hooks === undefined) return null;
  if (hooks.kind !== "object") throw new SettingsRefused('"hooks" is not an object');
  return hooks;
}

function listOf(node: Node, event: string): ArrayNode {
  if (node.kind !== "array") throw new SettingsRefused(`"hooks.${event}" is not a list`);
  return node;
}
