/** Events of turns: an agent begins one, or ends it. The client waits for all of these. */

import { type Answer, nothing } from "../../plans/answers/answer.ts";
import { agentStartAnswer } from "../../plans/answers/first-context.ts";
import { readSoFar } from "../../plans/answers/inbox.ts";
import { readerOf } from "../../plans/answers/reader.ts";
import { type Actor, type Event, label } from "../../plans/event.ts";
import {
  agentOver,
  asTeammate,
  atWork,
  begin,
  idle,
  type Row,
  turnOver,
  waitingEvent,
} from "../../plans/plan-parts.ts";
import { answerAround, asksBefore } from "../../plans/points.ts";
import { before } from "../../plans/slices.ts";
import type { HookContext } from "../../seam/plan.ts";
import type { HookAction, HookOutcome } from "../../seam/slices.ts";
import { goneAgents } from "../agents.ts";
import { clientTask } from "./client-task.ts";

export const stop: Row = (event, actor) => {
  const isGone = actor.agent === undefined ? goneAgents(event) : null;
  const reconcile: HookAction[] = isGone === null ? [] : [{ do: "reconcile", ...actor, isGone }];
  const actions = [...begin(event, actor), ...gate(event, actor), ...turnOver(actor), ...reconcile];
  return { actions: [...actions, readSoFar(actor)], answer: stopAnswer };
};

/** An agent that goes on because a hook said so may stop now: no gate is asked twice in a row. */
function gate(event: Event, actor: Actor): readonly HookAction[] {
  return event.raw["stop_hook_active"] === true ? [] : asksBefore(before.stop, null, actor);
}

function stopAnswer(outcomes: readonly HookOutcome[]): Answer {
  return answerAround(before.stop, null, outcomes, () => nothing);
}

/** A subagent does not come back after an error; a teammate may be woken again. */
export const stopFailure: Row = (event, actor) => {
  const { agent } = actor;
  if (agent === undefined || !event.worker.isSubagent) return { actions: turnOver(actor, true) };
  return { actions: agentOver({ ...actor, agent }) };
};

/** Comes each time a teammate wakes. No field marks the first time: the daemon knows whether the agent is new to it. */
export const subagentStart: Row = (event, actor, context) => {
  const { session, agent } = actor;
  if (agent === undefined) return waitingEvent(event, actor, context);
  const peers: HookAction = { do: "list_peers", session, agent };
  const actions = [...begin(event, actor), peers, atWork(event, actor), readSoFar(actor)];
  const cwd = event.cwd ?? "";
  return { actions, answer: outcomes => agentStartAnswer({ session, cwd }, outcomes) };
};

/** A turn has ended, not the agent: it may go on, and teammates come back. */
export const subagentStop: Row = (event, actor, context) => {
  // The client's own helper for the summary of a compaction: no event reported its start.
  if (event.raw["agent_type"] === "") return idle;
  if (actor.agent === undefined) return waitingEvent(event, actor, context);
  const actions = [...begin(event, actor), ...gate(event, actor), ...turnOver(actor), readSoFar(actor)];
  return { actions, answer: stopAnswer };
};

/** A teammate in a pane is a session of its own. */
export const teammateIdle: Row = (event, actor) => ({
  actions: [
    ...begin(event, actor),
    ...asTeammate(event, actor),
    ...gate(event, actor),
    ...turnOver(actor),
    {
      do: "client_idle",
      session: actor.session,
      ...(actor.agent === undefined ? {} : { agent: actor.agent }),
      team: label(event, "team_name"),
    },
    readSoFar(actor),
  ],
  answer: stopAnswer,
});

/** A task of the client's own list: the event says which teammate adds it. A new task has no owner. */
export const taskCreated: Row = (event, actor, context) => ({
  actions: [...byTeammate(event, actor, context), ...clientTask(event, actor, "created")],
});

/** The client calls a task of its own list completed. It says so at each idle of the task's owner, too. */
export const taskCompleted: Row = (event, actor, context) => {
  const step = { ...readerOf(event, ""), cwd: event.cwd };
  return {
    actions: [
      ...byTeammate(event, actor, context),
      ...asksBefore(before.completion, step, actor),
      ...clientTask(event, actor, "completed"),
    ],
    answer: outcomes => answerAround(before.completion, step, outcomes, () => nothing),
  };
};

function byTeammate(event: Event, actor: Actor, context: HookContext): readonly HookAction[] {
  return [...waitingEvent(event, actor, context).actions, ...asTeammate(event, actor)];
}
