import { join } from "node:path";
import { limits } from "../../../protocol/limits.ts";
import { readIfAny } from "../../install/file.ts";
import { linkTarget } from "./project.ts";
import { entriesOf } from "./settings-text.ts";

/** How a hook is run: the program and its arguments; a budget in milliseconds follows Kite's, and perhaps more. */
export interface HookCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/** Kite's entries in a settings file. None where there is no such file, or the client could not read it either. */
export function commandsIn(settings: string, bin: string): readonly HookCommand[] {
  try {
    const text = readIfAny(linkTarget(settings), limits.settingsBytes)?.toString("utf8") ?? "{}";
    return entriesOf(text, bin).filter(isCommand);
  } catch {
    // Not readable, or no JSON: then nothing of it is in force.
    return [];
  }
}

/** The settings files that count in a directory besides the user's. */
export function settingsAt(directory: string): readonly string[] {
  return ["settings.json", "settings.local.json"].map(name => join(directory, ".claude", name));
}

function isCommand(entry: unknown): entry is HookCommand {
  if (typeof entry !== "object" || entry === null) return false;
  const { command, args }: { command?: unknown; args?: unknown } = entry;
  return typeof command === "string" && Array.isArray(args) && args.every(a => typeof a === "string");
}
