/**
 * Teammates: members of a team, as their client names them. A teammate is an agent within its lead's session, or a session
 * of its own (`agent` is null).
 *
 * Invariant: a session keeps teammates only of the agents that it has, and of its main agent.
 */
import { compareAgain } from "../declarations/compare.ts";
import type { Handler } from "../handler.ts";
import type { Session } from "../state.ts";
import type { Teammate } from "./table.ts";

/** Whether a `teammate_named` with this would change anything. */
export function needsTeammate(session: Session, agent: string | null, { name, team }: Teammate): boolean {
  if (agent !== null && !session.agents.has(agent)) return false;
  const known = session.teammates.get(agent);
  return known?.name !== name || known.team !== team;
}

/** Records a teammate's own name and its team. */
export const teammateNamed: Handler<"teammate_named"> = (
  state,
  { session: id, agent, name, team },
  _meta,
  step,
) => {
  step.reply = { ok: true };
  const session = state.sessions.live.get(id);
  if (session === undefined || !needsTeammate(session, agent, { name, team })) return;
  session.teammates.set(agent, { name, team });
  compareAgain(state, { session: id, agent }, step);
};
