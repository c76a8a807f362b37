/** What the client's files hold of Kite's, and what they shall hold. */

import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { isObject } from "../../protocol/wire.ts";
import { codexEvents } from "../clients/clients.ts";
import { linkTarget, readText, SettingsRefused } from "./file.ts";
import type { ClientFile, FileFormat } from "./hooks-file.ts";
import { addHooks, type EventEntries, entriesOf, guardedCommand, isOurs, removeHooks } from "./hooks-text.ts";
import { mcpPath } from "./program.ts";

// Finds the tables of a TOML text, adds one at its end and removes some; keeps every other byte.

/** A table with a header of its own: from its header to the next one. */
interface Table {
  /** The parts of its name. */
  readonly path: readonly string[];
  /** Offsets in the text. */
  readonly start: number;
  readonly end: number;
  /** What stands behind the header's line. */
  readonly body: string;
}

/**
 * Returns the tables in the order of the text. Throws SettingsRefused if a text or a list is not closed. It reads only
 * as much of TOML as it takes to know where headers are.
 */
export function tablesOf(text: string): readonly Table[] {
  const headers = headersOf(text);
  return headers.map(({ path, start, bodyStart }, i) => {
    const end = headers[i + 1]?.start ?? text.length;
    return { path, start, end, body: text.slice(bodyStart, end) };
  });
}

/** Returns true if a key at the text's root, before every header, has this name. */
function hasRootKey(text: string, name: string): boolean {
  const root = text.slice(0, headersOf(text)[0]?.start ?? text.length);
  return new RegExp(`^[ \\t]*(?:${name}|"${name}"|'${name}')[ \\t]*[.=]`, "m").test(
    root.replace(/^\uFEFF/, ""),
  );
}

/** Returns the text with a table behind all others. */
function appendTable(text: string, header: string, lines: readonly string[]): string {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const gap = text.trim() === "" ? "" : text.endsWith("\n") ? eol : eol + eol;
  return text + gap + [`[${header}]`, ...lines, ""].join(eol);
}

