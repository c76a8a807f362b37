/** An agent's turn ends, and an agent starts within a session, whichever client says so. */
import type { HookAction, HookOutcome } from "../seam/slices.ts";
import { type Answer, nothing } from "./answers/answer.ts";
import { agentStartAnswer } from "./answers/first-context.ts";
import { readSoFar } from "./answers/inbox.ts";
import type { Actor, Event } from "./event.ts";
import { atWork, begin, type Plan, type Row, turnOver, waitingEvent } from "./plan-parts.ts";
import { answerAround, asksBefore } from "./points.ts";
import { before } from "./slices.ts";

/** The actor's turn ends, unless a gate has it go on; `also` comes when it has ended. */
export function turnEnds(event: Event, actor: Actor, also: readonly HookAction[] = []): Plan {
  const actions = [...begin(event, actor), ...stopGate(event, actor), ...turnOver(actor), ...also];
  return { actions: [...actions, readSoFar(actor)], answer: stopAnswer };
}

/** An agent that goes on because a hook said so may stop now: no gate is asked twice in a row. */
export function stopGate(event: Event, actor: Actor): readonly HookAction[] {
  return event.raw["stop_hook_active"] === true ? [] : asksBefore(before.stop, null, actor);
}

export function stopAnswer(outcomes: readonly HookOutcome[]): Answer {
  return answerAround(before.stop, null, outcomes, () => nothing);
}

/** Comes each time a teammate wakes. No field marks the first time: the daemon knows whether the agent is new to it. */
export const subagentStart: Row = (event, actor, context) => {
  const { session, agent } = actor;
  if (agent === undefined) return waitingEvent(event, actor, context);
  const peers: HookAction = { do: "list_peers", session, agent };
  const actions = [...begin(event, actor), peers, atWork(event, actor), readSoFar(actor)];
  const cwd = event.cwd ?? "";
  return { actions, answer: outcomes => agentStartAnswer({ session, cwd }, outcomes) };
};
