/** Writes an answer as the JSON that the client reads. */

import type { Answer } from "../plans/answers/answer.ts";
import type { HookPlan } from "../seam/plan.ts";

export type Words = ReturnType<HookPlan["answer"]>;

/** The client gives the context of a `PostToolUse`, for which it does not wait, with the next message. */
export function writeAnswer(event: string, answer: Answer): Words {
  const { denial, block, context, forPerson, wakes, env } = answer;
  // Only the one hook whose exit code 2 wakes and blocks nothing has such an answer.
  if (wakes !== undefined) return { output: "", exitCode: 2, stderr: `${wakes}\n` };
  const refusal =
    denial === undefined ? {} : { permissionDecision: "deny", permissionDecisionReason: denial };
  const own = { ...refusal, ...(context === undefined ? {} : { additionalContext: context }) };
  const parts = {
    ...(forPerson === undefined ? {} : { systemMessage: forPerson }),
    ...(block === undefined ? {} : { decision: "block", reason: block }),
    ...(Object.keys(own).length === 0 ? {} : { hookSpecificOutput: { hookEventName: event, ...own } }),
  };
  const output = Object.keys(parts).length === 0 ? "" : JSON.stringify(parts);
  return { output, ...(env === undefined ? {} : { env }) };
}
