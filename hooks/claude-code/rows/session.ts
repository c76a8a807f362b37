/** Events of a session's life: it begins, goes on and ends. */

import type { Event } from "../../plans/event.ts";
import { mainOf, type Row, waitingEvent } from "../../plans/plan-parts.ts";
import { promptOf } from "../../plans/session.ts";
import { isWakeText } from "../../plans/wake.ts";

export const userPromptSubmit: Row = (event, actor, context) =>
  actor.agent === undefined
    ? promptOf(event, actor, !isMachineMade(event))
    : waitingEvent(event, actor, context);

/** After `clear` and `resume` the same process goes on under another id. */
export const sessionEnd: Row = (event, actor) => {
  const main = mainOf(actor);
  const cause = event.reason ?? "other";
  const goesOn = cause === "clear" || cause === "resume";
  return { actions: [goesOn ? { do: "suspend", ...main } : { do: "end", ...main, cause }] };
};

/**
 * Whether the client wrote the prompt itself: a wake-up, an agent's end, a teammate's message. A prompt from another
 * program looks like a person's.
 */
function isMachineMade(event: Event): boolean {
  const { prompt } = event.raw;
  if (typeof prompt !== "string") return false;
  return /^\s*<(?:task-notification|agent-message)[\s>]/.test(prompt) || isWakeText(prompt);
}
