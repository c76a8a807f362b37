/** Which agents lead which: they are told of those that stall, and may give back what these have. */
import { limits } from "../../../protocol/limits.ts";
import { isLeadRole } from "../declarations/mismatches.ts";
import { noteKey, type Whose } from "../messages/notice-table.ts";
import { sessionsOf } from "../sessions/table.ts";
import type { State } from "../state.ts";

/** Whether the agent declared that it leads. */
function hasDeclaredLead({ declarations }: State, whose: Whose): boolean {
  return isLeadRole(declarations.live.get(noteKey(whose))?.role ?? "");
}

/** Whether `lead` leads `other`: the main agent of a session leads its agents, a declared lead its whole project. */
export function leads(state: State, lead: Whose, other: Whose): boolean {
  const { live } = state.sessions;
  const isOwn = lead.session === other.session;
  if (isOwn && lead.agent === null && other.agent !== null) return true;
  const project = live.get(lead.session)?.project;
  return (
    hasDeclaredLead(state, lead) && project !== undefined && live.get(other.session)?.project === project
  );
}

/** Returns the main agents that lead this one, its own session's first; at most `limits.leadsToldMax`. */
export function leadsOf(state: State, { session, agent }: Whose): Whose[] {
  const found: Whose[] = agent === null ? [] : [{ session, agent: null }];
  const project = state.sessions.live.get(session)?.project;
  for (const { id } of project === undefined ? [] : sessionsOf(state.sessions, project)) {
    if (found.length >= limits.leadsToldMax) break;
    const one = { session: id, agent: null };
    if (id !== session && hasDeclaredLead(state, one)) found.push(one);
  }
  return found;
}
