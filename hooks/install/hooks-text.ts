/**
 * Adds and removes Kite's hooks in the text of a client's settings; keeps every other byte. The clients that have this
 * form name events under "hooks", each with a list of groups, each with a list of entries.
 */

import { shellArgument } from "../../protocol/text.ts";
import { SettingsRefused } from "./file.ts";
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
  replace,
} from "./json-text.ts";

/** A group of entries in a client's settings. */
interface EntryGroup {
  readonly matcher?: string;
  readonly hooks: readonly object[];
}

export type EventEntries = readonly [event: string, group: EntryGroup];

/** Returns true for an entry of Kite's, present or older. */
type IsOurs = (entry: unknown) => boolean;

/** Lists and objects that Kite created; uninstall removes them if they are empty. */
export interface Created {
  readonly hooks: boolean;
  readonly events: readonly string[];
}

/**
 * Returns the settings with exactly these groups of Kite's. New ones come last in an event's list. If an event has as
 * many of Kite's groups as before, all groups keep their places: a client may know hooks by their place. `before` lists
 * the objects that an earlier call created, if known. Returns the same text if nothing is missing. Throws
 * SettingsRefused if the text is no JSON object or has another form under `hooks`.
 */
export function addHooks<C extends Created>(
  text: string,
  groups: readonly EventEntries[],
  isOurs: IsOurs,
  before: C | null,
): { readonly text: string; readonly created: C | Created | null } {
  const wanted = byEvent(groups);
  const there = byEvent(present(text, isOurs));
  const all = new Set([...there.keys(), ...wanted.keys()]);
  const differing = [...all].filter(event => !same(there.get(event) ?? [], wanted.get(event) ?? []));
  if (differing.length === 0) return { text, created: before };
  const created = before ?? { hooks: false, events: [] };
  const madeEvents = new Set(created.events);
  const replaced = new Map(differing.map(event => [event, inPlace(text, event, wanted, isOurs)]));
  const moved = new Set(differing.filter(event => replaced.get(event) === null));
  let next = removeHooks(text, isOurs, before, moved);
  const madeHooks = member(parseObject(next), "hooks") === undefined;
  if (madeHooks) next = append(next, parseObject(next), "hooks", {});
  for (const event of differing) {
    const kept = replaced.get(event) ?? null;
    if (kept !== null) {
      next = kept.reduce((done, { nth, group }) => replaceGroup(done, event, nth, group, isOurs), next);
      continue;
    }
    for (const group of wanted.get(event) ?? []) {
      const parent = hooksOf(next);
      if (parent === null) throw new SettingsRefused('"hooks" is not there');
      const list = member(parent, event)?.value;
      if (list === undefined) madeEvents.add(event);
      next =
        list === undefined
          ? append(next, parent, event, [group])
          : append(next, listOf(list, event), null, group);
    }
  }
  return { text: next, created: { ...created, hooks: madeHooks || created.hooks, events: [...madeEvents] } };
}

/**
 * Returns the settings without Kite's entries, and without groups that are empty then. Removes the empty lists and
 * objects that Kite created; with `created` null (unknown) all empty ones. `events`: only of these; null: of all.
 */
