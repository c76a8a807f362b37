/** Writes an answer as the JSON that the client reads. */
import type { Answer } from "../plans/answers/answer.ts";
import type { HookPlan } from "../seam/plan.ts";

/**
 * All fields stand at the top: the client reads its nested form at a call alone. The exit code is always 0, because any other
 * denies the call without a word. The client shows a person nothing of an answer, so such texts are left out.
 */
export function writeAnswer({ denial, block, context }: Answer): ReturnType<HookPlan["answer"]> {
  const parts = {
    ...(denial === undefined ? {} : { permissionDecision: "deny", permissionDecisionReason: denial }),
    ...(block === undefined ? {} : { decision: "block", reason: block }),
    ...(context === undefined ? {} : { additionalContext: context }),
  };
  return { output: Object.keys(parts).length === 0 ? "" : JSON.stringify(parts) };
}
