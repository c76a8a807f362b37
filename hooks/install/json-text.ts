/**
 * JSON as text that somebody wrote: values are added and removed where they stand, and every other byte stays.
 * (Parsing and printing the whole would reformat what is not ours.)
 */
import { SettingsRefused } from "./failed.ts";

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

export interface ScalarNode {
  readonly kind: "scalar";
  readonly start: number;
  readonly end: number;
}

export type Node = ObjectNode | ArrayNode | ScalarNode;

/** An element of an array. `start` and `end` span what is between the commas, without white space. */
export interface Item {
  readonly start: number;
  readonly end: number;
  readonly value: Node;
}

export interface Member extends Item {
  readonly key: string;
}

const space = /[\s\uFEFF]*/y;
const scalar = /"(?:[^"\\]|\\.)*"|[^\s,\]}]+/y;

/** The whole text as an object. Throws SettingsRefused where it is no JSON, or something else. */
export function parseObject(text: string): ObjectNode {
  let node: Node;
  try {
    node = parseText(text);
  } catch (error) {
    throw new SettingsRefused(`it is not valid JSON (${error instanceof Error ? error.message : error})`);
  }
  if (node.kind !== "object") throw new SettingsRefused("it does not hold a JSON object");
  return node;
}

/** Where everything stands in `text`. Throws SyntaxError where it is not JSON; a byte order mark is passed over. */
export function parseText(text: string): Node {
  JSON.parse(text.replace(/^\uFEFF/, ""));
  return nodeAt(text, skip(text, 0));
}

/** The member that counts under this key: the last one. */
export function member(node: ObjectNode, key: string): Member | undefined {
  return node.children.findLast(m => m.key === key);
}

/** The value that `node` stands for. */
export function readValue(text: string, node: Node): unknown {
  return JSON.parse(text.slice(node.start, node.end));
}

/** Adds a last child, formatted as its neighbours are; `key` for an object, null for an array. */
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

/** Puts `value` in the place of `node`, formatted as its surroundings are. */
export function replace(text: string, node: Node, value: unknown): string {
  const style = styleOf(text);
  const base = lineIndent(text, node.start);
  const body = style.compact ? compact(null, value) : pretty(null, value, base, style);
  return splice(text, node.start, node.end, body);
}

/** Takes the child at `index` away, with the comma that is too many. */
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
  /** Everything stands on one line. */
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

function skip(text: string, at: number): number {
  space.lastIndex = at;
  return at + (space.exec(text)?.[0].length ?? 0);
}

function scalarEnd(text: string, at: number): number {
  scalar.lastIndex = at;
  return at + (scalar.exec(text)?.[0].length ?? 0);
}

function nodeAt(text: string, start: number): Node {
  if (text[start] === "{") return objectAt(text, start);
  if (text[start] === "[") return arrayAt(text, start);
  return { kind: "scalar", start, end: scalarEnd(text, start) };
}

function objectAt(text: string, start: number): ObjectNode {
  const children: Member[] = [];
  let at = skip(text, start + 1);
  while (text[at] !== "}") {
    const keyEnd = scalarEnd(text, at);
    const value = nodeAt(text, skip(text, skip(text, keyEnd) + 1));
    children.push({ key: String(JSON.parse(text.slice(at, keyEnd))), start: at, end: value.end, value });
    at = pastComma(text, value.end);
  }
  return { kind: "object", start, end: at + 1, children };
}

function arrayAt(text: string, start: number): ArrayNode {
  const children: Item[] = [];
  let at = skip(text, start + 1);
  while (text[at] !== "]") {
    const value = nodeAt(text, at);
    children.push({ start: at, end: value.end, value });
    at = pastComma(text, value.end);
  }
  return { kind: "array", start, end: at + 1, children };
}

function pastComma(text: string, end: number): number {
  const at = skip(text, end);
  return text[at] === "," ? skip(text, at + 1) : at;
}
