/** What this machine hears of a step of the shared log: its events, with this machine's names. */

import type { KiteEvent } from "../../protocol/events.ts";
import type { ElsewhereEvent } from "../../protocol/work.ts";
import { nodeOf } from "../core/nodes/shared-ids.ts";
import type { State } from "../core/state.ts";
import type { Command, CoreEvent, Entry, Step } from "../core/tables/entries.ts";
import type { SharedNames } from "./names.ts";

/** Events that the own log has of its own sessions. */
const ofSessions: ReadonlySet<KiteEvent["event"]> = new Set<KiteEvent["event"]>([
  "session_started",
  "session_ended",
  "session_lost",
  "session_duplicated",
  "session_renamed",
  "role_changed",
  "declared",
]);

/**
 * Returns a step of the own log without its events of tasks and values that belong to the store. A move copies or removes
 * them here, but nobody ended or deleted them.
 */
export function ownEvents(step: Step, isShared: (project: string) => boolean): Step {
  const isMove = ({ event: { event }, project }: CoreEvent) =>
    (event.startsWith("task_") || event === "context_changed") && isShared(project);
  return step.events.some(isMove) ? { ...step, events: step.events.filter(one => !isMove(one)) } : step;
}

/**
 * Returns the events for each of this machine's projects that they are about; none of a project that is not shared here.
 * `isOnce`: only the first of several clones that share one name.
 */
export function eventsHere(
  events: readonly CoreEvent[],
  names: SharedNames,
  node: string,
  isOnce = false,
): readonly CoreEvent[] {
  return events.flatMap(({ event, about, project: shared, from }) => {
    if (from === node) return [];
    if (ofSessions.has(event.event) && about.every(id => nodeOf(id) === node)) return [];
    const projects = names.projectsOf(shared);
    return (isOnce ? projects.slice(0, 1) : projects).map(project => ({
      event: names.outward(event, project),
      about: about.map(id => names.outward(id, project)),
      project,
    }));
  });
}

/**
 * Returns an event for each project of this machine that a changed session of another machine is in. Its machine published
 * the session anew, or a role begins or ends to wait for it. Else returns nothing. `state`: the shared log's.
 */
export function toldElsewhere(
  { command }: Entry,
  names: SharedNames,
  node: string,
  state: State | null,
): ElsewhereEvent[] {
  const session = sessionIn(command);
  if (session === null || nodeOf(session) === node) return [];
  const project = state?.sessions.live.get(session)?.project ?? "";
  return names.projectsOf(project).map(own => ({ event: "elsewhere_changed", session, project: own }));
}

function sessionIn(command: Command): string | null {
  if (command.type === "role_send") return command.whose.session;
  if (command.type !== "relayed") return null;
  const { command: relayed } = command;
  return relayed.type === "session_begin" || relayed.type === "role_taken" ? relayed.session : null;
}
