/** Who is in a team, and who of them lives: what the client's file lists, and what Kite saw. */
import type { ClientTeams, NativeTeam } from "../../hooks/seam/teams.ts";
import type { Actor } from "../core/actor.ts";
import type { Session } from "../core/sessions/table.ts";
import type { State } from "../core/state.ts";
import type { MemberState } from "../core/teams/facts.ts";

/** An actor's place among the teams of its client. */
export interface Place {
  readonly team: string;
  /** The session that leads the team. */
  readonly lead: string;
  /** Its own name in the team; null: it is a subagent. */
  readonly name: string | null;
  readonly isLead: boolean;
  /** It runs within its lead's process. */
  readonly isInProcess: boolean;
}

/** The name of the team that a session leads or could lead: a cleared session keeps its members and their team. */
export function teamLedBy(state: State, client: ClientTeams, { id, members }: Session): string {
  for (const { session } of members.values()) {
    const team = state.sessions.live.get(session)?.teammates.get(null)?.team;
    if (team !== undefined) return team;
  }
  return client.teamOf(id);
}

/** Returns the place; a session that is no teammate leads the team that it has or could have. `called`: see `TeamGate`. */
export function placeOf(
  state: State,
  client: ClientTeams,
  session: Session,
  { agent }: Pick<Actor, "agent">,
  called: string | null,
): Place {
  const own = session.teammates.get(null);
  const name = agent === null ? null : (session.teammates.get(agent)?.name ?? called);
  if (own !== undefined) {
    const { team, lead = session.id } = own;
    return { team, lead, name: agent === null ? own.name : null, isLead: false, isInProcess: false };
  }
  const led = { team: teamLedBy(state, client, session), lead: session.id };
  if (agent === null) return { ...led, name: client.leadName, isLead: true, isInProcess: false };
  return { ...led, name, isLead: false, isInProcess: name !== null };
}

/** The members by name: those that the file lists, and those that Kite sees live. */
export function membersOf(
  state: State,
  client: ClientTeams,
  team: Pick<NativeTeam, "members"> | null,
  lead: string,
): Map<string, MemberState> {
  const leader = state.sessions.live.get(lead);
  const members = new Map<string, MemberState>();
  for (const { name } of team?.members ?? []) members.set(name, "unknown");
  for (const [name, { gone }] of leader?.members ?? [])
    if (gone === undefined || members.has(name)) members.set(name, gone === undefined ? "live" : "dead");
  for (const [agent, { name }] of leader?.teammates ?? []) if (agent !== null) members.set(name, "live");
  members.set(client.leadName, leader === undefined ? "unknown" : "live");
  return members;
}
