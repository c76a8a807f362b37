/** Puts Kite's status line into the text of the client's settings, around an existing one, and takes it out again. */
import { shellWord } from "../../../protocol/text.ts";
import { SettingsRefused } from "../../install/failed.ts";
import { append, member, parseObject, readValue, remove, replace } from "../../install/json-text.ts";

/** What there was before Kite's: null for no status line, else its command. */
export interface StatusLineMade {
  readonly before: string | null;
}

/**
 * Returns the settings with Kite's status line. An existing one runs within it and keeps its other settings. `made` is
 * null if Kite's was already there. Throws SettingsRefused if the existing one has another form.
 */
export function addStatusLine(
  text: string,
  program: string,
): { readonly text: string; readonly made: StatusLineMade | null } {
  const { root, line, command } = placesIn(text);
  if (line === null) {
    const value = { type: "command", command: shellWord(program) };
    return { text: append(text, root, "statusLine", value), made: { before: null } };
  }
  const before = command === null ? null : readValue(text, command);
  if (command === null || typeof before !== "string") {
    throw new SettingsRefused('"statusLine" has no "command" that Kite could run within its own');
  }
  if (before.includes(program)) return { text, made: null };
  const around = `${shellWord(program)} ${shellWord(before)}`;
  return { text: replace(text, command, around), made: { before } };
}

/** Returns the settings with what was there before Kite's status line; unchanged if another one took its place. */
export function removeStatusLine(text: string, program: string, { before }: StatusLineMade): string {
  const { root, command } = placesIn(text);
  const there = command === null ? null : readValue(text, command);
  if (command === null || typeof there !== "string" || !there.includes(program)) return text;
  if (before !== null) return replace(text, command, before);
  const index = root.children.findLastIndex(child => child.key === "statusLine");
  return remove(text, root, index);
}

function placesIn(text: string) {
  const root = parseObject(text);
  const line = member(root, "statusLine")?.value ?? null;
  const command = line?.kind === "object" ? (member(line, "command")?.value ?? null) : null;
  return { root, line, command };
}
