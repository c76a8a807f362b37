/** What git runs in the place of an alias: a line for a shell, or a command of its own. Pure. */

import type { Budget } from "../shell/budget.ts";
import { walkShell } from "../shell/line.ts";
import { readShell } from "../shell/parser.ts";
import { asValue, type Value } from "../shell/variables.ts";
import type { GitCall } from "./command.ts";

/** A line that a shell runs with these arguments, or the words of a call of git. */
export type Expanded =
  | { readonly line: string; readonly args: readonly string[] }
  | { readonly words: readonly Value[] };

/** Git replaces an alias's name by its text; a text with a `!` in front is a line for a shell. */
export function expandAlias({ args, settings }: GitCall, text: string, budget: Budget): Expanded {
  if (text.startsWith("!")) return { line: `${text.slice(1)} "$@"`, args: args.map(({ whole }) => whole) };
  const values: Value[] = [asValue("git")];
  const { node } = readShell(text);
  walkShell(node, "/", ({ values: words }) => values.push(...words), null, budget);
  // The settings of the call hold for the alias's command, too.
  const given = [...settings].flatMap(([key, value]) => [asValue("-c"), asValue(`${key}=${value}`)]);
  const [git = asValue("git"), ...rest] = values;
  return { words: [git, ...given, ...rest, ...args] };
}
