/** What commands cost, so that one turn of the event loop stores and applies a bounded part of many. */
import { limits } from "../../protocol/limits.ts";
import type { BaseState } from "./base-state.ts";
import type { Command } from "./commands.ts";
import { countOfSession } from "./locks/by-actor.ts";
import { everyone } from "./messages/send.ts";
import { countPresent } from "./sessions/present.ts";

/** Returns roughly how many rows the command will change, at least 1: locks, tasks, letters. It visits none of them. */
export function costOf(state: BaseState, command: Command): number {
  switch (command.type) {
    case "lock_request":
      return Math.max(1, command.files.length);
    case "lock_release":
      return 1 + (command.files === "all" ? lockCost(state, command.actor.session) : command.files.length);
    case "session_end":
    case "session_suspend":
      return endCost(state, command.session);
    case "elapse":
      return "session" in command.due ? endCost(state, command.due.session) : 1;
    case "task_create":
    case "task_import":
    case "task_remove":
      return Math.max(1, command.tasks.length);
    case "message_send":
      return command.to === everyone ? 1 + countPresent(state.sessions, command.project) : 1;
    case "broadcast":
      return 1 + countPresent(state.sessions, command.project);
    default:
      return 1;
  }
}

function endCost(state: BaseState, session: string): number {
  let letters = 0;
  for (const key of state.messages.bySession.get(session) ?? [])
    letters += state.messages.inboxes.get(key)?.all.size ?? 0;
  return limits.sessionEndCost + lockCost(state, session) + letters;
}

function lockCost({ locks }: BaseState, session: string): number {
  const { held, queued } = countOfSession(locks.actors, session);
  return held + queued;
}