export function removeHooks(
  text: string,
  isOurs: IsOurs,
  created: Created | null,
  events: ReadonlySet<string> | null = null,
): string {
  let next = text;
  const touched = new Set<string>();
  for (let at = firstOurs(next, isOurs, events); at !== null; at = firstOurs(next, isOurs, events)) {
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
export function entriesOf(text: string, isOurs: IsOurs): readonly unknown[] {
  return present(text, isOurs).flatMap(([, { hooks }]) => hooks);
}

/** Returns true if the settings are empty. */
export function isEmpty(text: string): boolean {
  return parseObject(text).children.length === 0;
}

/** Returns Kite's entries of every group, in the order of the file. */
function present(text: string, isOurs: IsOurs): readonly EventEntries[] {
  return groupsOf(text).flatMap(({ event, group }) => {
    const entries = member(group, "hooks")?.value;
    if (entries?.kind !== "array") return [];
    const ours = entries.children.map(c => readValue(text, c.value)).filter(isOurs);
    if (ours.length === 0) return [];
    const matcher = member(group, "matcher")?.value;
    return [[event, { ...(matcher && { matcher: readValue(text, matcher) }), hooks: ours }] as EventEntries];
  });
}

function byEvent(groups: readonly EventEntries[]): ReadonlyMap<string, readonly EntryGroup[]> {
  const events = new Map<string, EntryGroup[]>();
  for (const [event, group] of groups) events.set(event, [...(events.get(event) ?? []), group]);
  return events;
}

function same(found: readonly EntryGroup[], wanted: readonly EntryGroup[]): boolean {
  const canonical = (list: readonly EntryGroup[]) => list.map(group => JSON.stringify(group)).sort();
  return JSON.stringify(canonical(found)) === JSON.stringify(canonical(wanted));
}

/** Returns which of an event's groups of Kite's get which text; null if they cannot stay where they are. */
function inPlace(
  text: string,
  event: string,
  wanted: ReadonlyMap<string, readonly EntryGroup[]>,
  isOurs: IsOurs,
): readonly { readonly nth: number; readonly group: EntryGroup }[] | null {
  const found = wholeGroups(text, event, isOurs);
  const groups = [...(wanted.get(event) ?? [])];
  if (found === null || found.length !== groups.length) return null;
  const texts = found.map(({ group }) => JSON.stringify(readValue(text, group)));
  // What is there already needs no new text.
  const open = texts.flatMap((there, nth) => {
    const at = groups.findIndex(group => JSON.stringify(group) === there);
    if (at === -1) return [nth];
    groups.splice(at, 1);
    return [];
  });
  return open.map((nth, i) => ({ nth, group: groups[i] ?? { hooks: [] } }));
}

/** Returns an event's groups that are Kite's alone; null if one has another's entries, too. */
function wholeGroups(text: string, event: string, isOurs: IsOurs) {
  const found = [];
  for (const one of groupsOf(text)) {
    const entries = member(one.group, "hooks")?.value;
    if (one.event !== event || entries?.kind !== "array") continue;
    const ours = entries.children.filter(({ value }) => isOurs(readValue(text, value)));
    if (ours.length === 0) continue;
    if (ours.length < entries.children.length) return null;
    found.push(one);
  }
  return found;
}

function replaceGroup(text: string, event: string, nth: number, group: EntryGroup, isOurs: IsOurs): string {
  const old = wholeGroups(text, event, isOurs)?.[nth];
  return old === undefined ? text : replace(text, old.group, group);
}

/** Returns the first node to remove: an entry, or its group if the entry is the only one. */
function firstOurs(
  text: string,
  isOurs: IsOurs,
  events: ReadonlySet<string> | null,
): { readonly event: string; readonly list: ArrayNode; readonly index: number } | null {
  for (const { event, list, group, index } of groupsOf(text)) {
    if (events?.has(event) === false) continue;
    const entries = member(group, "hooks")?.value;
    if (entries?.kind !== "array") continue;
    const ours = (item: Item) => isOurs(readValue(text, item.value));
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

// Tells Kite's entries in clients' settings from those of others, and writes the commands that a shell runs.

/** The program of entries that hold on every machine, as a shell finds it. Part of committed files: it must stay. */
export const portableProgram = `${variable("KITE_HOME:-$HOME/.kite")}/bin/hook`;

/** Returns a variable as a shell and the client read it. */
export function variable(words: string): string {
  return `\${${words}}`;
}

/**
 * Returns the command of an entry that a shell runs; it does nothing, and ends with 0, where the program is gone. `words`
 * are the hook program's arguments; `bin` is null for the usual one. A client may have a person trust the command by its
 * text: it must stay.
 */
export function guardedCommand(words: readonly string[], bin: string | null): string {
  return `set -- ${words.map(shellArgument).join(" ")}; f=${programWord(bin)}; [ ! -r "$f" ] || . "$f"`;
}

function programWord(bin: string | null): string {
  return bin === null ? portableProgram : shellArgument(`${bin}/hook`);
}

/**
 * Returns true if an entry runs this Kite's hook client, present or older. All lie in its `bin` folder, named in full
 * or as on every machine.
 */
export function isOurs(entry: unknown, bin: string): boolean {
  if (typeof entry !== "object" || entry === null) return false;
  const { command, args }: { command?: unknown; args?: unknown } = entry;
  const words: unknown[] = [command, ...(Array.isArray(args) ? args : [])];
  const isKites = (word: string) =>
    word.startsWith(`${bin}/hook`) || word.includes(`; f=${programWord(bin)}; `) || isPortable(word);
  return words.some(word => typeof word === "string" && isKites(word));
}

/** Returns true if a word of an entry is the script that runs the hook client of any machine. */
export function isPortable(word: string): boolean {
  return word.includes(portableProgram);
}

// The program that entries run for an event, and the words that start it.

/** The two hook programs. They behave alike, but perl starts in a tenth of Node's time. */
export type HookProgram = "perl" | "node";

const perl = "/usr/bin/perl";

/** Perl exits with 2 if its script is missing, which would refuse the edit or wake the session. */
const runIfThere = "do $1 if shift =~ /(.+)/s";

/** `-T` makes perl ignore PERL5OPT and PERL5LIB, which would load foreign code into every hook. */
export function perlCommand(
  pl: string,
  home: string | null,
  rest: readonly string[],
): { readonly command: string; readonly args: readonly string[] } {
  const args = ["-T", "-e", runIfThere, pl, ...rest];
  return home === null
    ? { command: perl, args }
    : { command: "/usr/bin/env", args: [`KITE_HOME=${home}`, perl, ...args] };
}
