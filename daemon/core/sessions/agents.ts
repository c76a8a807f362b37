/**
 * The agents within a session, by the names that people and other agents use.
 *
 * Invariants: an agent has at most one name, unique among those of its session that have not ended; a session keeps at
 * most `limits.agentsPerSessionMax` agents, and the names of `limits.endedAgentsMax` that ended, since their work and
 * their trail are still shown.
 */

import { limits } from "../../../protocol/limits.ts";
import type { BaseState, Session, Sessions } from "../base-state.ts";
import { compareAgain } from "../declarations/compare.ts";
import type { Handler } from "../rules.ts";
import { isShortId, shortId } from "./agent-names.ts";
import { keepAgentNames, nameAgent, removeAgent } from "./table.ts";

/** Whether an `agent_begin` with this name would change anything. */
export function needsName({ agents }: Session, agent: string, name: string | null): boolean {
  const known = agents.get(agent);
  if (known === undefined) return agents.size < limits.agentsPerSessionMax;
  return name !== null && name !== shortId(agent) && isShortId(known, agent);
}

/** Records an agent that began or whose name became known (a teammate's own, a subagent's type). Keeps an old name. */
export const agentBegin: Handler<"agent_begin"> = (state, { session: id, agent, name }, _meta, step) => {
  step.reply = { ok: true };
  const session = state.sessions.live.get(id);
  if (session === undefined || !needsName(session, agent, name)) return;
  // One that goes on after its end has its name again.
  const wanted = name ?? session.endedAgents.get(agent) ?? shortId(agent);
  nameAgent(state.sessions, session, agent, freeName(session, wanted));
  compareAgain(state, { session: id, agent }, step);
  for (const { agentBegins } of state.points) agentBegins?.(state, session);
};

/** An agent of the session ended; its name is kept, unless that is only made of its id. */
export function forgetAgent(state: BaseState, session: Session, agent: string): void {
  const name = session.agents.get(agent);
  removeAgent(state.sessions, session, agent);
  if (name !== undefined) keepNames(state, session, [[agent, name]]);
}

/** A session goes on under another id: its agents have ended. */
export function passAgentNames(state: BaseState, before: Session, id: string): void {
  const session = state.sessions.live.get(id);
  if (session !== undefined) keepNames(state, session, [...before.endedAgents, ...before.agents]);
}

function keepNames(
  state: BaseState,
  session: Session,
  names: readonly (readonly [agent: string, name: string])[],
): void {
  if (state.rules < 2) return;
  const said = names.filter(([agent, name]) => !isShortId(name, agent));
  keepAgentNames(state.sessions, session, said, state.limits.endedAgentsMax);
}

/** Returns `name`, or `name-2`, `name-3`... if other agents of the session have it. */
function freeName(session: Session, name: string): string {
  const taken = new Set(session.agents.values());
  let free = name;
  for (let n = 2; taken.has(free); n += 1) free = `${name}-${n}`;
  return free;
}

/** Whether the session lives and has the agent; null is its main agent. */
export function hasAgent({ live }: Sessions, session: string, agent: string | null): boolean {
  const known = live.get(session);
  return known !== undefined && (agent === null || known.agents.has(agent));
}
