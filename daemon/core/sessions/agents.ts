/**
 * The agents within a session, by the names that people and other agents use.
 *
 * Invariants: an agent has at most one name, unique in its session; a name lasts until its agent or its session ends;
 * a session keeps at most `limits.agentsPerSessionMax` agents.
 */

import { limits } from "../../../protocol/limits.ts";
import type { Session, Sessions } from "../base-state.ts";
import { compareAgain } from "../declarations/compare.ts";
import type { Handler } from "../rules.ts";
import { isShortId, shortId } from "./agent-names.ts";
import { nameAgent } from "./table.ts";

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
  nameAgent(state.sessions, session, agent, freeName(session, name ?? shortId(agent)));
  compareAgain(state, { session: id, agent }, step);
};

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
