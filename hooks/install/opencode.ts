/** What the client's files hold of Kite's: a file of its own with the plugin, and the server of the tools in its settings. */

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { opencodeClient } from "../clients/clients.ts";
import { linkTarget, readText, SettingsRefused } from "./file.ts";
import type { ClientFile } from "./hooks-file.ts";
import { addServer, removeServer } from "./json-text.ts";
import { mcpPath } from "./program.ts";

// Where the client's files are, and whether it has Kite's plugin.

const clientName = opencodeClient.name;

type Env = Readonly<Record<string, string | undefined>>;

/** Returns the client's folder of settings. */
export function configFolder(env: Env): string {
  const { XDG_CONFIG_HOME: configHome } = env;
  return join(
    configHome?.startsWith("/") ? configHome : join(env["HOME"] || homedir(), ".config"),
    "opencode",
  );
}

/** The client loads every file of this folder, without asking. */
function pluginFile(env: Env): string {
  return join(configFolder(env), "plugins", "kite.js");
}

/** Returns the client's file of settings: the one that is there, else `opencode.json`. */
function settingsFile(env: Env): string {
  const names = ["opencode.jsonc", "opencode.json"].map(name => join(configFolder(env), name));
  return names.find(existsSync) ?? join(configFolder(env), "opencode.json");
}

/** The first line of Kite's plugin. */
export const pluginMark =
  "// Kite's plugin for OpenCode: kite install writes this file, kite uninstall removes it.\n";

/** Returns true if Kite's plugin is there; what cannot be read counts as none. */
export function hasPlugin(env: Env): boolean {
  try {
    return readText(linkTarget(pluginFile(env)), limits.settingsBytes)?.startsWith(pluginMark) === true;
  } catch {
    return false;
  }
}

const ownFile = { empty: "", isEmpty: (text: string) => text === "" };

/** The plugin, made of its program's text. It finds another home than the usual one by its own first words. */
export function pluginOf(paths: KitePaths, env: Env, program: string): ClientFile {
  const home = env["KITE_HOME"] ? `process.env.KITE_HOME ||= ${JSON.stringify(paths.home)};\n` : "";
  const wanted = `${pluginMark}${home}${program}`;
  return {
    paths,
    settings: pluginFile(env),
    client: clientName,
    shared: false,
    format: ownFile,
    plan: text => {
      if (text === "" || text.startsWith(pluginMark)) return { text: wanted, created: null };
      throw new SettingsRefused("it is another program's; move it, and install again");
    },
    without: text => (text.startsWith(pluginMark) ? "" : text),
  };
}

const place = ["mcp"];

export function toolsOf(paths: KitePaths, env: Env): ClientFile {
  const entry = { type: "local", command: [mcpPath(paths.bin)], enabled: true };
  return {
    paths,
    settings: settingsFile(env),
    client: clientName,
    shared: false,
    plan: (text, created) => ({ text: addServer(text, place, entry, paths.bin).text, created }),
    without: text => removeServer(text, place, paths.bin, { from: 0, empty: null }),
  };
}
