/** What the agents within a session are called, and what their client says of them. */

import type { BaseState } from "../base-state.ts";
import type { Whose } from "../messages/notice-table.ts";

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

/** What an agent client says of an agent; null where it says nothing. */
export interface ClientWord {
  /** A teammate's own name, or a subagent's type, with a number if others of its session have it. */
  readonly name: string | null;
  readonly team: string | null;
}

/** Returns what the client says of an agent. */
export function clientWord(state: BaseState, { session: id, agent }: Whose): ClientWord {
  const session = state.sessions.live.get(id);
  const teammate = session?.teammates.get(agent);
  if (teammate !== undefined) return teammate;
  const name = agent === null ? undefined : session?.agents.get(agent);
  const isSaid = name !== undefined && agent !== null && !isShortId(name, agent);
  return { name: isSaid ? name : null, team: null };
}
