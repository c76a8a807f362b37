/**
 * Roles for agents of other machines: a request sends them through the shared log, and the daemon of the agent's machine gives
 * them in its own.
 */
import { type Refusal, refuse } from "../../../protocol/codes.ts";
import type { Role } from "../../../protocol/lead/roles.ts";
import type { Actor } from "../../core/frame/actors.ts";
import { isTold } from "../../core/lead/roles.ts";
import { recipientOf } from "../../core/messages/inbox.ts";
import { partsLevel } from "../../core/nodes/parts.ts";
import { nodeOf, ownIdOf } from "../../core/nodes/shared-ids.ts";
import type { CommandOf } from "../../core/tables/entries.ts";
import type { Log } from "../../engine/engine.ts";
import type { Listener } from "../../engine/listeners.ts";
import type { Services } from "../../services.ts";

interface Wanted {
  readonly by: Actor | null;
  readonly project: string;
  readonly name: string;
  readonly role: Role | null;
}

type RoleCommand = ({ readonly type: "role_set" } | { readonly type: "role_send" }) &
  CommandOf<"role_set" | "role_send">;

/** Returns the command that gives the role: here, or, if only an agent of another machine is called so, in the shared log. */
export function roleCommand(engine: Log, { by, project, name, role }: Wanted): RoleCommand | Refusal {
  const here = { type: "role_set", by, name, role, project } as const;
  const log = engine.logOf(project);
  const own = recipientOf(engine.state, project, name);
  if (!("code" in own) || own.code !== "recipient_gone" || log.state === engine.state) return here;
  const found = recipientOf(log.state, log.project(project), name, "no role given");
  if ("code" in found) return found.code === "recipient_gone" ? here : log.outward(found);
  // An agent of this machine by the name that the others call it.
  if (nodeOf(found.id) === engine.state.outbox.node)
    return { ...here, name: found.agent ?? ownIdOf(found.id) ?? name };
  if (log.state.rules < partsLevel) {
    const error = `${log.outward(found).name} is on another machine, and a machine of the store has a Kite that knows no such roles; update it, or give the role there`;
    return refuse("level_unfit", error);
  }
  return { type: "role_send", by, whose: { session: found.id, agent: found.agent }, role, project };
}

/** Returns what gives the roles that wait for agents of this machine: `own` hears its log at each opening of the store. */
export function takesSentRoles({ engine }: Pick<Services, "engine">): {
  readonly own: Listener;
  readonly shared: Listener;
} {
  const look = () => takeSent(engine);
  return {
    own: { commands: ["sharing_set"], stepped: look },
    shared: { commands: ["role_send"], stepped: look },
  };
}

function takeSent(engine: Log): void {
  // Below this level the outbox would not say that the role is given. The `sharing_set` that raises it looks again.
  if (engine.state.outbox.level < partsLevel) return;
  const [, shared] = engine.logs;
  for (const [session, all] of shared?.state.rolesSent ?? []) {
    if (nodeOf(session) !== engine.state.outbox.node) continue;
    const own = ownIdOf(session) ?? "";
    for (const [agent, { role, n }] of all) {
      const sent = { session, agent, n };
      if (isTold(engine.state, sent)) continue;
      engine.submitWithRetry({ type: "role_take", whose: { session: own, agent }, role, sent });
    }
  }
}
