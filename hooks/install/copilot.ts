/** What the client's files hold of Kite's: a file of its own with the hooks, and the server of the tools. */

import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { copilotClient, copilotEvents } from "../clients/clients.ts";
import { linkTarget, readText, SettingsRefused } from "./file.ts";
import type { ClientFile } from "./hooks-file.ts";
import { guardedCommand } from "./hooks-text.ts";
import { addServer, removeServer } from "./json-text.ts";
import { mcpPath } from "./program.ts";

// The client's file of Kite's own hooks, made of the table of events: nothing else is in it.

/** An entry as the client reads it. */
interface CopilotEntry {
  readonly type: "command";
  readonly bash: string;
  /** In seconds. */
  readonly timeoutSec: number;
  readonly matcher?: string;
}

interface CopilotHooks {
  readonly version: 1;
  readonly hooks: Readonly<Record<string, readonly CopilotEntry[]>>;
}

/** Returns the file's content. `bin` is null unless Kite's home is another one than the usual. */
export function copilotHooks(bin: string | null): CopilotHooks {
  const hooks = copilotEvents.map(({ event, matcher, budgetMs, timeoutMs }) => {
    const entry: CopilotEntry = {
      type: "command",
      bash: guardedCommand([String(budgetMs), "", "", copilotClient.name], bin),
      timeoutSec: Math.ceil(timeoutMs / 1000),
      ...(matcher === undefined ? {} : { matcher }),
    };
    return [event, [entry]] as const;
  });
  return { version: 1, hooks: Object.fromEntries(hooks) };
}

// Where the client's files are, and whether it has Kite's hooks.

const clientName = copilotClient.name;

type Env = Readonly<Record<string, string | undefined>>;

/** Returns the client's own folder: `COPILOT_HOME`, else `.copilot` of the home directory. */
export function copilotHome(env: Env): string {
  return resolve(env["COPILOT_HOME"] || join(env["HOME"] || homedir(), ".copilot"));
}

/** The client reads every file of this folder, without asking. */
function hooksFile(env: Env): string {
  return join(copilotHome(env), "hooks", "kite.json");
}

function serversFile(env: Env): string {
  return join(copilotHome(env), "mcp-config.json");
}

/** Returns true if Kite's file is there; what cannot be read counts as none. */
export function hasHooks(env: Env): boolean {
  try {
    return isKites(readText(linkTarget(hooksFile(env)), limits.settingsBytes) ?? "");
  } catch {
    return false;
  }
}

/** Returns true for the text of Kite's own file, present or older. */
function isKites(text: string): boolean {
  return text.startsWith('{\n  "version": 1,\n  "hooks": {') && text.includes("/bin/hook");
}

const ownFile = { empty: "", isEmpty: (text: string) => text === "" };

export function hooksOf(paths: KitePaths, env: Env): ClientFile {
  const wanted = `${JSON.stringify(copilotHooks(env["KITE_HOME"] ? paths.bin : null), null, 2)}\n`;
  return {
    paths,
    settings: hooksFile(env),
    client: clientName,
    shared: false,
    format: ownFile,
    plan: text => {
      if (text === "" || isKites(text)) return { text: wanted, created: null };
      throw new SettingsRefused("it is another program's; move it, and install again");
    },
    without: text => (isKites(text) ? "" : text),
  };
}

const place = ["mcpServers"];

export function toolsOf(paths: KitePaths, env: Env): ClientFile {
  const entry = { type: "local", command: mcpPath(paths.bin), args: [], tools: ["*"] };
  return {
    paths,
    settings: serversFile(env),
    client: clientName,
    shared: false,
    plan: (text, created) => ({ text: addServer(text, place, entry, paths.bin).text, created }),
    without: text => removeServer(text, place, paths.bin, { from: 0, empty: null }),
  };
}
