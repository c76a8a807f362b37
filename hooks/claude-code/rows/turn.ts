/** Events of turns: an agent begins one, or ends it. The client waits for all of these. */

import { nothing } from "../../plans/answers/answer.ts";
import { readSoFar } from "../../plans/answers/inbox.ts";
import { readerOf } from "../../plans/answers/reader.ts";
import { type Actor, type Event, label } from "../../plans/event.ts";
import {
  agentOver,
  asTeammate,
  begin,
  idle,
  type Row,
  turnOver,
  waitingEvent,
} from "../../plans/plan-parts.ts";
import { answerAround, asksBefore } from "../../plans/points.ts";
import { before } from "../../plans/slices.ts";
import { stopAnswer, stopGate, turnEnds } from "../../plans/turn.ts";
import type { HookContext } from "../../seam/plan.ts";
import type { HookAction } from "../../seam/slices.ts";
import { goneAgents } from "../agents.ts";
import { clientTask } from "./client-task.ts";

export const stop: Row = (event, actor) => {
  const isGone = actor.agent === undefined ? goneAgents(event) : null;
  const reconcile: HookAction[] = isGone === null ? [] : [{ do: "reconcile", ...actor, isGone }];
  return turnEnds(event, actor, reconcile);
};

/** A subagent does not come back after an error; a teammate may be woken again. */
export const stopFailure: Row = (event, actor) => {
  const { agent } = actor;
  if (agent === undefined || !event.worker.isSubagent) return { actions: turnOver(actor, true) };
  return { actions: agentOver({ ...actor, agent }) };
};

/** A turn has ended, not the agent: it may go on, and teammates come back. */
export const subagentStop: Row = (event, actor, context) => {
  // The client's own helper for the summary of a compaction: no event reported its start.
  if (event.raw["agent_type"] === "") return idle;
  if (actor.agent === undefined) return waitingEvent(event, actor, context);
  return turnEnds(event, actor);
};

/** A teammate in a pane is a session of its own. */
export const teammateIdle: Row = (event, actor) => ({
  actions: [
    ...begin(event, actor),
    ...asTeammate(event, actor),
    ...stopGate(event, actor),
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
