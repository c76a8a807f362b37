/** What the client's files hold of Kite's, and what they shall hold. */
import { limits } from "../../../protocol/limits.ts";
import type { KitePaths } from "../../../protocol/paths.ts";
import { isObject } from "../../../protocol/wire.ts";
import type { ClientFile, FileFormat } from "../../install/hooks-file.ts";
import { addHooks, removeHooks } from "../../install/hooks-text.ts";
import { mcpPath } from "../../install/launcher.ts";
import { isOurs } from "../../install/ours.ts";
import { linkTarget, readText } from "../../install/read-file.ts";
import { addServer, hasTrust, removeServer, removeTrust } from "./config-text.ts";
import { codexEntries } from "./entries.ts";
import { clientName, configFile, type Env, hooksFile } from "./where.ts";

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
 * Returns the client's keys for Kite's entries: the file, the event, the group and the entry; with the file's name and with
 * that of the file behind a link. Empty if the file cannot be read.
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
 * Returns how many hooks of others get another place when Kite's are taken out, since they stand behind these: the client
 * trusts a hook where it stands. 0 if the file cannot be read.
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
 * Returns true if a new window of the client asks first whether it may run Kite's hooks: it has no note that it trusts one of
 * them. False if its files cannot be read.
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
