/** Goes through a whole shell line. */

import type { Node } from "./ast.ts";
import { type Budget, wholeBudget } from "./budget.ts";
import { runSimple } from "./simple.ts";
import { startIn } from "./variables.ts";
import { type Invocation, Walk, type Written } from "./walk.ts";

/**
 * Calls `run` with every program of the line, in order. The line begins in `dir`; null: not known. `args` are `$1` and
 * so on if they are known; `env` are the known variables of the shell; `wrote` hears of the files that redirections write.
 * Returns why a part of the line was not followed, or null.
 */
export function walkShell(
  node: Node,
  dir: string | null,
  run: (invocation: Invocation) => void,
  args: readonly string[] | null = null,
  budget: Budget = wholeBudget(),
  env: ReadonlyMap<string, string> = new Map(),
  wrote: (written: Written) => void = () => undefined,
): string | null {
  const walk = new Walk(run, wrote, runSimple, budget);
  walk.step(node, { ...startIn(dir, env), args });
  return walk.unread;
}
