/** A session begins, a prompt comes, and a session ends, whichever client says so. */
import type { HookAction } from "../seam/slices.ts";
import { withContext } from "./answers/answer.ts";
import { promptAnswer, startAnswer } from "./answers/first-context.ts";
import { readSoFar, withInbox } from "./answers/inbox.ts";
import type { Actor, Event } from "./event.ts";
import { begin, heartbeat, idle, mainOf, type Plan, type Row } from "./plan-parts.ts";

/** What a session of a client is told whose events do not name the subagent that acts. */
const sharedLocks =
  "Kite: it cannot tell your subagents apart: you all share your locks. Let one of you at a time edit a file.";

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
  const { tellsSubagents } = event.client.limits;
  const answer: Plan["answer"] = outcomes => {
    const said = startAnswer({ session, cwd }, context.socket, outcomes);
    return tellsSubagents ? said : withContext(said, sharedLocks);
  };
  return { actions, answer };
};

/**
 * A new prompt shows that the turn before is over, even if an interruption left no event. A prompt typed into a running
 * turn carries that turn's id. A prompt without an id ends no turn, unless the client's limits say that it does.
 * Machine-made prompts carry the session's id, too: its agents keep their locks.
 */
export function promptOf(event: Event, actor: Actor, byPerson: boolean): Plan {
  const { prompt } = event;
  const named: HookAction[] = prompt === null ? [] : [{ do: "turn_end", ...actor, keepPrompt: prompt }];
  const isOver = prompt === null && event.client.limits.promptsEndTurns;
  const ended: HookAction[] = isOver ? [{ do: "turn_end", ...actor }] : named;
  const prompted = {
    do: "prompt_submitted",
    ...mainOf(actor),
    promptId: prompt,
    byPerson,
  } as const;
  const working = heartbeat(actor, { active: true, attention: null });
  const { session } = actor;
  const changes = { do: "list_peers", session, changesOnly: true } as const;
  const actions = [...begin(event, actor), ...ended, working, prompted, changes];
  const cwd = event.cwd ?? "";
  const answer: Plan["answer"] = outcomes => promptAnswer(cwd, outcomes);
  return withInbox(event, actor, cwd, { actions, answer });
}

/** The session ends, and its agents with it. */
export const sessionEnd: Row = (event, actor) => ({
  actions: [{ do: "end", ...mainOf(actor), cause: event.reason ?? "other" }],
});
