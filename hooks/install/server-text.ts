/** Adds and removes Kite's tools in the text of a client's JSON file of servers; keeps every other byte. */
import { SettingsRefused } from "./failed.ts";
import { append, member, type ObjectNode, parseObject, readValue, remove, replace } from "./json-text.ts";

const serverName = "kite";

/** The objects created around the entry, which its removal removes too. */
export interface Made {
  /** The first created object around the entry, counted from the root; null if all existed. */
  readonly from: number | null;
  /** The text of an existing object that was empty; null if it was not empty. */
  readonly empty: string | null;
}

/**
 * Returns the text with the entry, with which the client starts the server, under `path` (names of objects, from the root); the
 * same text if it has the entry.
 * Throws SettingsRefused if the text is no JSON object, or another server has the name.
 */
export function addServer(
  text: string,
  path: readonly string[],
  entry: object,
  bin: string,
): { readonly text: string; readonly made: Made | null } {
  const { node, depth } = deepest(text, path);
  if (depth === path.length) {
    const there = member(node, serverName)?.value;
    if (there !== undefined) {
      const found = readValue(text, there);
      if (!isOurServer(found, bin)) {
        throw new SettingsRefused(`it has a server of another kind under the name "${serverName}"`);
      }
      const same = JSON.stringify(found) === JSON.stringify(entry);
      return { text: same ? text : replace(text, there, entry), made: null };
    }
  }
  const empty = node.children.length === 0 ? text.slice(node.start, node.end) : null;
  const [key = serverName, ...inner] = [...path.slice(depth), serverName];
  const value = inner.reduceRight<unknown>((below, name) => ({ [name]: below }), entry);
  const from = depth === path.length ? null : depth;
  return { text: append(text, node, key, value), made: { from, empty } };
}

/** Returns the text without the entry, and without objects that were created for it and are empty now. */
export function removeServer(text: string, path: readonly string[], bin: string, made: Made | null): string {
  const { node, depth } = deepest(text, path);
  const there = depth === path.length ? member(node, serverName)?.value : undefined;
  if (there === undefined || !isOurServer(readValue(text, there), bin)) return text;
  let next = without(text, path, serverName);
  const first = made?.from ?? path.length;
  for (let level = path.length; level > first; level -= 1) {
    const object = deepest(next, path.slice(0, level));
    if (object.depth < level || object.node.children.length > 0) return next;
    next = without(next, path.slice(0, level - 1), path[level - 1] ?? "");
  }
  const around = deepest(next, path.slice(0, first)).node;
  const isEmpty = around.children.length === 0 && typeof made?.empty === "string";
  return isEmpty ? next.slice(0, around.start) + made.empty + next.slice(around.end) : next;
}

/** Returns true if an entry starts a program in Kite's `bin` folder. */
function isOurServer(entry: unknown, bin: string): boolean {
  if (typeof entry !== "object" || entry === null) return false;
  const { command }: { command?: unknown } = entry;
  const program: unknown = Array.isArray(command) ? command[0] : command;
  return typeof program === "string" && program.startsWith(`${bin}/`);
}

/** Returns the last existing object of the path, and the number of names that lead to it. */
function deepest(
  text: string,
  path: readonly string[],
): { readonly node: ObjectNode; readonly depth: number } {
  let node = parseObject(text);
  for (const [depth, name] of path.entries()) {
    const next = member(node, name)?.value;
    if (next === undefined) return { node, depth };
    if (next.kind !== "object") throw new SettingsRefused(`"${name}" is not an object`);
    node = next;
  }
  return { node, depth: path.length };
}

function without(text: string, path: readonly string[], key: string): string {
  const { node } = deepest(text, path);
  const index = node.children.findLastIndex(child => child.key === key);
  return index === -1 ? text : remove(text, node, index);
}
