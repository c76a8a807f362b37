/**
 * Who else is there to speak in a debate.
 *
 * Invariants: a lost session is not there; an agent that a session's main agent started, and waits for, is no other one
 * than the main agent, but a teammate is. An agent is alone if nobody else is there.
 */
import { limits } from "../../../../protocol/limits.ts";
import type { ActorRow } from "../../../../protocol/schemas/lock.ts";
import { quote } from "../../../../protocol/text.ts";
import type { Actor } from "../../actor.ts";
import { allAt } from "../../sessions/side-table.ts";
import { type Session, sessionsOf } from "../../sessions/table.ts";
import type { State } from "../../state.ts";
import type { Debate } from "./table.ts";

/** Returns the others in the project that could speak, at most as many as a refusal names; empty: the agent is alone. */
export function othersThere(
  { sessions, teammates }: State,
  project: string,
  { session, agent }: Actor,
): ActorRow[] {
  const rows: ActorRow[] = [];
  const own = sessions.live.get(session);
  if (own !== undefined) rows.push(...besides(own, allAt(teammates, session), agent));
  for (const { id, name, lostAt } of sessionsOf(sessions, project)) {
    if (rows.length >= limits.recipientsNamedMax) break;
    if (id !== session && lostAt === null) rows.push({ id, agent: null, name });
  }
  return rows.slice(0, limits.recipientsNamedMax);
}

/** Returns how a debate goes on that waits for others than the agent; `verdict` is a hypothesis's name. */
export function waysOn({ id }: Debate, others: readonly ActorRow[], verdict: string): string {
  const names = others.map(({ name }) => name).join(", ");
  const force = `a person can force it: kite debate close ${id} --verdict ${quote(verdict)} --because WHY --force`;
  return `here now: ${names}; or ${force}`;
}

/** Returns the teammates in the agent's own session, and its main agent if the agent is a teammate. */
function besides(
  { id, name, agents }: Session,
  teammates: ReadonlyMap<string | null, unknown>,
  agent: string | null,
): ActorRow[] {
  const rows: ActorRow[] = [];
  if (agent !== null && teammates.has(agent)) rows.push({ id, agent: null, name });
  for (const [other, called] of agents)
    if (other !== agent && teammates.has(other)) rows.push({ id, agent: other, name: `${name}/${called}` });
  return rows;
}
