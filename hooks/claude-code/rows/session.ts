/** Events of a session's life: it begins, goes on and ends. */

import { promptAnswer, startAnswer } from "../../plans/answers/first-context.ts";
import { readSoFar, withInbox } from "../../plans/answers/inbox.ts";
import { begin, heartbeat, idle, mainOf, type Plan, type Row, waitingEvent } from "../../plans/plan-parts.ts";
import type { HookAction } from "../../seam/slices.ts";
import { isMachineMade } from "./wake.ts";

/** Also runs after a compaction: the model has lost what the start told it, while its turn may go on. */
export const sessionStart: Row = (event, actor, context) => {
  const { session } = actor;
  const { cwd } = event;
  if (cwd === null) return idle;
  const isCompacted = event.raw["source"] === "compact";
  const rests = isCompacted ? {} : { active: false };
  const actions: HookAction[] = [
    ...begin(event, actor, true),
    heartbeat(mainOf(actor), { attention: null, ...rests }),
    ...(isCompacted ? [{ do: "context_lost", ...actor } as const] : []),
    { do: "list_peers", session },
    readSoFar(mainOf(actor)),
  ];
  return { actions, answer: outcomes => startAnswer({ session, cwd }, context.socket, outcomes) };
};

/**
 * A new prompt shows that the turn before is over, even if an interruption left no event. A prompt typed into a running
 * turn carries that turn's id. A prompt without an id tells nothing about turns, so it ends none. Machine-made prompts
 * carry the session's id, too: its agents keep their locks.
 */
export const userPromptSubmit: Row = (event, actor, context) => {
  if (actor.agent !== undefined) return waitingEvent(event, actor, context);
  const { prompt } = event;
  const ended: HookAction[] = prompt === null ? [] : [{ do: "turn_end", ...actor, keepPrompt: prompt }];
  const prompted = {
    do: "prompt_submitted",
    ...mainOf(actor),
    promptId: prompt,
    byPerson: !isMachineMade(event),
  } as const;
  const working = heartbeat(actor, { active: true, attention: null });
  const { session } = actor;
  const changes = { do: "list_peers", session, changesOnly: true } as const;
  const actions = [...begin(event, actor), ...ended, working, prompted, changes];
  const cwd = event.cwd ?? "";
  const answer: Plan["answer"] = outcomes => promptAnswer(cwd, outcomes);
  return withInbox(event, actor, cwd, { actions, answer });
};

/** After `clear` and `resume` the same process goes on under another id. */
export const sessionEnd: Row = (event, actor) => {
  const main = mainOf(actor);
  const cause = event.reason ?? "other";
  const goesOn = cause === "clear" || cause === "resume";
  return { actions: [goesOn ? { do: "suspend", ...main } : { do: "end", ...main, cause }] };
};