/** Returns the text without these tables, and without the empty line before each. Comments behind a table stay. */
function withoutTables(text: string, isGone: (table: Table) => boolean): string {
  const gone = tablesOf(text).filter(isGone);
  return gone.reduceRight((rest, { start, end }) => {
    const before = rest.slice(0, start);
    // The empty line came with the table. A comment below is about what follows.
    const blank = /\n(\r?\n)$/.exec(before)?.[1] ?? "";
    const lines = rest.slice(start, end).split(/(?<=\n)/);
    const own = lines.findLastIndex(line => !/^[ \t\r\n]*(?:#|$)/.test(line)) + 1;
    return before.slice(0, before.length - blank.length) + lines.slice(own).join("") + rest.slice(end);
  }, text);
}

interface Header {
  readonly path: readonly string[];
  readonly start: number;
  readonly bodyStart: number;
}

/** What can hold a bracket that opens no table, each from its first sign to its last. */
const quoted = [
  { open: '"""', close: /(?<!\\)(?:\\\\)*"""/ },
  { open: "'''", close: /'''/ },
  { open: '"', close: /^(?:[^"\\\n]|\\.)*"/ },
  { open: "'", close: /^[^'\n]*'/ },
] as const;

function headersOf(text: string): readonly Header[] {
  const found: Header[] = [];
  let depth = 0;
  let isLineStart = true;
  const first = text.startsWith("\uFEFF") ? 1 : 0;
  let at = first;
  while (at < text.length) {
    const sign = text[at] ?? "";
    if (isLineStart && depth === 0 && sign === "[") {
      const line = /^[^\r\n]*/.exec(text.slice(at))?.[0] ?? "";
      const bodyStart = at + line.length + (/^\r?\n/.exec(text.slice(at + line.length))?.[0].length ?? 0);
      found.push({ path: pathOf(line), start: Math.max(lineStart(text, at), first), bodyStart });
      at = bodyStart;
      continue;
    }
    if (sign === "\n") isLineStart = true;
    else if (!/[ \t\r]/.test(sign)) isLineStart = false;
    if (sign === "[" || sign === "{") depth += 1;
    if (sign === "]" || sign === "}") depth -= 1;
    at = sign === "#" ? endOfLine(text, at) : endOfValue(text, at);
  }
  if (depth !== 0)
    throw new SettingsRefused("it is no valid TOML: a list or a table in braces is not closed");
  return found;
}

/** Returns the offset behind the quoted text that begins at `at`; else behind the sign there. */
function endOfValue(text: string, at: number): number {
  const kind = quoted.find(({ open }) => text.startsWith(open, at));
  if (kind === undefined) return at + 1;
  const begin = at + kind.open.length;
  const end = kind.close.exec(text.slice(begin));
  if (end === null) throw new SettingsRefused("it is no valid TOML: a text in quotes is not closed");
  return begin + end.index + end[0].length;
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end === -1 ? text.length : end;
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf("\n", at - 1) + 1;
}

/** Returns the parts of a header's name: bare words, and texts in quotes without them. */
function pathOf(line: string): readonly string[] {
  const parts: string[] = [];
  let rest = line.replace(/^\[+[ \t]*/, "");
  for (;;) {
    const part = /^(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([\w-]+))[ \t]*/.exec(rest);
    if (part === null) return parts;
    parts.push(part[1] === undefined ? (part[2] ?? part[3] ?? "") : unescaped(part[1]));
    rest = rest.slice(part[0].length);
    if (!rest.startsWith(".")) return parts;
    rest = rest.slice(1).trimStart();
  }
}

/** Returns a text in double quotes; one with escapes that JSON does not have as it stands. */
function unescaped(text: string): string {
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return text;
  }
}

// Adds and removes what Kite has in the text of the client's `config.toml`; keeps every other byte.

const servers = "mcp_servers";
const serverName = "kite";

/**
 * Returns the text with the server of Kite's tools, which `program` starts; the same text if it has it. Throws
 * SettingsRefused if another server has the name, or the servers stand in a form in which a table cannot be added.
 */
export function addServer(text: string, program: string, bin: string): string {
  const line = `command = ${JSON.stringify(program)}`;
  const there = tablesOf(text).find(isServer);
  if (there !== undefined) {
    if (!isKites(there, bin))
      throw new SettingsRefused(`it has a server of another kind named "${serverName}"`);
    if (there.body.includes(line)) return text;
    return addServer(removeServer(text, bin), program, bin);
  }
  const own = tablesOf(text).find(({ path }) => path.join(".") === servers);
  const isInline = /^[ \t]*["']?kite["']?[ \t]*[.=]/m.test(own?.body ?? "");
  if (isInline || hasRootKey(text, servers))
    throw new SettingsRefused(
      `it lists ${servers} in a form that Kite does not change; add this one yourself`,
    );
  return appendTable(text, `${servers}.${serverName}`, [line]);
}

/** Returns true if the text has the server of Kite's tools. */
export function hasServer(text: string, bin: string): boolean {
  // A file that cannot be read and has nothing of Kite's is of no concern.
  return text.includes(serverName) && tablesOf(text).some(table => isServer(table) && isKites(table, bin));
}

/** Returns the text without Kite's server, and what the client keeps of it. */
export function removeServer(text: string, bin: string): string {
  if (!hasServer(text, bin)) return text;
  return withoutTables(text, ({ path }) => path[0] === servers && path[1] === serverName);
}

/** Returns true if the text notes that the client trusts one of the hooks with these keys. */
export function hasTrust(text: string, keys: readonly string[]): boolean {
  return tablesOf(text).some(
    ({ path, body }) => isState(path) && keys.includes(path[2] ?? "") && body.includes("trusted_hash"),
  );
}

/** Returns the text without the client's notes on whether it trusts the hooks with these keys. */
export function removeTrust(text: string, isKey: (key: string) => boolean): string {
  if (!text.includes("hooks.json:")) return text;
  const without = withoutTables(
    text,
    ({ path }) => isState(path) && path.length === 3 && isKey(path[2] ?? ""),
  );
  if (without === text) return text;
  const states = tablesOf(without).filter(({ path }) => isState(path));
  const [only] = states;
  // The client made the table around the notes.
  if (states.length !== 1 || only === undefined || only.path.length > 2 || only.body.trim() !== "")
    return without;
  return withoutTables(without, ({ start }) => start === only.start);
}

function isState(path: readonly string[]): boolean {
  return path[0] === "hooks" && path[1] === "state";
}

function isServer({ path }: Table): boolean {
  return path.length === 2 && path[0] === servers && path[1] === serverName;
}

function isKites({ body }: Table, bin: string): boolean {
  const [, command = ""] = /^[ \t]*command[ \t]*=[ \t]*["'](.*?)["'][ \t]*(?:#.*)?\r?$/m.exec(body) ?? [];
  return command.startsWith(`${bin}/`);
}

// Where the client's files are, and whether they have hooks of Kite's.

/** How records, options and entries name this client; its program, too. */
export const clientName = "codex";

type Env = Readonly<Record<string, string | undefined>>;

/** Returns the client's own folder: `CODEX_HOME`, else `.codex` of the home directory. */
export function codexHome(env: Env): string {
  return resolve(env["CODEX_HOME"] || join(env["HOME"] || homedir(), ".codex"));
}

export function hooksFile(env: Env): string {
  return join(codexHome(env), "hooks.json");
}

export function configFile(env: Env): string {
  return join(codexHome(env), "config.toml");
}

/** Returns true if `hooks.json` has entries of Kite's; what the client cannot read either counts as none. */
export function hasHooks(paths: KitePaths, env: Env): boolean {
  try {
    const text = readText(linkTarget(hooksFile(env)), limits.settingsBytes) ?? "{}";
    return entriesOf(text, entry => isOurs(entry, paths.bin)).length > 0;
  } catch {
    return false;
  }
}

// The entries for the client's `hooks.json`, made of the table of events.

/**
 * Returns the groups, one an event. `bin` is null unless Kite's home is another one than the usual. The client has a person
 * trust each entry by its place, its command and its time: none of them may change without a reason.
 */
export function codexEntries(bin: string | null): readonly EventEntries[] {
  return codexEvents.map(({ event, matcher, budgetMs, timeoutMs }) => {
    const command = guardedCommand([String(budgetMs), "", "", clientName], bin);
    // Seconds, because the client's settings use seconds.
    const hooks = [{ type: "command", command, timeout: timeoutMs / 1000 }];
    return [event, { ...(matcher === undefined ? {} : { matcher }), hooks }];
  });
}

const toml: FileFormat = { empty: "", isEmpty: text => text.trim() === "" };

/** What `hooks.json` holds of Kite's. */
export function hooksOf(paths: KitePaths, env: Env): ClientFile {
  const groups = codexEntries(env["KITE_HOME"] ? paths.bin : null);
  const isKites = (entry: unknown) => isOurs(entry, paths.bin);
  return {
    paths,
    settings: hooksFile(env),
    client: clientName,
    shared: false,
    plan: (text, before) => addHooks(text, groups, isKites, before),
    without: (text, created) => removeHooks(text, isKites, created),
  };
}

/** What `config.toml` holds of Kite's: the server of its tools. */
export function toolsOf(paths: KitePaths, env: Env): ClientFile {
  const { bin } = paths;
  return {
    paths,
    settings: configFile(env),
    client: clientName,
    shared: false,
    format: toml,
    plan: (text, created) => ({ text: addServer(text, mcpPath(bin), bin), created }),
    without: text => removeServer(text, bin),
  };
}

/** The same, and the client's notes on its trust in Kite's hooks, which go with these. */
export function toolsAndTrustOf(paths: KitePaths, env: Env): ClientFile {
  const keys = keysOf(paths, env);
  return {
    ...toolsOf(paths, env),
    without: text => removeTrust(removeServer(text, paths.bin), key => keys.includes(key)),
  };
}

/**
 * Returns the client's keys for Kite's entries: the file, the event, the group and the entry. If the file is a link,
 * keys name the link and the file behind it. Empty if the file cannot be read.
 */
export function keysOf(paths: KitePaths, env: Env): readonly string[] {
  const file = hooksFile(env);
  return groupsIn(file).flatMap(({ event, nth, entries }) =>
    entries.flatMap((entry, i) =>
      isOurs(entry, paths.bin)
        ? [file, linkTarget(file)].map(name => `${name}:${snakeCase(event)}:${nth}:${i}`)
        : [],
    ),
  );
}

/**
 * Returns how many hooks of others stand behind Kite's and get another place when Kite's are removed. The client trusts
 * a hook only where it stands. 0 if the file cannot be read.
 */
export function hooksBehind(paths: KitePaths, env: Env): number {
  const isKites = (entry: unknown) => isOurs(entry, paths.bin);
  const groups = groupsIn(hooksFile(env));
  const goes = groups.filter(({ entries }) => entries.length > 0 && entries.every(isKites));
  return groups.reduce((count, { event, nth, entries }) => {
    const isBehind = goes.some(gone => gone.event === event && gone.nth < nth);
    const moved = entries.filter(
      (entry, i) => !isKites(entry) && (isBehind || entries.slice(0, i).some(isKites)),
    );
    return count + moved.length;
  }, 0);
}

interface Group {
  readonly event: string;
  /** Its place in the event's list. */
  readonly nth: number;
  readonly entries: readonly unknown[];
}

/** Returns the groups of hooks in a file; none if it cannot be read. */
function groupsIn(file: string): readonly Group[] {
  const whole = parsed(file);
  const hooks = isObject(whole) && isObject(whole["hooks"]) ? whole["hooks"] : {};
  return Object.entries(hooks).flatMap(([event, groups]) =>
    (Array.isArray(groups) ? groups : []).map((group: unknown, nth) => {
      const entries: unknown = isObject(group) ? group["hooks"] : null;
      return { event, nth, entries: Array.isArray(entries) ? entries : [] };
    }),
  );
}

/**
 * Returns true if a new window of the client asks first whether it may run Kite's hooks. It does if one of them is
 * missing in its notes of what it trusts. False if its files cannot be read.
 */
export function asksForTrust(paths: KitePaths, env: Env): boolean {
  try {
    const text = readText(linkTarget(configFile(env)), limits.settingsBytes) ?? "";
    return !hasTrust(text, keysOf(paths, env));
  } catch {
    return false;
  }
}

function parsed(file: string): unknown {
  try {
    return JSON.parse((readText(linkTarget(file), limits.settingsBytes) ?? "{}").replace(/^\uFEFF/, ""));
  } catch {
    return {};
  }
}

function snakeCase(event: string): string {
  return event.replace(/(?<=[a-z])[A-Z]/g, letter => `_${letter}`).toLowerCase();
}
