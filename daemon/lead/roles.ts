/** role_set: a person gives an agent a role; the trail has a line of it. */

import type { FileNote } from "../../hooks/seam/slices.ts";
import type { Refusal } from "../../protocol/codes.ts";
import type { roleRequests } from "../../protocol/lead/role-set.ts";
import { type GateFinding, gatesFor, type Role, rights } from "../../protocol/lead/roles.ts";
import { limits } from "../../protocol/limits.ts";
import { isGrave } from "../../protocol/names.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { Actor } from "../core/frame/actors.ts";
import { beforeCreation, type RoleFacts, rolesBeyond } from "../core/lead/gates.ts";
import { actorsWith, roleOf } from "../core/lead/roles.ts";
import { recipientOf } from "../core/messages/inbox.ts";
import type { State } from "../core/state.ts";
import type { CommandOf, Reply } from "../core/tables/entries.ts";
import { actorRow } from "../core/tables/naming.ts";
import { numberOf } from "../core/tables/tasks.ts";
import { assigneeOf, riskOf } from "../core/tasks/replies.ts";
import type { Log } from "../engine/engine.ts";
import { elsewhereOf, idHere, type LogView, logOfSession, type SharedListener } from "../engine/log-view.ts";
import type { Kept, Needs } from "../hooks/parts.ts";
import type { HookPart } from "../hooks/points.ts";
import type { Services } from "../options.ts";
import { forward, type HandlersOf } from "../requests/handler.ts";
import type { LeadParts } from "./services.ts";

// Roles for agents of other machines. A request sends them through the shared project, and the daemon of the agent's machine
// gives them in its own log.

interface Wanted {
  readonly by: Actor | null;
  readonly project: string;
  readonly name: string;
  readonly role: Role | null;
}

type RoleCommand = ({ readonly type: "role_set" } | { readonly type: "role_send" }) &
  CommandOf<"role_set" | "role_send">;

/** Returns the command that gives the role: here, or, if only an agent of another machine is called so, in the shared project. */
export function roleCommand(engine: Log, { by, project, name, role }: Wanted): RoleCommand | Refusal {
  const here = { type: "role_set", by, name, role, project } as const;
  const log = engine.logOf(project);
  const own = recipientOf(engine.state, project, name);
  if (!("code" in own) || own.code !== "recipient_gone" || log.state === engine.state) return here;
  const found = recipientOf(log.state, project, name, "no role given");
  if ("code" in found) return found.code === "recipient_gone" ? here : found;
  if (elsewhereOf(log, found.id) !== null)
    return { type: "role_send", by, whose: { session: found.id, agent: found.agent }, role, project };
  // An agent of this machine, by what the copy calls it.
  const id = idHere(engine, log, found.id);
  return { ...here, name: found.agent ?? id ?? name };
}

/** Returns what gives the roles that wait for agents of this machine. */
export function takesSentRoles({ engine }: Pick<Services, "engine">): SharedListener {
  // The log may show a role as waiting until the store has heard that it was given. A project's numbers rise.
  const taken = new BoundedMap<string, number>({ entriesMax: limits.sessionsMax });
  const look = () => takeSent(engine, taken);
  return { told: look, reached: look };
}

function takeSent(engine: Log, taken: BoundedMap<string, number>): void {
  for (const log of engine.logs)
    for (const [session, all] of log.state.rolesSent) {
      const own = idHere(engine, log, session);
      const project = log.state.sessions.live.get(session)?.project;
      if (own === undefined || project === undefined) continue;
      for (const [agent, { role, n }] of all) {
        const key = JSON.stringify([project, session, agent]);
        if (taken.get(key) === n) continue;
        taken.set(key, n);
        const given = () => engine.submitWithRetry({ type: "role_taken", project, session, agent, n });
        engine.submit(
          { type: "role_take", whose: { session: own, agent }, role },
          { answer: given, failed: () => taken.delete(key) },
        );
      }
    }
}

export const roleHandlers: HandlersOf<typeof roleRequests> = {
  role_set: forward<"role_set">({
    command: ({ name, role }, { by, project }, { engine }) =>
      roleCommand(engine, { by, project, name, role }),
    reply: (reply, _, { engine }, { project }) => withMachine(engine.logOf(project), reply),
    line: (reply, { name, role }) => ({
      rule: "role",
      why: `${reply.ok ? String(reply["name"]) : name}: ${role ?? "none"}`,
    }),
  }),
};

/** Returns what tells leads of this machine that others begin a red or critical task in a shared project. */
export function tellsLeads({ engine }: Pick<Services, "engine">): SharedListener {
  return {
    reached: () => {},
    told(events) {
      for (const { event, project, readers = [] } of events) {
        const log = engine.logOf(project);
        const task = "task" in event ? log.state.tasks.all.get(event.task) : undefined;
        if (task === undefined) continue;
        const risk = riskOf(task);
        const text = task.description.slice(0, limits.quoteChars);
        const other = assigneeOf(log.state, task)?.name ?? null;
        for (const { session, agent } of readers) {
          const own = idHere(engine, log, session);
          if (own === undefined || !isGrave(risk)) continue;
          const note = { what: "risk", task: task.id, text, risk, other } as const;
          engine.submitWithRetry({ type: "note_given", session: own, agent, note });
        }
      }
    },
  };
}

/** Names the machine of an agent that is on another one: it gets its role when that one hears of it. */
function withMachine(log: LogView, reply: Reply): Reply {
  const where = reply.ok && typeof reply["id"] === "string" ? elsewhereOf(log, reply["id"]) : null;
  return where === null ? reply : { ...reply, machine: where.machine };
}

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
