/** What the agents within a session are called. */

import type { Actor } from "../actor.ts";
import type { BaseState } from "../base-state.ts";

/** Returns an unnamed agent's name: the first 8 characters of its id. */
export function shortId(id: string): string {
  return id.slice(0, 8);
}

/** Whether a name is only made of the agent's id: its client said none. */
export function isShortId(name: string, agent: string): boolean {
  return name === shortId(agent) || name.startsWith(`${shortId(agent)}-`);
}

/** Returns the name of an agent, also of one that ended, without its session's. */
export function agentName(state: BaseState, session: string, agent: string): string {
  const live = state.sessions.live.get(session);
  return live?.agents.get(agent) ?? live?.endedAgents.get(agent) ?? shortId(agent);
}

/** Returns who can answer for the actor: itself, or the main agent of its session once it has ended. */
export function answererOf({ sessions }: BaseState, actor: Actor): Actor {
  const hasEnded = actor.agent !== null && sessions.live.get(actor.session)?.endedAgents.has(actor.agent);
  return hasEnded === true ? { ...actor, agent: null } : actor;
}
