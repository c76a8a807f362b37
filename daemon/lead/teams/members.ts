/** Who is in a team, and who of them lives: what the client's file lists, and what Kite saw. */
import type { ClientTeams, NativeTeam } from "../../../hooks/seam/teams.ts";
import type { Actor } from "../../core/frame/actors.ts";
import type { Member } from "../../core/lead/tables/roles.ts";
import type { MemberState } from "../../core/lead/teams.ts";
import type { State } from "../../core/state.ts";
import type { Session } from "../../core/tables/sessions.ts";
import { allAt } from "../../core/tables/sessions.ts";

/** An actor's place among the teams of its client. */
export interface Place {
  readonly team: string;
  /** The session that leads the team. */
  readonly lead: string;
  /** Its own name in the team; null: it is a subagent. */
  readonly name: string | null;
  /** The member for which it works: itself, or the one whose subagent it is; `agent` as in its session. */
  readonly member: { readonly agent: string | null; readonly name: string };
  /** That member leads the team. */
  readonly isLead: boolean;
  /** It runs within its lead's process. */
  readonly isInProcess: boolean;
}

/** The name of the team that a session leads or could lead: a cleared session keeps its members and their team. */
export function teamLedBy(state: State, client: ClientTeams, { id }: Session): string {
  for (const { session } of allAt(state.members, id).values()) {
    const team = state.teammates.get(session)?.get(null)?.team;
    if (team !== undefined) return team;
  }
  return client.teamOf(id);
}

/**
 * Returns the place; a session that is no teammate leads the team that it has or could have. `called`: see `TeamGate`.
 * `ancestors`: the agents that began this one, as far as they are known.
 */
export function placeOf(
  state: State,
  client: ClientTeams,
  session: Session,
  { agent }: Pick<Actor, "agent">,
  called: string | null,
  ancestors: readonly (string | null)[],
): Place {
  const teammates = allAt(state.teammates, session.id);
  const own = teammates.get(null);
  if (own !== undefined) {
    const { team, lead = session.id, name } = own;
    const member = { agent: null, name };
    return { team, lead, name: agent === null ? name : null, member, isLead: false, isInProcess: false };
  }
  const led = { team: teamLedBy(state, client, session), lead: session.id };
  for (const one of [agent, ...ancestors]) {
    const name = one === null ? null : (teammates.get(one)?.name ?? (one === agent ? called : null));
    if (name === null) continue;
    const isIt = one === agent;
    const member = { agent: one, name };
    return { ...led, name: isIt ? name : null, member, isLead: false, isInProcess: isIt };
  }
  const { leadName } = client;
  const member = { agent: null, name: leadName };
  return { ...led, name: agent === null ? leadName : null, member, isLead: true, isInProcess: false };
}

/** The members with sessions of their own by name: as their lead keeps them, or after its end as they say themselves. */
export function panesOf({ sessions, teammates, members }: State, lead: string): ReadonlyMap<string, Member> {
  if (sessions.live.has(lead)) return allAt(members, lead);
  const panes = new Map<string, Member>();
  for (const session of sessions.live.keys()) {
    const own = teammates.get(session)?.get(null);
    if (own?.lead === lead) panes.set(own.name, { session });
  }
  return panes;
}

/** The members by name: those that the file lists, and those that Kite sees live. */
export function membersOf(
  state: State,
  client: ClientTeams,
  team: Pick<NativeTeam, "members"> | null,
  lead: string,
): Map<string, MemberState> {
  const members = new Map<string, MemberState>();
  for (const { name } of team?.members ?? []) members.set(name, "unknown");
  for (const [name, { gone }] of panesOf(state, lead))
    if (gone === undefined || members.has(name)) members.set(name, gone === undefined ? "live" : "dead");
  for (const [agent, { name }] of allAt(state.teammates, lead)) if (agent !== null) members.set(name, "live");
  members.set(client.leadName, state.sessions.live.has(lead) ? "live" : "unknown");
  return members;
}
