/** Writes the person's home as `~`, wherever a text names it: a home has the name of whom it belongs to. */
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { isSystemError } from "../../../protocol/errors.ts";

/** Returns the names under which a text may know the home: as the environment and the system say, each also without links. */
export function homesOf(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const named = [env["HOME"] ?? "", homedir()];
  return [...new Set(named.flatMap(home => (home === "" ? [] : [home, realPathOf(home)])))];
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return path; // There is no such directory, so nothing is below it.
  }
}

/**
 * Returns a function that writes these homes as `~`: alone, at the beginning of a path, and within a longer text. It also finds
 * them as Markdown, HTML and addresses write them, and in the names of Claude Code's folders (`-home-ann-shop`).
 *
 * Invariant: no path at or below a home is left; another person's home (`/home/anna` besides `/home/ann`) stays as it is.
 */
export function homeShortener(homes: readonly string[]): (text: string) => string {
  const plain = homes.map(home => home.replace(/\/+$/, "")).filter(home => home.startsWith("/"));
  const written = plain.flatMap(home => [home, home.replaceAll("&", "&amp;"), encodeURI(home)]);
  const whole = [...written, ...plain.map(encodeURIComponent)];
  const folders = plain.map(home => home.replace(/[^A-Za-z0-9]/g, "-"));
  if (whole.length === 0) return text => text;
  // A word goes on: another name.
  const paths = new RegExp(`(?:${alternatives(whole)})(?![\\p{L}\\p{N}_-]|\\.[\\p{L}\\p{N}])`, "gu");
  const inFolders = new RegExp(`(?<=/)(?:${alternatives(folders)})(?![\\p{L}\\p{N}_])`, "gu");
  return text => text.replace(paths, "~").replace(inFolders, "~");
}

/** The longest first: a home may be below another one. */
function alternatives(texts: readonly string[]): string {
  return [...new Set(texts)]
    .sort((a, b) => b.length - a.length)
    .map(text => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&"))
    .join("|");
}

/** Returns a value of JSON with each text in it, also the names of fields, as `change` has it. */
export function withTexts<T>(value: T, change: (text: string) => string): T {
  const changed = (one: unknown): unknown => {
    if (typeof one === "string") return change(one);
    if (Array.isArray(one)) return one.map(changed);
    if (typeof one !== "object" || one === null) return one;
    return Object.fromEntries(Object.entries(one).map(([name, field]) => [change(name), changed(field)]));
  };
  return changed(value) as T;
}
