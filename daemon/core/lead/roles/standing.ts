/**
 * The role that an actor has now, and the leads of a project.
 *
 * Invariants: a given role counts before a declared one; one that a session's main agent was given counts for its other
 * agents, too, as far as they were given none; a declared word that names none of the table means the default role.
 */

import { defaultRole, type Role, type RoleBrief, type RoleSource } from "../../../../protocol/lead/roles.ts";
import { limits } from "../../../../protocol/limits.ts";
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
  if (given !== undefined) return given;
  const declared = state.declarations.live.get(noteKey(whose));
  const role = declared === undefined ? null : roleNamed(declared.role);
  return role === null ? { role: defaultRole, by: "default" } : { role, by: "declared" };
}

/** Returns the role that the actor was given, by itself or with its session's main agent. */
function givenRole({ roles }: State, { session, agent }: Whose): GivenRole | undefined {
  const known = roles.get(session);
  return known?.get(agent) ?? known?.get(null);
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
  if (given === undefined || said === null || said === given.role) return [];
  const who = given.by === "person" ? "your user gave you the role" : "you began with the role";
  return [
    `identity.role: ${who} ${given.role}, and that stands whatever you declare; to change it, ask your user: kite role NAME ${said}`,
  ];
}

/** Yields the live actors that declared to lead in this project, but for `except`. It visits the declared leads only. */
export function* leadsOf(state: State, project: string, except: Whose | null = null): Generator<Whose, void> {
  for (const key of state.declarations.leads.get(project) ?? []) {
    const one = state.declarations.live.get(key);
    const session = one === undefined ? undefined : state.sessions.live.get(one.session);
    if (one === undefined || session?.project !== project || session.lostAt !== null) continue;
    if (except !== null && noteKey(one) === noteKey(except)) continue;
    yield { session: one.session, agent: one.agent };
  }
}

/** Whether a lead other than `except` is alive in the project. */
export function hasLead(state: State, project: string, except: Whose | null = null): boolean {
  return leadsOf(state, project, except).next().done !== true;
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
