/** Whether a session leads agents that are at work: then it is told if one of them stalls. */
import { leads } from "../../core/lead/health.ts";
import { isFinal } from "../../core/lead/tables/spawns.ts";
import type { State } from "../../core/state.ts";
import { allAt, sessionsOf } from "../../core/tables/sessions.ts";
import type { PresenceTable } from "../../sessions/presence.ts";

interface Source {
  readonly engine: { readonly state: State };
  readonly presence: PresenceTable;
}

/** Costs what its project has of sessions and their agents in a turn. */
export function leadsAtWork({ engine: { state }, presence }: Source, id: string): boolean {
  const lead = { session: id, agent: null };
  const session = state.sessions.live.get(id);
  if (session === undefined) return false;
  const spawned = [...(state.spawns.live.get(session.project) ?? [])].map(key => state.spawns.all.get(key));
  // One that starts has no session yet.
  const isStarting = spawned.some(
    one => one?.parent?.id === id && one.session === null && !isFinal(one.state),
  );
  if (isStarting) return true;
  const members = [...allAt(state.members, id).values()].flatMap(
    ({ session: member }) => state.sessions.live.get(member) ?? [],
  );
  const near = new Set([...members, ...sessionsOf(state.sessions, session.project)]);
  for (const { id: other } of near) {
    const row = presence.of(other);
    for (const [agent, { active }] of [[null, row] as const, ...row.agents]) {
      const isSelf = other === id && agent === null;
      if (active && !isSelf && leads(state, lead, { session: other, agent })) return true;
    }
  }
  return false;
}
