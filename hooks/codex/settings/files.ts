/** What the client's files hold of Kite's, and what they shall hold. */
import { limits } from "../../../protocol/limits.ts";
import type { KitePaths } from "../../../protocol/paths.ts";
import { isObject } from "../../../protocol/wire.ts";
import type { FileFormat, HooksFileOptions } from "../../install/hooks-file.ts";
import { addHooks, removeHooks } from "../../install/hooks-text.ts";
import { mcpPath } from "../../install/launcher.ts";
import { isOurs } from "../../install/ours.ts";
import { linkTarget, readText } from "../../install/read-file.ts";
import { addServer, hasServer, removeServer, removeTrust } from "./config-text.ts";
import { codexEntries } from "./entries.ts";
import { clientName, configFile, type Env, hooksFile } from "./where.ts";

export const toml: FileFormat = { empty: "", isEmpty: text => text.trim() === "" };

/** Returns what `hooks.json` shall hold. */
export function wantedHooks(paths: KitePaths, env: Env): HooksFileOptions {
  const groups = codexEntries(env["KITE_HOME"] ? paths.bin : null);
  const isKites = (entry: unknown) => isOurs(entry, paths.bin);
  return {
    paths,
    settings: hooksFile(env),
    client: clientName,
    shared: false,
    plan: (text, before) => addHooks(text, groups, isKites, before),
  };
}

/** Returns what `config.toml` shall hold: the server of Kite's tools. */
export function wantedTools(paths: KitePaths, env: Env): HooksFileOptions {
  const { bin } = paths;
  return {
    paths,
    settings: configFile(env),
    client: clientName,
    shared: false,
    format: toml,
    plan: (text, created) => ({ text: addServer(text, mcpPath(bin), bin), created }),
  };
}

export function withoutHooks(bin: string) {
  return (text: string, created: Parameters<typeof removeHooks>[2]) =>
    removeHooks(text, entry => isOurs(entry, bin), created);
}

/** Without the tools, and without the client's notes on its trust in the hooks with these keys. */
export function withoutConfig(bin: string, keys: readonly string[]) {
  return (text: string) => removeTrust(removeServer(text, bin), key => keys.includes(key));
}

/** Returns true if `config.toml` has the server of Kite's tools; what the client cannot read either counts as none. */
export function hasTools(paths: KitePaths, env: Env): boolean {
  try {
    return hasServer(readText(linkTarget(configFile(env)), limits.settingsBytes) ?? "", paths.bin);
  } catch {
    return false;
  }
}

/**
 * Returns the client's keys for Kite's entries: the file, the event, the group and the entry; with the file's name and with
 * that of the file behind a link. Empty if the file cannot be read.
 */
export function keysOf(paths: KitePaths, env: Env): readonly string[] {
  const file = hooksFile(env);
  const whole = parsed(file);
  const hooks = isObject(whole) && isObject(whole["hooks"]) ? whole["hooks"] : {};
  return Object.entries(hooks).flatMap(([event, groups]) =>
    (Array.isArray(groups) ? groups : []).flatMap((group: unknown, g) => {
      const entries = isObject(group) && Array.isArray(group["hooks"]) ? group["hooks"] : [];
      return entries.flatMap((entry: unknown, i) =>
        isOurs(entry, paths.bin)
          ? [file, linkTarget(file)].map(name => `${name}:${snakeCase(event)}:${g}:${i}`)
          : [],
      );
    }),
  );
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
