/** Writes an answer as the JSON that the client reads. */
import type { Answer } from "../plans/answers/answer.ts";
import type { HookPlan } from "../seam/plan.ts";

/** The client has no file for the environment of its shell commands, and no hook that wakes a session. */
export function writeAnswer(
  event: string,
  { denial, block, context, forPerson }: Answer,
): ReturnType<HookPlan["answer"]> {
  const own = {
    ...(denial === undefined ? {} : { permissionDecision: "deny", permissionDecisionReason: denial }),
    ...(context === undefined ? {} : { additionalContext: context }),
  };
  const parts = {
    ...(forPerson === undefined ? {} : { systemMessage: forPerson }),
    ...(block === undefined ? {} : { decision: "block", reason: block }),
    ...(Object.keys(own).length === 0 ? {} : { hookSpecificOutput: { hookEventName: event, ...own } }),
  };
  return { output: Object.keys(parts).length === 0 ? "" : JSON.stringify(parts) };
}
