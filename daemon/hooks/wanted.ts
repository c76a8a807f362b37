/** Leaves an action out where nobody wants it: its code is not entered, and its outcome is missing. */
import type { HookAction } from "../../hooks/seam/slices.ts";
import type { Rules } from "../config/project-rules.ts";
import { isRefusal } from "../server/call.ts";
import { type ActionHandler, type ActionOf, actorOfAction, type Run } from "./action.ts";
import type { NamedFile } from "./scope.ts";

type Test<A> = (run: Run, action: A) => Promise<boolean> | boolean;

/** Returns the handler, which runs only if `isWanted`. */
export function onlyIf<D extends HookAction["do"]>(
  isWanted: Test<ActionOf<D>>,
  handle: ActionHandler<D>,
): ActionHandler<D> {
  return async (run, action) => ((await isWanted(run, action)) ? handle(run, action) : null);
}

/** Returns a test of the rules of an action's file. It is made once for each reading of the rules. */
export function byRules(test: (rules: Rules) => boolean): Test<NamedFile> {
  const known = new WeakMap<Rules, boolean>();
  return async ({ scope }, named) => {
    const found = await scope.ruledFile(named);
    // The lock, which comes next, tells why the file is not known.
    if (isRefusal(found)) return false;
    const answer = known.get(found.rules) ?? test(found.rules);
    known.set(found.rules, answer);
    return answer;
  };
}

/** Whether the actor's latest call failed, and it was not sent on for that. */
export function hasFailed(run: Run, action: ActionOf<"gate_stop">): boolean {
  return run.services.toolFailures.pending(actorOfAction(run, action)) !== null;
}
