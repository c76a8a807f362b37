/** Where the client's files are, and whether it has Kite's plugin. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { limits } from "../../../protocol/limits.ts";
import { linkTarget, readText } from "../../install/read-file.ts";
import { opencodeClient } from "../client.ts";

export const clientName = opencodeClient.name;

export type Env = Readonly<Record<string, string | undefined>>;

/** Returns the client's folder of settings. */
export function configFolder(env: Env): string {
  const { XDG_CONFIG_HOME: said } = env;
  return join(said?.startsWith("/") ? said : join(env["HOME"] || homedir(), ".config"), "opencode");
}

/** The client loads every file of this folder, without asking. */
export function pluginFile(env: Env): string {
  return join(configFolder(env), "plugins", "kite.js");
}

/** Returns the client's file of settings: the one that is there, else `opencode.json`. */
export function settingsFile(env: Env): string {
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
