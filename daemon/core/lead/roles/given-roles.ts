/**
 * Roles that agents are given.
 *
 * Invariants: only a person gives and takes roles, but for what begins an agent; a role that a person gave is replaced
 * by a person only; a given role ends with its agent or its session.
 */
import { refuse } from "../../../../protocol/codes.ts";
import type { Role } from "../../../../protocol/lead/roles.ts";
import type { Whose } from "../../messages/notice-table.ts";
import { tellLater } from "../../messages/notices.ts";
import { recipientOf } from "../../messages/recipients.ts";
import type { Handler } from "../../rules.ts";
import { hasAgent } from "../../sessions/agents.ts";
import { deleteAt, setAt } from "../../sessions/side-table.ts";
import type { State } from "../../state.ts";
import { roleOf } from "./role-of.ts";
import type { GivenRole } from "./table.ts";

export const roleSet: Handler<"role_set", State> = (state, { by, name, role, project }, _meta, step) => {
  if (by !== null) {
    const error =
      "only a person gives roles; declare your own in identity.role, or ask your user: kite role NAME ROLE";
    step.reply = refuse("person_only", error);
    return;
  }
  const found = recipientOf(state, project, name, "no role given");
  if ("code" in found) {
    step.reply = found;
    return;
  }
  const whose = { session: found.id, agent: found.agent };
  const before = roleOf(state, whose);
  if (role === null) deleteAt(state.roles, whose.session, whose.agent);
  else giveRole(state, whose, role, "person");
  const now = roleOf(state, whose);
  if (now.role !== before.role || now.by !== before.by) {
    tellLater(state, whose, { what: "role", role: now.role, by: now.by });
    const event = { event: "role_changed", agent: found, project, ...now } as const;
    step.events.push({ event, about: [found.id], project });
  }
  step.reply = { ok: true, ...found, ...now };
};

/**
 * Gives a live actor a role, and returns whether it has it now: no source but a person replaces what a person gave. The
 * step that registers a spawned agent calls it with `spawn`. It tells the actor nothing.
 */
export function giveRole(
  { sessions, roles }: State,
  { session, agent }: Whose,
  role: Role,
  by: GivenRole["by"],
): boolean {
  if (!hasAgent(sessions, session, agent)) return false;
  if (by !== "person" && roles.get(session)?.get(agent)?.by === "person") return false;
  setAt(roles, session, agent, { role, by });
  return true;
}

/** Yields one sentence per role of an agent that is none of its session. */
export function* checkRoles({ sessions, roles }: State): Generator<string> {
  for (const [id, all] of roles)
    for (const agent of all.keys())
      if (!hasAgent(sessions, id, agent)) yield `${agent} has a role and is no agent of ${id}`;
}
