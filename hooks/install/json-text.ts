/**
 * Edits JSON as text: adds and removes values in place and keeps every other byte. (Parsing and printing the whole file
 * would reformat other programs' entries.)
 */

import { type Node as Parsed, parseTree } from "jsonc-parser";
import { jsonProblem } from "../../protocol/errors.ts";
import { SettingsRefused } from "./file.ts";

export interface ObjectNode {
  readonly kind: "object";
  readonly start: number;
  readonly end: number;
  readonly children: readonly Member[];
}

export interface ArrayNode {
  readonly kind: "array";
  readonly start: number;
  readonly end: number;
  readonly children: readonly Item[];
}

interface ScalarNode {
  readonly kind: "scalar";
  readonly start: number;
  readonly end: number;
}

export type Node = ObjectNode | ArrayNode | ScalarNode;

/** An element of an array. `start` and `end` span the text between the commas, without white space. */
export interface Item {
  readonly start: number;
  readonly end: number;
  readonly value: Node;
}

interface Member extends Item {
  readonly key: string;
}

/** Returns the whole text as an object. Throws SettingsRefused if it is no JSON object. */
export function parseObject(text: string): ObjectNode {
  let node: Node;
  try {
    node = parseText(text);
  } catch (error) {
    const problem = jsonProblem(text) ?? (error instanceof Error ? error.message : String(error));
    throw new SettingsRefused(`it is not valid JSON (${problem})`);
  }
  if (node.kind !== "object") throw new SettingsRefused("it does not hold a JSON object");
  return node;
}

/** Returns the positions of all values in `text`. Throws SyntaxError if it is not JSON; skips a byte order mark. */
export function parseText(text: string): Node {
  JSON.parse(text.replace(/^\uFEFF/, ""));
  const root = parseTree(text.replace(/^\uFEFF/, " "));
  if (root === undefined) throw new SyntaxError("it holds no value");
  return located(root);
}

/** Returns the last member under this key, which is the one that counts. */
export function member(node: ObjectNode, key: string): Member | undefined {
  return node.children.findLast(m => m.key === key);
}

/** Returns the value of `node`. */
export function readValue(text: string, node: Node): unknown {
  return JSON.parse(text.slice(node.start, node.end));
}

/** Adds a last child in the format of its neighbours; `key` is null for an array. */
export function append(
  text: string,
  node: ObjectNode | ArrayNode,
  key: string | null,
  value: unknown,
): string {
  const last = node.children.at(-1);
  const style = styleOf(text);
  if (last === undefined) {
    const [open, close] = node.kind === "object" ? "{}" : "[]";
    if (style.compact) return splice(text, node.start, node.end, `${open}${compact(key, value)}${close}`);
    const base = lineIndent(text, node.start);
    const inner = base + style.indent;
    const body = `${open}${style.eol}${inner}${pretty(key, value, inner, style)}${style.eol}${base}${close}`;
    return splice(text, node.start, node.end, body);
  }
  const gap = /\n([ \t]*)$/.exec(text.slice(0, last.start));
  const child =
    gap === null ? ` ${compact(key, value)}` : style.eol + gap[1] + pretty(key, value, gap[1] ?? "", style);
  return splice(text, last.end, last.end, `,${child}`);
}

/** Replaces `node` by `value`, in the format of the text around it. */
export function replace(text: string, node: Node, value: unknown): string {
  const style = styleOf(text);
  const base = lineIndent(text, node.start);
  const body = style.compact ? compact(null, value) : pretty(null, value, base, style);
  return splice(text, node.start, node.end, body);
}

/** Removes the child at `index` and its comma. */
export function remove(text: string, node: ObjectNode | ArrayNode, index: number): string {
  const child = node.children[index];
  if (child === undefined) throw new RangeError(`no child ${index}`);
  const previous = node.children[index - 1];
  const next = node.children[index + 1];
  if (next !== undefined) return splice(text, child.start, next.start, "");
  if (previous !== undefined) return splice(text, previous.end, child.end, "");
  return splice(text, node.start + 1, node.end - 1, "");
}

interface Style {
  readonly indent: string;
  readonly eol: string;
  /** The text is on one line. */
  readonly compact: boolean;
}

function styleOf(text: string): Style {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
  const body = text.trim();
  return { indent, eol, compact: !body.includes("\n") && !/^\{\s*\}$/.test(body) };
}

function lineIndent(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

function compact(key: string | null, value: unknown): string {
  return (key === null ? "" : `${JSON.stringify(key)}: `) + JSON.stringify(value);
}

function pretty(key: string | null, value: unknown, base: string, style: Style): string {
  const body = JSON.stringify(value, null, style.indent).replaceAll("\n", style.eol + base);
  return (key === null ? "" : `${JSON.stringify(key)}: `) + body;
}

function splice(text: string, start: number, end: number, piece: string): string {
  return text.slice(0, start) + piece + text.slice(end);
}

function located({ type, offset: start, length, children = [] }: Parsed): Node {
  const end = start + length;
  if (type === "object") return { kind: type, start, end, children: children.flatMap(memberAt) };
  if (type === "array") return { kind: type, start, end, children: children.map(itemAt) };
  return { kind: "scalar", start, end };
}

function itemAt(parsed: Parsed): Item {
  const value = located(parsed);
  return { start: value.start, end: value.end, value };
}

function memberAt({ children: [key, parsed] = [] }: Parsed): Member[] {
  if (key === undefined || parsed === undefined) return [];
  return [{ ...itemAt(parsed), start: key.offset, key: String(key.value) }];
}

// Adds and removes Kite's tools in the text of a client's JSON file of servers; keeps every other byte.

const serverName = "kite";

/** The objects created around the entry, which its removal removes too. */
export interface Made {
  /** The first created object around the entry, counted from the root; null if all existed. */
  readonly from: number | null;
  /** The text of an existing object that was empty; null if it was not empty. */
  readonly empty: string | null;
}

/**
 * Returns the text with the entry with which the client starts the server. The entry stands under `path` (names of
 * objects, from the root). Returns the same text if it has the entry. Throws SettingsRefused if the text is no JSON
 * object, or another server has the name.
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
