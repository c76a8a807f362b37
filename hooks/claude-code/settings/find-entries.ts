/** Finds Kite's entries in settings files. */
import { join } from "node:path";
import { limits } from "../../../protocol/limits.ts";
import { isObject } from "../../../protocol/wire.ts";
import { entriesOf } from "../../install/hooks-text.ts";
import { isOurs, isPortable } from "../../install/ours.ts";
import { programPaths } from "../../install/program.ts";
import { linkTarget, readIfAny } from "../../install/read-file.ts";

/** The command of a hook. Behind Kite's program come a budget in milliseconds and perhaps more arguments. */
export interface HookCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/** Returns Kite's entries in a settings file; none if the file does not exist or is unreadable for the client too. */
export function commandsIn(settings: string, bin: string): readonly HookCommand[] {
  try {
    const text = readIfAny(linkTarget(settings), limits.settingsBytes)?.toString("utf8") ?? "{}";
    const found = entriesOf(text, entry => isOurs(entry, bin))
      .filter(isCommand)
      .map(one => resolved(one, bin));
    return enabledPlugin(JSON.parse(text)) !== null ? [...found, portableCommand(bin, [])] : found;
  } catch {
    // The file is unreadable or no JSON, so the client applies none of it.
    return [];
  }
}

/** Returns the settings files that apply in a directory besides the user's. */
export function settingsAt(directory: string): readonly string[] {
  return ["settings.json", "settings.local.json"].map(name => join(directory, ".claude", name));
}

/** Returns an entry that holds on every machine as the command that it is on this one. */
function resolved(entry: HookCommand, bin: string): HookCommand {
  const script = entry.args.findIndex(isPortable);
  return script === -1 ? entry : portableCommand(bin, entry.args.slice(script + 2));
}

function portableCommand(bin: string, args: readonly string[]): HookCommand {
  return { command: "/bin/sh", args: [programPaths(bin).portable, ...args] };
}

/** Returns the id of the plugin that `kite plugin` makes, from any marketplace, if the settings switch it on; else null. */
export function enabledPlugin(settings: unknown): string | null {
  const enabled = isObject(settings) ? settings["enabledPlugins"] : null;
  if (!isObject(enabled)) return null;
  return Object.keys(enabled).find(id => enabled[id] === true && id.startsWith("kite@")) ?? null;
}

function isCommand(entry: unknown): entry is HookCommand {
  if (typeof entry !== "object" || entry === null) return false;
  const { command, args }: { command?: unknown; args?: unknown } = entry;
  return typeof command === "string" && Array.isArray(args) && args.every(a => typeof a === "string");
}
