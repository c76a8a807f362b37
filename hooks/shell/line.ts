/** A whole shell line, gone through. */

import type { Node } from "./ast.ts";
import { runSimple } from "./simple.ts";
import { startIn } from "./variables.ts";
import { type Budget, type Invocation, Walk, wholeBudget } from "./walk.ts";

/**
 * Hands every program of the line to `run`, in order. `args` are `$1` and so on, where they are known. Returns why not
 * all of it was gone through, or null.
 */
export function walkShell(
  node: Node,
  dir: string,
  run: (invocation: Invocation) => void,
  args: readonly string[] | null = null,
  budget: Budget = wholeBudget(),
): string | null {
  const walk = new Walk(run, runSimple, budget);
  walk.step(node, { ...startIn(dir), args });
  return walk.unread;
}
