/**
 * The role that an actor has now, and the leads of a project.
 *
 * Invariants: a given role counts before a declared one; one that a session's main agent was given counts for its other
 * agents, too, as far as they were given none; a declared word that names none of the table means the default role, and
 * none means that of a lead, which is given.
 */

import { defaultRole, type Role, type RoleBrief, type RoleSource } from "../../../../protocol/lead/roles.ts";
import { limits } from "../../../../protocol/limits.ts";
import { isLeadRole } from "../../declarations/role-words.ts";
import { actorRow } from "../../locks/replies.ts";
import { noteKey, type Whose } from "../../messages/notice-table.ts";
import { sessionsOf } from "../../sessions/table.ts";
import type { State } from "../../state.ts";
import { roleNamed } from "../declarations/mismatches.ts";
import type { GivenRole } from "./table.ts";

/** A role, and who gave it. */
export interface Standing {
  readonly role: Role;
  readonly by: RoleSource;
}

/** Returns the actor's role; an actor whose session is not alive has the default one. */
export function roleOf(state: State, whose: Whose): Standing {
  const given = givenRole(state, whose);
  return given ?? declaredRole(state, whose) ?? { role: defaultRole, by: "default" };
}

/** Returns the role that the actor's declaration names, or null. */
export function declaredRole({ declarations }: State, whose: Whose): GivenRole | null {
  const declared = declarations.live.get(noteKey(whose));
  const role = declared === undefined ? null : roleNamed(declared.role);
  return role === null ? null : { role, by: "declared" };
}

/** Returns the role that the actor was given, by itself or with its session's main agent. */
function givenRole({ roles }: State, { session, agent }: Whose): GivenRole | undefined {
  const known = roles.get(session);
  const own = known?.get(agent);
  if (own !== undefined && own.by !== "declared") return own;
  const main = known?.get(null);
  // The agents of a lead lead nobody, and what the main agent declares is its own role alone.
  const isPassed = main !== undefined && main.role !== "lead" && main.by !== "declared";
  return isPassed ? main : own;
}

/** Returns the actor's role as a field of its row; no field if it is the default one. */
export function roleField(state: State, whose: Whose): { readonly role?: RoleBrief } {
  const { role, by } = roleOf(state, whose);
  return by === "default" ? {} : { role: { role, by } };
}

/** Returns a sentence if the declared role does not count, because the actor was given another one. */
export function roleKept(state: State, declared: Whose & { readonly role: string }): string[] {
  const given = givenRole(state, declared);
  const said = roleNamed(declared.role);
  if (given === undefined || given.by === "declared" || said === null || said === given.role) return [];
  const who = given.by === "person" ? "your user gave you the role" : "you began with the role";
  return [
    `identity.role: ${who} ${given.role}, and that stands whatever you declare; to change it, ask your user: kite role NAME ${said}`,
  ];
}

/** Whether the actor itself was given the role of a lead. Under rules of level 1 it leads if it declares so. */
export function isLead({ rules, roles, declarations }: State, whose: Whose): boolean {
  if (rules >= 2) return roles.get(whose.session)?.get(whose.agent)?.role === "lead";
  return isLeadRole(declarations.live.get(noteKey(whose))?.role ?? "");
}

/** Returns the live actors that lead in this project, but for `except`. */
export function leadsOf(state: State, project: string, except: Whose | null = null): readonly Whose[] {
  if (state.rules < 2) return [...declaredLeads(state, project, except)];
  const found: Whose[] = [];
  for (const [session, given] of state.roles) {
    const { project: where, lostAt = null } = state.sessions.live.get(session) ?? {};
    if (where !== project || lostAt !== null) continue;
    for (const [agent, { role }] of given) {
      const isSelf = except !== null && noteKey({ session, agent }) === noteKey(except);
      if (role === "lead" && !isSelf) found.push({ session, agent });
    }
  }
  // The table's order is not that of the snapshot.
  return found.sort((a, b) => (noteKey(a) < noteKey(b) ? -1 : 1));
}

/** The same under rules of level 1: those that declared to lead. It visits these only. */
function* declaredLeads(state: State, project: string, except: Whose | null): Generator<Whose, void> {
  for (const key of state.declarations.leads.get(project) ?? []) {
    const one = state.declarations.live.get(key);
    const session = one === undefined ? undefined : state.sessions.live.get(one.session);
    if (one === undefined || session?.project !== project || session.lostAt !== null) continue;
    if (except !== null && noteKey(one) === noteKey(except)) continue;
    yield { session: one.session, agent: one.agent };
  }
}

/**
 * Whether a lead is alive in the project that may stand in for a person's yes to `by`: one of another session, since an
 * agent says no yes to its own work. Under rules of level 1 any other agent.
 */
export function hasLead(state: State, project: string, by: Whose | null = null): boolean {
  const leads = leadsOf(state, project, by);
  return state.rules < 2 ? leads.length > 0 : leads.some(({ session }) => session !== by?.session);
}

/** Returns a sentence if an agent declares to lead and was not given that role: its word is shown, and gives it nothing. */
export function leadUngiven(state: State, declared: Whose & { readonly role: string }): string[] {
  if (state.rules < 2 || !isLeadRole(declared.role) || isLead(state, declared)) return [];
  const { name } = actorRow(state, { ...declared, incarnation: 0 });
  return [
    `identity.role: ${declared.role} is shown to the others, and gives you no part in their work; that your user gives: kite role ${name} lead`,
  ];
}

/** Returns names of live actors of the project that have one of these roles: at most `limits.takersMax`. */
export function actorsWith(
  state: State,
  project: string,
  wanted: readonly Role[],
  except: Whose | null,
): string[] {
  const found: string[] = [];
  let scanned = 0;
  for (const { id, agents, lostAt } of sessionsOf(state.sessions, project)) {
    if (lostAt !== null) continue;
    for (const agent of [null, ...agents.keys()]) {
      if (found.length === limits.takersMax || scanned === limits.takersScannedMax) return found;
      scanned += 1;
      const whose = { session: id, agent };
      const isSelf = except !== null && noteKey(whose) === noteKey(except);
      if (!isSelf && wanted.includes(roleOf(state, whose).role))
        found.push(actorRow(state, { ...whose, incarnation: 0 }).name);
    }
  }
  return found;
}
