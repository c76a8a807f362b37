/** role_set: a person gives an agent a role; the trail has a line of it. */

import type { FileNote } from "../../hooks/seam/slices.ts";
import { type Refusal, refuse } from "../../protocol/codes.ts";
import type { roleRequests } from "../../protocol/lead/role-set.ts";
import { type GateFinding, gatesFor, type Role, rights } from "../../protocol/lead/roles.ts";
import type { Actor } from "../core/frame/actors.ts";
import { beforeCreation, type RoleFacts, rolesBeyond } from "../core/lead/gates.ts";
import { actorsWith, isTold, roleOf } from "../core/lead/roles.ts";
import { recipientOf } from "../core/messages/inbox.ts";
import { partsLevel } from "../core/nodes/parts.ts";
import { nodeOf, ownIdOf } from "../core/nodes/shared-ids.ts";
import type { State } from "../core/state.ts";
import type { CommandOf } from "../core/tables/entries.ts";
import { actorRow } from "../core/tables/naming.ts";
import { numberOf } from "../core/tables/tasks.ts";
import type { Log } from "../engine/engine.ts";
import { type Listener, logOfSession } from "../engine/log-view.ts";
import type { Kept, Needs } from "../hooks/parts.ts";
import type { HookPart } from "../hooks/points.ts";
import type { Services } from "../options.ts";
import { forward, type HandlersOf } from "../requests/handler.ts";
import type { LeadParts } from "./services.ts";

// Roles for agents of other machines. A request sends them through the shared log, and the daemon of the agent's machine gives
// them in its own.

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

export const roleHandlers: HandlersOf<typeof roleRequests> = {
  role_set: forward<"role_set">({
    command: ({ name, role }, { by, project }, { engine }) =>
      roleCommand(engine, { by, project, name, role }),
    line: (reply, { name, role }) => ({
      rule: "role",
      why: `${reply.ok ? String(reply["name"]) : name}: ${role ?? "none"}`,
    }),
  }),
};

// What the gate of roles knows of an agent; for hooks, and for requests that create tasks.

/** Returns the facts; other agents are looked for only if the role forbids something. */
export function roleFacts(state: State, actor: Actor, project: string): RoleFacts {
  const { role, by } = roleOf(state, actor);
  const beyond = rolesBeyond(role);
  const others = beyond.length === 0 ? [] : actorsWith(state, project, beyond, actor);
  return { role, by, name: actorRow(state, actor).name, others };
}

/** Returns what the gate of roles finds before the actor creates tasks; null: it needs not be asked. */
export function creationFindings(
  { engine }: Services,
  { config }: Needs<"config">,
  actor: Actor,
): Promise<GateFinding[]> | null {
  const session = engine.state.sessions.live.get(actor.session);
  if (session === undefined || rights[roleOf(engine.state, actor).role].creates) return null;
  return config.rules
    .at(session)
    .then(({ gates }) => beforeCreation(gates, { role: roleFacts(engine.state, actor, session.project) }));
}

// What an agent reads of its role and of red tasks. Whether it is held to its role, and the tasks' numbers, are looked up then.

export function rolePart(services: Services, parts: Kept<LeadParts>): HookPart {
  return {
    completed: (id, notes) => {
      const all = notes.map(note => numbered(services, id, note));
      return withModes(services, parts, id, all);
    },
  };
}

function numbered({ engine }: Services, session: string, note: FileNote): FileNote {
  if (note.what !== "risk") return note;
  const task = logOfSession(engine, session).state.tasks.all.get(note.task);
  return task === undefined ? note : { ...note, number: numberOf(task) };
}

async function withModes(
  { engine }: Services,
  { config }: Kept<LeadParts>,
  id: string,
  notes: readonly FileNote[],
): Promise<readonly FileNote[]> {
  const session = engine.state.sessions.live.get(id);
  if (session === undefined || notes.every(({ what }) => what !== "role")) return notes;
  const { gates } = await config.rules.at(session);
  return notes.map(note => (note.what === "role" ? { ...note, mode: gatesFor(gates, note.by).role } : note));
}
