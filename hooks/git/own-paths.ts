/** Commands for an agent to run: limited to its own files, and safe for a shell. */
import { limits } from "../../protocol/limits.ts";
import { quote, shellArgument } from "../../protocol/text.ts";

/** Where an agent's own files are, and where it would run a command. */
export interface OwnPaths {
  /** Relative to the worktree. */
  readonly own: readonly string[];
  readonly worktree: string;
  /** Where its own command was to run; null: not known. */
  readonly dir: string | null;
}

/** `git add -- a b`, to be run in the agent's directory; null if no file of its own can be named. */
export function ownForm(words: string, { own, worktree, dir }: OwnPaths): string | null {
  const shown = named(own);
  if (shown.length === 0) return null;
  const where = dir === worktree ? "" : ` -C ${shellArgument(worktree)}`;
  const isLiteral = shown.some(path => /[*?[\\]|^:/.test(path));
  return `git${where}${isLiteral ? " --literal-pathspecs" : ""} ${words} -- ${shown.map(shellArgument).join(" ")}`;
}

/** The number of the agent's own files that the command leaves out. */
export function leftOut(own: readonly string[]): number {
  return own.length - named(own).length;
}

/** The names that a text shows unchanged, as many as an agent wants to read. */
function named(own: readonly string[]): readonly string[] {
  let room = limits.ownPathsChars;
  return own.filter(path => {
    const isClear = !/[<>"]/.test(path) && quote(path, limits.pathBytes) === `"${path}"`;
    if (isClear) room -= path.length;
    return isClear && room >= 0;
  });
}
