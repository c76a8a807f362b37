/**
 * Roles that agents are given.
 *
 * Invariants: only a person gives and takes roles, but for what begins an agent; a role that a person gave is replaced
 * by a person only; a given role ends with its agent or its session.
 */
import { refuse } from "../../../../protocol/codes.ts";
import { type Role, roles } from "../../../../protocol/lead/roles.ts";
import type { JsonValue } from "../../../../protocol/schemas/context.ts";
import { actorRow } from "../../locks/replies.ts";
import type { Whose } from "../../messages/notice-table.ts";
import { takeBack, tellLater } from "../../messages/notices.ts";
import { recipientOf } from "../../messages/recipients.ts";
import type { Traits } from "../../nodes/commands.ts";
import type { Step } from "../../outcome.ts";
import type { Handler } from "../../rules.ts";
import { hasAgent } from "../../sessions/agents.ts";
import { deleteAt, setAt } from "../../sessions/side-table.ts";
import type { State } from "../../state.ts";
import { declaredRole, roleOf, type Standing } from "./role-of.ts";
import type { GivenRole } from "./table.ts";

export const roleSet: Handler<"role_set", State> = (state, { by, name, role, project }, _meta, step) => {
  if (by !== null) {
    step.reply = personAlone;
    return;
  }
  const found = recipientOf(state, project, name, "no role given");
  if ("code" in found) {
    step.reply = found;
    return;
  }
  const whose = { session: found.id, agent: found.agent };
  step.reply = { ok: true, ...found, ...changeRole(state, whose, role, step) };
};

/** The refusal of a role that an agent would give. */
export const personAlone = refuse(
  "person_only",
  "only a person gives roles; declare your own in identity.role, or ask your user: kite role NAME ROLE",
);

/** Gives a live actor a person's role, or with null takes it back; tells the actor if that changes its role, and returns it. */
export function changeRole(state: State, whose: Whose, role: Role | null, step: Step): Standing {
  const before = roleOf(state, whose);
  if (role === null) setRole(state, whose, null);
  else giveRole(state, whose, role, "person");
  const now = roleOf(state, whose);
  if (now.role === before.role && now.by === before.by) return now;
  // Below level 3 an agent could hear of two roles at once, without a word which of them counts.
  if (state.rules >= 3) takeBack(state, whose, note => note.what === "role");
  tellLater(state, whose, { what: "role", role: now.role, by: now.by });
  const project = state.sessions.live.get(whose.session)?.project ?? "";
  const agent = actorRow(state, { ...whose, incarnation: 0 });
  const event = { event: "role_changed", agent, project, ...now } as const;
  step.events.push({ event, about: [whose.session], project });
  return now;
}

/**
 * Gives a live actor a role, and returns whether it has it now: no source but a person replaces what a person gave. The
 * step that registers a spawned agent calls it with `spawn`. It tells the actor nothing.
 */
export function giveRole(state: State, whose: Whose, role: Role, by: "person" | "spawn"): boolean {
  const { session, agent } = whose;
  if (!hasAgent(state.sessions, session, agent)) return false;
  if (by !== "person" && state.roles.get(session)?.get(agent)?.by === "person") return false;
  setRole(state, whose, { role, by });
  return true;
}

function setRole(state: State, { session, agent }: Whose, given: GivenRole | null): void {
  if (given === null) deleteAt(state.roles, session, agent);
  else setAt(state.roles, session, agent, given);
  for (const { actorChanges } of state.points) actorChanges?.(state, session, agent);
}

/** Returns the role that another node's log needs: the actor's own, as it was given or else declared. */
export function roleTrait(state: State, session: string, agent: string | null): Traits {
  const { role, by } = state.roles.get(session)?.get(agent) ?? declaredRole(state, { session, agent }) ?? {};
  return role === undefined || by === undefined ? {} : { role: { role, by } };
}

/** Gives the actor the role that its node tells of, in place of the one before. */
export function takeRole(state: State, session: string, agent: string | null, { role: told }: Traits): void {
  if (!hasAgent(state.sessions, session, agent)) return;
  setRole(state, { session, agent }, isGiven(told) ? { role: told.role, by: told.by } : null);
}

function isGiven(told: JsonValue | undefined): told is GivenRole & { readonly [field: string]: JsonValue } {
  if (typeof told !== "object" || told === null) return false;
  const { role, by } = told as { readonly [field: string]: JsonValue };
  return roles.some(one => one === role) && sources.some(one => one === by);
}

const sources: readonly JsonValue[] = ["person", "spawn", "declared"] satisfies GivenRole["by"][];

/** Yields one sentence per role of an agent that is none of its session. */
export function* checkRoles({ sessions, roles }: State): Generator<string> {
  for (const [id, all] of roles)
    for (const agent of all.keys())
      if (!hasAgent(sessions, id, agent)) yield `${agent} has a role and is no agent of ${id}`;
}
