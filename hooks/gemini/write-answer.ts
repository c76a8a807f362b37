/** Writes an answer as the JSON that the client reads. */
import type { Answer } from "../plans/answers/answer.ts";
import type { HookPlan } from "../seam/plan.ts";

/**
 * The client drops context before a tool: there it goes with a denial's reason, else to the person. Any exit code but 0 may
 * count as a denial, so there is none.
 */
export function writeAnswer(
  event: string,
  { denial, block, context, forPerson }: Answer,
): ReturnType<HookPlan["answer"]> {
  const isBefore = event === "BeforeTool";
  const refusal = denial ?? block;
  const inReason = isBefore && refusal !== undefined && context !== undefined;
  const reason = inReason ? `${refusal}\n${context}` : refusal;
  const toPerson = isBefore && refusal === undefined ? context : undefined;
  const shown = [forPerson, toPerson].filter(text => text !== undefined);
  const own = isBefore || context === undefined ? {} : { hookEventName: event, additionalContext: context };
  const parts = {
    ...(reason === undefined ? {} : { decision: "deny", reason }),
    ...(shown.length === 0 ? {} : { systemMessage: shown.join("\n") }),
    ...(Object.keys(own).length === 0 ? {} : { hookSpecificOutput: own }),
  };
  return { output: Object.keys(parts).length === 0 ? "" : JSON.stringify(parts) };
}
