/**
 * The agents within a session, by the names that people and other agents use.
 *
 * Invariants: an agent has at most one name, and no two agents of a session have the same one; a name lasts as long as
 * its agent, or its session; at most `limits.agentsPerSessionMax` agents of a session are known.
 */
import { limits } from "../../../protocol/limits.ts";
import type { Handler } from "../handler.ts";
import type { Session, State } from "../state.ts";
import { nameAgent } from "./table.ts";

/** The name of an agent nobody named: the beginning of its id. */
export function shortId(id: string): string {
  return id.slice(0, 8);
}

/** What people call the agent, without its session's name. */
export function agentName(state: State, session: string, agent: string): string {
  return state.sessions.live.get(session)?.agents.get(agent) ?? shortId(agent);
}

/** Whether an `agent_begin` with this name would change anything. */
export function needsName({ agents }: Session, agent: string, name: string | null): boolean {
  const known = agents.get(agent);
  if (known === undefined) return agents.size < limits.agentsPerSessionMax;
  return name !== null && name !== shortId(agent) && isShortId(known, agent);
}

/** The agent began, or its name became known: a teammate's own, a subagent's type. A name that it has stays. */
export const agentBegin: Handler<"agent_begin"> = (state, { session: id, agent, name }, _meta, step) => {
  step.reply = { ok: true };
  const session = state.sessions.live.get(id);
  if (session === undefined || !needsName(session, agent, name)) return;
  nameAgent(state.sessions, session, agent, freeName(session, name ?? shortId(agent)));
};

function isShortId(name: string, agent: string): boolean {
  return name === shortId(agent) || name.startsWith(`${shortId(agent)}-`);
}

/** `name`, or `name-2`, `name-3`... if other agents of the session have it. */
function freeName(session: Session, name: string): string {
  const taken = new Set(session.agents.values());
  let free = name;
  for (let n = 2; taken.has(free); n += 1) free = `${name}-${n}`;
  return free;
}
