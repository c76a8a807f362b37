/** Commands for an agent to run: limited to its own files, and safe for a shell. */
import { limits } from "../../protocol/limits.ts";
import { quote, shellWord } from "../../protocol/text.ts";

/** Where an agent's own files are, and from where it would run a command. */
export interface OwnPaths {
  /** Relative to the worktree. */
  readonly own: readonly string[];
  readonly worktree: string;
  /** Where its own command was to run; null: that could not be told. */
  readonly dir: string | null;
}

/** `git add -- a b`, to be run where the agent is; null where it has no file of its own that can be named. */
export function ownForm(words: string, { own, worktree, dir }: OwnPaths): string | null {
  const shown = named(own);
  if (shown.length === 0) return null;
  const where = dir === worktree ? "" : ` -C ${word(worktree)}`;
  const isLiteral = shown.some(path => /[*?[\\]|^:/.test(path));
  return `git${where}${isLiteral ? " --literal-pathspecs" : ""} ${words} -- ${shown.map(word).join(" ")}`;
}

/** How many files of the agent's own the command leaves out. */
export function leftOut(own: readonly string[]): number {
  return own.length - named(own).length;
}

/** Names that stay as they are where an agent reads them, as many as it wants to read. */
function named(own: readonly string[]): readonly string[] {
  let room = limits.ownPathsChars;
  return own.filter(path => {
    const isClear = !/[<>"]/.test(path) && quote(path, limits.pathBytes) === `"${path}"`;
    if (isClear) room -= path.length;
    return isClear && room >= 0;
  });
}

/** As a word of a shell, in quotes where it needs them. */
function word(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : shellWord(text);
}
