/** What the agents within a session are called. */

import type { BaseState } from "../base-state.ts";

/** Returns an unnamed agent's name: the first 8 characters of its id. */
export function shortId(id: string): string {
  return id.slice(0, 8);
}

/** Whether a name is only made of the agent's id: its client said none. */
export function isShortId(name: string, agent: string): boolean {
  return name === shortId(agent) || name.startsWith(`${shortId(agent)}-`);
}

/** Returns the agent's name, without its session's. */
export function agentName(state: BaseState, session: string, agent: string): string {
  return state.sessions.live.get(session)?.agents.get(agent) ?? shortId(agent);
}
