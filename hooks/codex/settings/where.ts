/** Where the client's files are, and whether they have hooks of Kite's. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { limits } from "../../../protocol/limits.ts";
import type { KitePaths } from "../../../protocol/paths.ts";
import { entriesOf } from "../../install/hooks-text.ts";
import { isOurs } from "../../install/ours.ts";
import { linkTarget, readText } from "../../install/read-file.ts";

/** How records, options and entries name this client; its program, too. */
export const clientName = "codex";

export type Env = Readonly<Record<string, string | undefined>>;

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
