/** Where the client's settings are, and whether they have hooks of Kite's. */
import { homedir } from "node:os";
import { join } from "node:path";
import { limits } from "../../../protocol/limits.ts";
import type { KitePaths } from "../../../protocol/paths.ts";
import { entriesOf } from "../../install/hooks-text.ts";
import { isOurs } from "../../install/ours.ts";
import { linkTarget, readText } from "../../install/read-file.ts";
import { geminiClient } from "../client.ts";

export const clientName = geminiClient.name;

export type Env = Readonly<Record<string, string | undefined>>;

export function geminiFolder(env: Env): string {
  return join(env["HOME"] || homedir(), ".gemini");
}

export function settingsFile(env: Env): string {
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
