/** What the gate of roles knows of an agent; for hooks, and for requests that create tasks. */
import type { GateFinding } from "../../../protocol/lead/roles.ts";
import { rights } from "../../../protocol/lead/roles.ts";
import type { Actor } from "../../core/frame/actors.ts";
import type { RoleFacts } from "../../core/lead/gates.ts";
import { beforeCreation, rolesBeyond } from "../../core/lead/gates.ts";
import { actorsWith, roleOf } from "../../core/lead/roles.ts";
import type { State } from "../../core/state.ts";
import { actorRow } from "../../core/tables/naming.ts";
import type { HookServices } from "../../hooks/hook-services.ts";

/** Returns the facts; other agents are looked for only if the role forbids something. */
export function roleFacts(state: State, actor: Actor, project: string): RoleFacts {
  const { role, by } = roleOf(state, actor);
  const beyond = rolesBeyond(role);
  const others = beyond.length === 0 ? [] : actorsWith(state, project, beyond, actor);
  return { role, by, name: actorRow(state, actor).name, others };
}

/** Returns what the gate of roles finds before the actor creates tasks; null: it needs not be asked. */
export function creationFindings(
  { engine, rules }: Pick<HookServices, "engine" | "rules">,
  actor: Actor,
): Promise<GateFinding[]> | null {
  const session = engine.state.sessions.live.get(actor.session);
  if (session === undefined || rights[roleOf(engine.state, actor).role].creates) return null;
  return rules
    .at(session)
    .then(({ gates }) => beforeCreation(gates, { role: roleFacts(engine.state, actor, session.project) }));
}
