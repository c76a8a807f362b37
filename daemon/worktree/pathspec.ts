/**
 * Whether a git command that is limited to some paths reaches a file. The pathspecs are plain, without the magic that
 * begins with a colon. They are matched step by step: agents write them, and a regular expression made of one could
 * block the daemon.
 */
import { posix } from "node:path";

/**
 * `file` and `base` (where the command runs) are relative to the worktree; `paths` are relative to `base`, or absolute
 * below `top`. `base` null: the command may run in any folder of the worktree.
 */
export function isWithin(file: string, paths: readonly string[], base: string | null, top: string): boolean {
  if (base !== null) return paths.some(path => matches(file, path, base, top));
  const folders = ["", ...above(file)];
  return paths.some(path => {
    if (posix.isAbsolute(path)) return matches(file, path, "", top);
    // A path that leads out of an unknown folder leads into another unknown one.
    const [outwards = ""] = /^(?:\.\.?(?:\/|$))*/.exec(posix.normalize(path)) ?? [];
    const inwards = posix.normalize(path).slice(outwards.length);
    return inwards === "" || folders.some(folder => matches(file, inwards, folder, top));
  });
}

/** The folders of a file, the outermost first. */
function above(file: string): readonly string[] {
  const names = file.split("/").slice(0, -1);
  return names.map((_, i) => names.slice(0, i + 1).join("/"));
}

function matches(file: string, path: string, base: string, top: string): boolean {
  const whole = posix.isAbsolute(path) ? posix.relative(top, posix.normalize(path)) : posix.join(base, path);
  const spec = whole.replace(/\/+$/, "").replace(/^\.$/, "");
  if (spec === "" || file === spec || file.startsWith(`${spec}/`)) return true;
  if (!/[*?[\\]/.test(spec)) return false;
  const parts = partsOf(spec);
  // A folder that matches is reached with everything below it. With a slash at its end a pattern matches no file, but
  // the shell makes folders of it.
  const isBelow = fits(file, [...parts, c => c === "/", "many"]);
  return isBelow || (!/\/\.{0,2}$/.test(path) && fits(file, parts));
}

/** One character of a pattern, or `many`: a `*`, which also matches slashes, as in git. */
type Part = "many" | ((character: string) => boolean);

function partsOf(spec: string): readonly Part[] {
  const parts: Part[] = [];
  const characters = [...spec];
  for (let i = 0; i < characters.length; i += 1) {
    const character = characters[i] ?? "";
    if (character === "*") {
      if (parts.at(-1) !== "many") parts.push("many");
    } else if (character === "?") parts.push(() => true);
    else if (character === "[") {
      const end = characters.indexOf("]", i + (/[!^]/.test(characters[i + 1] ?? "") ? 3 : 2));
      // In git a set without an end matches nothing; here it matches any character.
      if (end === -1) return ["many"];
      parts.push(setOf(characters.slice(i + 1, end)));
      i = end;
    } else if (character === "\\") {
      i += 1;
      const literal = characters[i] ?? "\\";
      parts.push(c => c === literal);
    } else parts.push(c => c === character);
  }
  return parts;
}

/** Reads the inside of `[...]`. A class like `[:alpha:]` matches any character. */
function setOf(inside: readonly string[]): (character: string) => boolean {
  const isNegated = inside[0] === "!" || inside[0] === "^";
  const members = isNegated ? inside.slice(1) : inside;
  if (members.includes("[") || members.includes("\\")) return () => true;
  const ranges: (readonly [string, string])[] = [];
  for (let i = 0; i < members.length; i += 1) {
    const from = members[i] ?? "";
    const isRange = members[i + 1] === "-" && i + 2 < members.length;
    ranges.push([from, isRange ? (members[i + 2] ?? "") : from]);
    if (isRange) i += 2;
  }
  return character => ranges.some(([from, to]) => from <= character && character <= to) !== isNegated;
}

/** Takes at most text times pattern steps: of several stars only the last one can need another try. */
function fits(text: string, parts: readonly Part[]): boolean {
  const characters = [...text];
  let at = 0;
  let part = 0;
  let star = -1;
  let from = 0;
  while (at < characters.length) {
    const wanted = parts[part];
    if (wanted === "many") {
      star = part;
      from = at;
      part += 1;
    } else if (wanted?.(characters[at] ?? "")) {
      at += 1;
      part += 1;
    } else if (star !== -1) {
      from += 1;
      at = from;
      part = star + 1;
    } else return false;
  }
  while (parts[part] === "many") part += 1;
  return part === parts.length;
}
