/** What the client's settings hold of Kite's: its hooks, and the server of its tools. */

import { homedir } from "node:os";
import { join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { geminiClient, geminiEvents } from "../clients/clients.ts";
import { linkTarget, readText } from "./file.ts";
import type { ClientFile } from "./hooks-file.ts";
import { addHooks, type EventEntries, entriesOf, guardedCommand, isOurs, removeHooks } from "./hooks-text.ts";
import { addServer, removeServer } from "./json-text.ts";
import { mcpPath } from "./program.ts";

// The entries for the client's `settings.json`, made of the table of events.

/** The client lists hooks by their names, and turns them off by these. */
const name = "kite";

/** Returns the groups, one an event. `bin` is null unless Kite's home is another one than the usual. */
export function geminiEntries(bin: string | null): readonly EventEntries[] {
  return geminiEvents.map(({ event, matcher, budgetMs, timeoutMs }) => {
    const command = guardedCommand([String(budgetMs), "", "", geminiClient.name], bin);
    // Milliseconds, as the client's settings have them.
    const hooks = [{ name, type: "command", command, timeout: timeoutMs }];
    return [event, { ...(matcher === undefined ? {} : { matcher }), hooks }];
  });
}

// Where the client's settings are, and whether they have hooks of Kite's.

const clientName = geminiClient.name;

type Env = Readonly<Record<string, string | undefined>>;

export function geminiFolder(env: Env): string {
  return join(env["HOME"] || homedir(), ".gemini");
}

function settingsFile(env: Env): string {
  return join(geminiFolder(env), "settings.json");
}

/** Returns true if the settings have entries of Kite's; what the client cannot read either counts as none. */
export function hasHooks(paths: KitePaths, env: Env): boolean {
  try {
    const text = readText(linkTarget(settingsFile(env)), limits.settingsBytes) ?? "{}";
    return entriesOf(text, entry => isOurs(entry, paths.bin)).length > 0;
  } catch {
    return false;
  }
}

const place = ["mcpServers"];

/** Returns what the settings shall hold, with the tools or without. */
export function settingsOf(paths: KitePaths, env: Env, hasTools: boolean): ClientFile {
  const { bin } = paths;
  const groups = geminiEntries(env["KITE_HOME"] ? bin : null);
  const isKites = (entry: unknown) => isOurs(entry, bin);
  const withoutTools = (text: string) => removeServer(text, place, bin, { from: 0, empty: null });
  return {
    paths,
    settings: settingsFile(env),
    client: clientName,
    shared: false,
    plan: (text, before) => {
      const hooked = addHooks(text, groups, isKites, before);
      const server = { command: mcpPath(bin) };
      return {
        ...hooked,
        text: hasTools ? addServer(hooked.text, place, server, bin).text : withoutTools(hooked.text),
      };
    },
    without: (text, created) => removeHooks(withoutTools(text), isKites, created),
  };
}
