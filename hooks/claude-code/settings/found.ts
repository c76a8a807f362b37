/** Finds Kite's entries in settings files. */
import { join } from "node:path";
import { limits } from "../../../protocol/limits.ts";
import { readIfAny } from "../../install/read-file.ts";
import { linkTarget } from "./project.ts";
import { entriesOf } from "./settings-text.ts";

/** The command of a hook. Behind Kite's program come a budget in milliseconds and perhaps more arguments. */
export interface HookCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/** Returns Kite's entries in a settings file; none if the file does not exist or is unreadable for the client too. */
export function commandsIn(settings: string, bin: string): readonly HookCommand[] {
  try {
    const text = readIfAny(linkTarget(settings), limits.settingsBytes)?.toString("utf8") ?? "{}";
    return entriesOf(text, bin).filter(isCommand);
  } catch {
    // The file is unreadable or no JSON, so the client applies none of it.
    return [];
  }
}

/** Returns the settings files that apply in a directory besides the user's. */
export function settingsAt(directory: string): readonly string[] {
  return ["settings.json", "settings.local.json"].map(name => join(directory, ".claude", name));
}

function isCommand(entry: unknown): entry is HookCommand {
  if (typeof entry !== "object" || entry === null) return false;
  const { command, args }: { command?: unknown; args?: unknown } = entry;
  return typeof command === "string" && Array.isArray(args) && args.every(a => typeof a === "string");
}
