/**
 * Roles that a person gives to agents of another machine: the shared log keeps each until the agent's own node has given it.
 *
 * Invariants: the node's own log decides which role its agents have; it gives each such role once, and tells the shared log so
 * in the entry that gives it; of several the latest counts; one that waits ends with its agent.
 */
import { defaultRole } from "../../../../protocol/lead/roles.ts";
import { actorRow } from "../../locks/replies.ts";
import { noteKey } from "../../messages/notice-table.ts";
import type { RoleTaken } from "../../nodes/commands.ts";
import { publishOnce } from "../../outbox/publish.ts";
import type { Handler } from "../../rules.ts";
import { hasAgent } from "../../sessions/agents.ts";
import { noSession } from "../../sessions/end.ts";
import { deleteAt, setAt } from "../../sessions/side-table.ts";
import type { State } from "../../state.ts";
import { changeRole, personAlone } from "./given-roles.ts";

/** In the shared log: a person gives an agent of some machine a role. */
export const roleSend: Handler<"role_send", State> = (state, { by, whose, role }, { seq }, step) => {
  if (by !== null) {
    step.reply = personAlone;
    return;
  }
  if (!hasAgent(state.sessions, whose.session, whose.agent)) {
    step.reply = noSession(state, whose.session);
    return;
  }
  setAt(state.rolesSent, whose.session, whose.agent, { role, n: seq });
  const machine = state.leases.all.get(state.sessions.live.get(whose.session)?.node ?? "")?.machine ?? "";
  const now = role === null ? { role: defaultRole, by: "default" } : { role, by: "person" };
  step.reply = { ok: true, ...actorRow(state, { ...whose, incarnation: 0 }), ...now, machine };
};

/** In the node's own log: gives its agent the role, unless the outbox tells already that it did. */
export const roleTake: Handler<"role_take", State> = (state, { whose, role, sent }, _meta, step) => {
  step.reply = { ok: true };
  if (isTold(state, sent)) return;
  if (hasAgent(state.sessions, whose.session, whose.agent)) changeRole(state, whose, role, step);
  publishOnce(state, { type: "role_taken", ...sent });
};

/** Whether the outbox has the row that says that this role was given. */
export function isTold({ outbox }: Pick<State, "outbox">, { session, agent, n }: RoleTaken): boolean {
  for (const id of outbox.once.get("once") ?? []) {
    const command = outbox.rows.get(id)?.command;
    if (command?.type !== "role_taken" || command.n !== n) continue;
    if (noteKey(command) === noteKey({ session, agent })) return true;
  }
  return false;
}

/** In the shared log: the agent's node has given it the role. */
export const roleTaken: Handler<"role_taken", State> = (
  { rolesSent },
  { session, agent, n },
  _meta,
  step,
) => {
  step.reply = { ok: true };
  if (rolesSent.get(session)?.get(agent)?.n === n) deleteAt(rolesSent, session, agent);
};

/** Yields a sentence for each role that waits for an agent that is none of its session. */
export function* checkRolesSent({ sessions, rolesSent }: State): Generator<string> {
  for (const [id, all] of rolesSent)
    for (const agent of all.keys())
      if (!hasAgent(sessions, id, agent)) yield `a role waits for ${agent}, which is no agent of ${id}`;
}
