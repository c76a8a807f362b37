/** Which parts of the daemon hear of the log's steps. */
import type { Bound } from "../core/frame/actors.ts";
import type { Listener } from "../engine/listeners.ts";
import { inboxCommands, inboxEvent } from "../events/inbox-event.ts";
import { looksAfterWrites } from "../hooks/branch-looks.ts";
import { forgetEndedLists } from "../hooks/client-task-actions.ts";
import { wakingSteps } from "../hooks/wake.ts";
import { endedFlights } from "../rescue/compare.ts";
import { type Life, sessionEvents } from "../sessions/liveness.ts";
import { placesOf } from "../sessions/places.ts";
import { node, type OpenLog } from "./log.ts";
import type { Built } from "./services.ts";
import { leadFollowers, leadListeners } from "./slices.ts";

/** Adds them, in the order in which they hear. */
export function hearSteps(
  { engine, server, listeners, shared }: OpenLog,
  { services, git, unhooked }: Built,
  life: Life,
): void {
  const { hookLocks, hookWakes } = services;
  const isClosed = (bound: Bound) =>
    bound.node === node && bound.epoch === engine.epoch && !server.isOpen(bound.connection);
  const wakes: Listener = {
    ...wakingSteps,
    stepped: ({ command }, { events }) => hookWakes.stepped(command.type, events),
  };
  shared?.listeners.add(wakes);
  const followers = shared === null ? [] : leadFollowers.map(of => of(services));
  for (const follower of followers) shared?.listeners.add(follower.shared);
  const { events: hub } = services;
  if (shared !== null) listeners.add(looksAfterWrites(services));
  listeners.add(
    {
      commands: ["session_begin"],
      stepped: ({ command }) => {
        if (command.type !== "session_begin") return;
        git.workedIn(placesOf(command));
        // It may have moved to another project, of which no event tells.
        life.follow(command.session);
      },
    },
    {
      commands: ["session_begin", "session_end"],
      events: sessionEvents,
      stepped: ({ command }, { events }) => {
        // A session gets its process, and loses one of several, without an event.
        if (command.type === "session_begin" || command.type === "session_end") life.follow(command.session);
        for (const { event } of events) if ("id" in event) life.follow(event.id);
      },
    },
    {
      commands: ["lock_request"],
      events: ["lock_granted"],
      stepped: ({ command }, step) => hookLocks.locked(engine.state, command, step),
    },
    wakes,
    {
      commands: inboxCommands,
      stepped: entry => {
        const event = inboxEvent(entry, engine.state);
        if (event !== null) hub.tell({ ...event }, [event.by.id], event.project);
      },
    },
    {
      events: ["session_ended"],
      stepped: (_entry, { events }) => forgetEndedLists(services, events),
    },
    unhooked.sessions,
    ...(services.rescue === null ? [] : [endedFlights(services, services.rescue)]),
    ...leadListeners.map(of => of(services, isClosed)),
    ...followers.map(({ own }) => own),
  );
}
