/** A whole shell line, gone through. */

import type { Node } from "./ast.ts";
import { runSimple } from "./simple.ts";
import { startIn } from "./variables.ts";
import { type Budget, type Invocation, Walk, wholeBudget } from "./walk.ts";

/**
 * Hands every program of the line to `run`, in order. The line begins in `dir`; null: that is not known. `args` are `$1`
 * and so on, where they are known; `env` is what is known of the variables that the shell was given. Returns why not all
 * of it was gone through, or null.
 */
export function walkShell(
  node: Node,
  dir: string | null,
  run: (invocation: Invocation) => void,
  args: readonly string[] | null = null,
  budget: Budget = wholeBudget(),
  env: ReadonlyMap<string, string> = new Map(),
): string | null {
  const walk = new Walk(run, runSimple, budget);
  walk.step(node, { ...startIn(dir, env), args });
  return walk.unread;
}
