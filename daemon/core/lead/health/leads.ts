/**
 * Which agents lead which: they are told of those that stall, and may give back what these have.
 *
 * Invariant: who is told may act, and the other way round, but for the bound on those told.
 */
import { limits } from "../../../../protocol/limits.ts";
import { noteKey, type Whose } from "../../messages/notice-table.ts";
import type { State } from "../../state.ts";
import { isLead, leadsOf as projectLeads } from "../roles/role-of.ts";
import { spawnAt } from "../spawns/table.ts";

/**
 * Whether `lead` leads `other`: the main agent of a session leads its agents, a team's lead its teammates with sessions of
 * their own, an agent those that it spawned, a lead its whole project.
 */
export function leads(state: State, lead: Whose, other: Whose): boolean {
  if (noteKey(lead) === noteKey(other)) return isLead(state, lead);
  const isNear = nearLeads(state, other).some(one => noteKey(one) === noteKey(lead));
  if (isNear) return true;
  const { live } = state.sessions;
  const project = live.get(lead.session)?.project;
  return project !== undefined && live.get(other.session)?.project === project && isLead(state, lead);
}

/**
 * Returns the live agents that lead this one, those that began it first; at most `limits.stalledToldMax`. `project`: where
 * it worked, if it has ended.
 */
export function leadsOf(
  state: State,
  whose: Whose,
  project = state.sessions.live.get(whose.session)?.project,
): Whose[] {
  const { live } = state.sessions;
  const found = new Map<string, Whose>();
  for (const one of nearLeads(state, whose)) if (live.has(one.session)) found.set(noteKey(one), one);
  for (const one of project === undefined ? [] : projectLeads(state, project, whose)) {
    if (found.size >= limits.stalledToldMax) break;
    found.set(noteKey(one), one);
  }
  return [...found.values()].slice(0, limits.stalledToldMax);
}

/** The agents that began this one: its session's main agent, its team's lead, and the one that spawned its session. */
function nearLeads({ teammates, spawns }: State, { session, agent }: Whose): Whose[] {
  const found: Whose[] = agent === null ? [] : [{ session, agent: null }];
  const lead = teammates.get(session)?.get(null)?.lead;
  if (lead !== undefined && lead !== session) found.push({ session: lead, agent: null });
  const parent = spawnAt(spawns, session)?.parent ?? null;
  if (parent === null) return found;
  found.push({ session: parent.id, agent: parent.agent });
  // An agent that spawned may have ended; its session's main agent answers for it.
  if (parent.agent !== null) found.push({ session: parent.id, agent: null });
  return found;
}
