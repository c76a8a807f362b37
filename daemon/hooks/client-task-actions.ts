/** The actions on tasks of the client's own list, and the end of such a list. */
import type { HookOutcome } from "../../hooks/seam/slices.ts";
import type { KiteEvent } from "../../protocol/events.ts";
import type { ActionOf, Run } from "./action.ts";
import type { HookServices } from "./hook-services.ts";

/** A session that is not live reports nothing: its event came late, and its list has ended. */
export function clientTask({ services }: Run, action: ActionOf<"client_task">): HookOutcome {
  const { session, agent = null, list, isOwnList, task, subject, owner, state } = action;
  const { engine, clock, clientTasks } = services;
  const project = engine.state.sessions.live.get(session)?.project;
  if (project !== undefined) {
    const said = { list, isOwnList, task, subject, owner, state, project };
    clientTasks.report({ ...said, actor: { session, agent }, wallMs: clock.wall() });
  }
  return { did: "client_task", ok: true };
}

export function clientIdle({ services }: Run, action: ActionOf<"client_idle">): HookOutcome {
  const { session, agent = null, team } = action;
  services.clientTasks.idle({ session, agent });
  if (team !== null) for (const part of services.points.teamIdle) part.teamIdle(services, team);
  return { did: "client_idle", ok: true };
}

/** Forgets the lists of sessions that ended in a step; the trail says how many of their tasks were open. */
export function forgetEndedLists(
  { clientTasks, recorder, clock }: Pick<HookServices, "clientTasks" | "recorder" | "clock">,
  events: readonly { readonly event: KiteEvent }[],
): void {
  for (const { event } of events) {
    if (event.event !== "session_ended") continue;
    const { id, name, project } = event;
    for (const { list, tasks, open } of clientTasks.sessionEnded(id)) {
      const why = `the client's own task list ${list} ended with ${open} of ${tasks} tasks open`;
      const line = { at: clock.wall(), event: "client_task", id, agent: null, name, project, type: null };
      recorder.note({ ...line, file: null, decision: "note", rule: "client_task", why });
    }
  }
}
