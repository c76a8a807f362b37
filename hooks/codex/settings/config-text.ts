/** Adds and removes what Kite has in the text of the client's `config.toml`; keeps every other byte. */
import { SettingsRefused } from "../../install/failed.ts";
import { appendTable, hasRootKey, type Table, tablesOf, withoutTables } from "./toml-text.ts";

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
