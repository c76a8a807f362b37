/** Events of a session's life: it begins, goes on, ends. */
import type { HookAction } from "../../seam/plan.ts";
import { readSoFar, withInbox } from "../answers/inbox.ts";
import { startAnswer } from "../answers/start.ts";
import { field } from "../payload.ts";
import { begin, idle, mainOf, type Row, seen } from "../plan-parts.ts";
import { isMachineMade } from "./wake.ts";

/** After a compaction too: what the start told is forgotten by then, and nothing is lost; the turn may go on. */
export const sessionStart: Row = (event, actor, context) => {
  const { session } = actor;
  const cwd = field(event, "cwd");
  if (cwd === null) return idle;
  const rests = event["source"] === "compact" ? {} : { active: false };
  const actions: HookAction[] = [
    ...begin(event, actor, true),
    seen(mainOf(actor), { attention: null, ...rests }),
    { do: "look", session },
    readSoFar(mainOf(actor)),
  ];
  return { actions, answer: outcomes => startAnswer({ session, cwd }, context.socket, outcomes) };
};

/**
 * A new prompt shows that the turn before is over, even where an interruption left no event. A prompt typed into a
 * running turn carries that turn's id; one without id tells nothing about turns, so it ends none. Machine-made
 * prompts come with the session's id too: the holds of its agents stay.
 */
export const userPromptSubmit: Row = (event, actor, context) => {
  if (actor.agent !== undefined) return waitingEvent(event, actor, context);
  const prompt = field(event, "prompt_id");
  const ended: HookAction[] = prompt === null ? [] : [{ do: "turn_end", ...actor, keepPrompt: prompt }];
  const { session } = actor;
  const prompted = { do: "prompted", session, promptId: prompt, byPerson: !isMachineMade(event) } as const;
  const working = seen(actor, { active: true, attention: null });
  const actions = [...begin(event, actor), ...ended, working, prompted];
  return withInbox("UserPromptSubmit", actor, field(event, "cwd") ?? "", { actions });
};

/** After `clear` and `resume` the same process goes on under another id. */
export const sessionEnd: Row = (event, actor) => {
  const main = mainOf(actor);
  const cause = field(event, "reason") ?? "other";
  const goesOn = cause === "clear" || cause === "resume";
  return { actions: [goesOn ? { do: "suspend", ...main } : { do: "end", ...main, cause }] };
};

/** Whatever else happens shows that the session lives; late as it may come, it says nothing of its agents. */
export const otherEvent: Row = (_event, actor) => ({ actions: [seen(mainOf(actor))] });

/** An event that waits makes an unknown session known. */
export const waitingEvent: Row = (event, actor, context) => ({
  actions: [...begin(event, actor), ...otherEvent(event, actor, context).actions],
});
