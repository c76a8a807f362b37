/**
 * Matches globs against paths. The patterns come from files that any agent may write, and one compiled to a regular
 * expression could stop the daemon. This matcher cannot: it takes pattern times path steps at most.
 *
 * `*` and `?` stand for characters of one name, `**` for any number of names; a slash at the end means a directory with
 * its content. A pattern without another slash matches at any depth, one with a slash from the top.
 */
import { quote } from "../../protocol/text.ts";

/** Returns a sentence if the pattern is invalid, else null. */
export function globProblem(pattern: string): string | null {
  if (/[[\]{}\\]/.test(pattern))
    return `${quote(pattern)}: of a glob only *, ** and ? are known; write several instead`;
  if (pattern.startsWith("!")) return `${quote(pattern)}: a glob cannot take back what another one ignores`;
  if (/^\/*$/.test(pattern)) return `${quote(pattern)} is no glob`;
  return null;
}

/** Returns a test whether a path (relative, without a slash at either end) matches any of the patterns. */
export function anyGlob(patterns: readonly string[]): (path: string) => boolean {
  const all = patterns.map(pattern => ({ names: namesOf(pattern), literal: literalOf(pattern) }));
  return path => {
    for (const { names, literal } of all)
      if (path.includes(literal) && matches(names, path.split("/"), "**", matchesName)) return true;
    return false;
  };
}

/** The longest text that every path that the pattern matches contains: nearly all paths lack it. */
function literalOf(pattern: string): string {
  const texts = pattern.split(/[*?/]/);
  return texts.reduce((longest, text) => (text.length > longest.length ? text : longest));
}

function namesOf(pattern: string): string[] {
  const names = pattern.split("/").filter(name => name !== "");
  const isAnywhere = !pattern.slice(0, -1).includes("/");
  return [...(isAnywhere ? ["**"] : []), ...names, ...(pattern.endsWith("/") ? ["**", "*"] : [])];
}

function matchesName(pattern: string, name: string): boolean {
  return /[*?]/.test(pattern) && matches([...pattern], [...name], "*", null);
}

/**
 * Whether the parts of `pattern` match those of `text`. The part `many` matches any number, the fewest first. A part that
 * differs from the text's may match it by `isOne`; null: the parts are characters, and `?` matches each.
 */
function matches(
  pattern: readonly string[],
  text: readonly string[],
  many: string,
  isOne: ((pattern: string, part: string) => boolean) | null,
): boolean {
  let at = 0;
  let manyAt = -1;
  let from = 0;
  for (let i = 0; i < text.length; ) {
    const wanted = pattern[at];
    const part = text[i] ?? "";
    if (wanted === many) {
      manyAt = at;
      from = i;
      at += 1;
    } else if (
      wanted !== undefined &&
      (wanted === part || (isOne === null ? wanted === "?" : isOne(wanted, part)))
    ) {
      at += 1;
      i += 1;
    } else if (manyAt !== -1) {
      // The latest such part takes one more: it can take everything that an earlier one could.
      at = manyAt + 1;
      from += 1;
      i = from;
    } else return false;
  }
  while (pattern[at] === many) at += 1;
  return at === pattern.length;
}
