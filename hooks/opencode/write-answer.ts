/** Writes an answer as the JSON that the plugin reads. */
import type { Answer } from "../plans/answers/answer.ts";
import type { HookPlan } from "../seam/plan.ts";
import type { Words } from "./words.ts";

/** The plugin gives shell commands their variables itself. */
export function writeAnswer({
  denial,
  block,
  context,
  forPerson,
  wakes,
}: Answer): ReturnType<HookPlan["answer"]> {
  const goOn = block ?? wakes;
  const words: Words = {
    ...(denial === undefined ? {} : { deny: denial }),
    ...(context === undefined ? {} : { context }),
    ...(forPerson === undefined ? {} : { person: forPerson }),
    ...(goOn === undefined ? {} : { goOn }),
  };
  return { output: Object.keys(words).length === 0 ? "" : JSON.stringify(words) };
}
