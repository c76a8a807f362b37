/** What other nodes have to know of a session and its agents, as these are now. */

import type { Traits } from "../nodes/commands.ts";
import type { BaseState, Session } from "../tables/base-state.ts";
import type { PublishedAgent, PublishedSession } from "./table.ts";

/** Returns what others have to know of an incarnation of the session as it is now. */
export function sessionNow(
  state: BaseState,
  session: Session,
  { id, begun, project }: Pick<PublishedSession, "id" | "begun" | "project">,
): PublishedSession {
  const { name, branch, client } = session;
  const kind = {
    ...(client === undefined ? {} : { client }),
    ...(session.lostAt === null ? {} : ({ isLost: true } as const)),
  };
  return {
    id,
    session: session.id,
    begun,
    project,
    name,
    branch,
    ...kind,
    ...traitsOf(state, session.id, null),
  };
}

/** The same of an agent within it. */
export function agentNow(state: BaseState, session: Session, id: string, agent: string): PublishedAgent {
  return { id, agent, name: session.agents.get(agent) ?? "", ...traitsOf(state, session.id, agent) };
}

/** Returns what slices know of an actor that others need, as a field; no field if that is nothing. */
export function traitsOf(
  state: BaseState,
  session: string,
  agent: string | null,
): { readonly traits?: Traits } {
  const traits: Traits = Object.assign(
    {},
    ...state.points.map(points => points.traitsOf?.(state, session, agent)),
  );
  return Object.keys(traits).length === 0 ? {} : { traits };
}
