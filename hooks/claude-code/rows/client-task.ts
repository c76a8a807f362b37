/** Tasks of the client's own list, as its events report them. */

import { limits } from "../../../protocol/limits.ts";
import { type Actor, type Event, label } from "../../plans/event.ts";
import type { HookAction } from "../../seam/slices.ts";
import { teamOf } from "../agents.ts";

type ClientTask = Extract<HookAction, { do: "client_task" }>;

/**
 * What the event says of a task; nothing if it names none. Events of the lead name no team, those of its teammates do,
 * and all mean one list: that of the team that the lead's session has, or would have.
 */
export function clientTask(
  event: Event,
  { session, agent }: Actor,
  state: ClientTask["state"],
): readonly ClientTask[] {
  const task = label(event, "task_id");
  if (task === null) return [];
  const own = teamOf(session);
  const list = label(event, "team_name") ?? own;
  return [
    {
      do: "client_task",
      session,
      ...(agent === undefined ? {} : { agent }),
      list,
      isOwnList: list === own,
      task,
      subject: subjectOf(event),
      owner: state === "completed" ? label(event, "teammate_name") : null,
      state,
    },
  ];
}

function subjectOf(event: Event): string {
  const subject = event.raw["task_subject"];
  return typeof subject === "string" ? subject.slice(0, limits.clientSubjectChars) : "";
}
