/** Events of a session's life: it begins, goes on and ends. */

import { mainOf, type Row, waitingEvent } from "../../plans/plan-parts.ts";
import { promptOf } from "../../plans/session.ts";
import { isMachineMade } from "./wake.ts";

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
