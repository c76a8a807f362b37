/**
 * The role that an actor has now, and the leads of a project.
 *
 * Invariants: a given role counts before a declared one. The given role of a session's main agent counts for its other
 * agents that have none. A declared word that the table does not have means the default role. No declared word makes a lead:
 * that role is only given.
 */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import {
  defaultRole,
  type Role,
  type RoleBrief,
  type RoleSource,
  rights,
  roles,
  rolesFor,
} from "../../../protocol/lead/roles.ts";
import { limits } from "../../../protocol/limits.ts";
import { isGrave, type Risk } from "../../../protocol/names.ts";
import type { JsonValue } from "../../../protocol/schemas/context.ts";
import type { Actor } from "../frame/actors.ts";
import { recipientOf } from "../messages/inbox.ts";
import { hasAgent } from "../sessions/begin.ts";
import type { Meta, Rules } from "../tables/base-state.ts";
import { type Declaration, declarationsOf } from "../tables/declarations.ts";
import type { CommandOf } from "../tables/entries.ts";
import { lasting, type Part, type Points, type RiskyTask, type Step } from "../tables/entries.ts";
import { noteKey, type Whose } from "../tables/messages.ts";
import { actorRow, noSession } from "../tables/naming.ts";
import { takeBack, tellLater } from "../tables/notices.ts";
import { partKey } from "../tables/parts.ts";
import { isLeadRole } from "../tables/role-words.ts";
import { deleteAt, sessionsOf, setAt } from "../tables/sessions.ts";
import { claimerOf, type Task } from "../tables/tasks.ts";
import { heldRefusal, riskOf } from "../tasks/replies.ts";
import { dropPart, putPart, tellChanged } from "../work/shared-parts.ts";
import { roleNamed } from "./declarations.ts";
import type { State } from "./state.ts";
import type { GivenRole, RoleCommands, SentRole } from "./tables/roles.ts";

/** A role, and who gave it. */
interface Standing {
  readonly role: Role;
  readonly by: RoleSource;
}

/** Returns the actor's role; an actor whose session is not alive has the default one. */
export function roleOf(state: State, whose: Whose): Standing {
  const assignment = givenRole(state, whose);
  return assignment ?? declaredRole(state, whose) ?? { role: defaultRole, by: "default" };
}

/** Returns the role that the actor's declaration names, or null. */
function declaredRole({ declarations }: State, whose: Whose): GivenRole | null {
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
function roleKept(state: State, declared: Whose & { readonly role: string }): string[] {
  const assignment = givenRole(state, declared);
  const roleInDeclaration = roleNamed(declared.role);
  if (
    assignment === undefined ||
    assignment.by === "declared" ||
    roleInDeclaration === null ||
    roleInDeclaration === assignment.role
  )
    return [];
  const who = assignment.by === "person" ? "your user gave you the role" : "you began with the role";
  return [
    `identity.role: ${who} ${assignment.role}, and that stands whatever you declare; to change it, ask your user: kite role NAME ${roleInDeclaration}`,
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
  for (const [session, assignments] of state.roles) {
    const { project: where, lostAt = null } = state.sessions.live.get(session) ?? {};
    if (where !== project || lostAt !== null) continue;
    for (const [agent, { role }] of assignments) {
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
 * Whether a lead is alive in the project that may stand in for a person's yes to `by`. It is a lead of another session,
 * since no agent approves its own work. Under rules of level 1 any other agent may.
 */
function hasLead(state: State, project: string, by: Whose | null = null): boolean {
  const leads = leadsOf(state, project, by);
  return state.rules < 2 ? leads.length > 0 : leads.some(({ session }) => session !== by?.session);
}

/** Returns a sentence if an agent declares to lead and was not given that role: its word is shown, and gives it nothing. */
function leadUngiven(state: State, declared: Whose & { readonly role: string }): string[] {
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

// Which tasks an actor takes by its role, and what the leads of a project have to do with red and critical ones.
//
// Invariants: a red task begins without a person's yes only while a lead is alive. It goes on if that lead ends, or if its
// claimer's role changes. Only a lead of another session than the claimer's lowers a risk, and at most to red.

/** The claims of tasks, as roles and leads bound them. */
const claimPoints: Points<State> = {
  takes(state, by) {
    const { role } = roleOf(state, by);
    return { risks: rights[role].takes, as: `the role ${role}` };
  },
  mayTake,
  mayKeep,
  mayLower,
  missingForRed,
  taskBegins: tellLeads,
};

/** Refuses a task beyond the actor's role, and names who could take it. */
function mayTake(state: State, task: RiskyTask, by: Actor): Refusal | null {
  const risk = riskOf(task);
  const { role, by: source } = roleOf(state, by);
  if (rights[role].takes.includes(risk)) return null;
  const { id, project } = task;
  const able = rolesFor(risk);
  const agents = actorsWith(state, project, able, by);
  const { name } = actorRow(state, by);
  const whom =
    agents.length === 0
      ? `ask your user: kite role ${name} ${able[0] ?? role}`
      : `leave it to ${agents.join(" or ")} (kite message send)`;
  const takes = rights[role].takes.join(", ");
  const yours = source === "person" ? ", which your user gave you," : "";
  const error = `${id} is ${risk}, and your role ${role}${yours} takes tasks that are ${takes}; roles that take it: ${able.join(", ")}; ${whom}, or claim without a name to get one that you may take`;
  return refuse("role_limit", error, { task: id, risk, role, roles: able, agents });
}

/** Returns why an agent that is yet to begin, with this role, could not run the task, or null. */
export function mayRunAs(state: State, task: Task, role: Role): Refusal | null {
  const { id, project } = task;
  const risk = riskOf(task);
  const { takes } = rights[role];
  if (takes.includes(risk)) return heldRefusal(state, task, null);
  const able = rolesFor(risk);
  const agents = actorsWith(state, project, able, null);
  const others = agents.length === 0 ? "" : `, or leave it to ${agents.join(" or ")} (kite message send)`;
  const error = `${id} is ${risk}, and an agent with the role ${role} takes tasks that are ${takes.join(", ")}; spawn it with a role that takes it (${able.join(", ")})${others}`;
  return refuse("role_limit", error, { task: id, risk, role, roles: able, agents });
}

/** Refuses a risk of a running task that is beyond the role of its claimer. */
function mayKeep(state: State, after: RiskyTask, claimer: Actor): Refusal | null {
  const { id: task } = after;
  const risk = riskOf(after);
  const { role } = roleOf(state, claimer);
  if (rights[role].takes.includes(risk)) return null;
  const { name } = actorRow(state, claimer);
  const error = `${name} works on ${task}, and its role ${role} takes no task that is ${risk}; to make it ${risk}, release it first, or ask the agent that works on it to`;
  return refuse("role_limit", error, { task, risk, role });
}

/** Lets another agent that leads lower a risk; a claimer does not lower that of its own task. */
function mayLower(state: State, task: Task, next: Risk, by: Actor): Refusal | null {
  const before = riskOf(task);
  const claimer = claimerOf(task);
  const isOwn = claimer !== null && (state.rules < 2 ? isSame(claimer, by) : claimer.session === by.session);
  const leads = leadsOf(state, task.project);
  if (!isOwn && leads.some(one => isSame(one, by))) return null;
  const names = leads
    .filter(one => !isSame(one, by))
    .slice(0, limits.takersMax)
    .map(one => actorRow(state, { ...one, incarnation: 0 }).name);
  const lead = names.length === 0 ? "" : `ask the lead (${names.join(", ")}), or `;
  const error = `${task.id} is ${before}, and only another agent that leads, or a person, lowers that; ${lead}ask your user: kite task edit ${task.id} --risk ${next}`;
  return refuse("role_limit", error, { task: task.id, risk: before });
}

function isSame(a: Whose, b: Whose): boolean {
  return a.session === b.session && a.agent === b.agent;
}

/** A lead of another session than `by` stands in for a person's yes to a red task. */
function missingForRed(state: State, project: string, by: Actor | null): string | null {
  if (hasLead(state, project, by)) return null;
  const none = by === null ? "no lead" : "no other lead";
  if (state.rules < 2) return `${none} is alive; an agent declares to lead (identity.role: lead)`;
  return `${none} is alive; have your user name one (kite role NAME lead)`;
}

/** Tells the leads of the project that a red or critical task begins. In a shared project, their machines do. */
function tellLeads(state: State, task: Task, by: Actor | null, step: Step): void {
  const risk = riskOf(task);
  if (!isGrave(risk)) return;
  const other = by === null ? null : actorRow(state, by).name;
  const text = task.description.slice(0, limits.quoteChars);
  const leads = leadsOf(state, task.project, by).slice(0, limits.leadsToldMax);
  for (const lead of leads) tellLater(state, lead, { what: "risk", task: task.id, text, risk, other });
  if (state.isShared && leads.length > 0) step.readers.set(task.id, leads);
}

// Roles that agents are given.
//
// Invariants: only a person gives and takes roles, except for the role that an agent begins with. Only a person replaces a
// role that a person gave. A given role ends with its agent or its session.

function roleSet(
  state: State,
  { by, name, role, project }: CommandOf<"role_set">,
  _meta: Meta,
  step: Step,
): void {
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
}

/** The refusal of a role that an agent would give. */
const personAlone = refuse(
  "person_only",
  "only a person gives roles; declare your own in identity.role, or ask your user: kite role NAME ROLE",
);

/** Gives a live actor a person's role, or with null takes it back; tells the actor if that changes its role, and returns it. */
function changeRole(state: State, whose: Whose, role: Role | null, step: Step): Standing {
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

function setRole(state: State, { session, agent }: Whose, assignment: GivenRole | null): void {
  if (assignment === null) deleteAt(state.roles, session, agent);
  else setAt(state.roles, session, agent, assignment);
  state.partsRevision += 1;
}

/** What other machines know of an agent's role: its own, as it was given or else declared. */
const rolePart: Part<State> = {
  *tell(state, session) {
    const declared = declarationsOf(state.declarations, session).map(({ agent }) => agent);
    for (const agent of new Set([...(state.roles.get(session)?.keys() ?? []), ...declared])) {
      const { role, by } =
        state.roles.get(session)?.get(agent) ?? declaredRole(state, { session, agent }) ?? {};
      if (role !== undefined && by !== undefined) yield [agent, { role, by }];
    }
  },
  take(state, { session, agent }, told, step) {
    const { roles: table, sessions } = state;
    if (!isGiven(told)) deleteAt(table, session, agent);
    else if (hasAgent(sessions, session, agent))
      setAt(table, session, agent, { role: told.role, by: told.by });
    tellChanged(state, session, step);
  },
};

function isGiven(value: JsonValue): value is GivenRole & { readonly [field: string]: JsonValue } {
  if (typeof value !== "object" || value === null) return false;
  const { role, by } = value as { readonly [field: string]: JsonValue };
  return roles.some(one => one === role) && sources.some(one => one === by);
}

const sources: readonly JsonValue[] = ["person", "spawn", "declared"] satisfies GivenRole["by"][];

/** Yields one sentence per role of an agent that is none of its session. */
export function* checkRoles({ sessions, roles }: State): Generator<string> {
  for (const [id, all] of roles)
    for (const agent of all.keys())
      if (!hasAgent(sessions, id, agent)) yield `${agent} has a role and is no agent of ${id}`;
}

// Roles that a person gives to agents of another machine: the shared project keeps each until the agent's own machine has
// given it.
//
// Invariants: a machine's own log decides which role its agents have. The latest of several roles counts. A role that waits
// ends with its agent.

const sentPart = "role_sent";

/** What waits is a part of the agent that others say. */
const sentRolePart: Part<State> = {
  take(state, { session, agent }, told, step) {
    const { rolesSent, sessions } = state;
    if (!isSent(told)) deleteAt(rolesSent, session, agent);
    else if (hasAgent(sessions, session, agent))
      setAt(rolesSent, session, agent, { role: told.role, n: told.n });
    tellChanged(state, session, step);
  },
};

function isSent(value: JsonValue): value is SentRole & { readonly [field: string]: JsonValue } {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const { role, n } = value as { readonly [field: string]: JsonValue };
  return (role === null || roles.some(one => one === role)) && typeof n === "number";
}

/** In a shared project: a person gives an agent of some machine a role. */
function roleSend(
  state: State,
  { by, whose, role }: CommandOf<"role_send">,
  { seq }: Meta,
  step: Step,
): void {
  if (by !== null) {
    step.reply = personAlone;
    return;
  }
  const { session, agent } = whose;
  if (!state.isShared) {
    step.reply = refuse("invalid_request", "the project is not shared any more; give the role again");
    return;
  }
  const known = state.sessions.live.get(session);
  if (known === undefined || !hasAgent(state.sessions, session, agent)) {
    step.reply = noSession(state, session);
    return;
  }
  const { project, node } = known;
  putPart(state, { project, node, session, agent, part: sentPart, told: { role, n: seq } }, step);
  const now = role === null ? { role: defaultRole, by: "default" } : { role, by: "person" };
  step.reply = { ok: true, ...actorRow(state, { ...whose, incarnation: 0 }), ...now };
}

/** In the machine's own log: gives its agent the role. Given twice, it tells nothing the second time. */
function roleTake(state: State, { whose, role }: CommandOf<"role_take">, _meta: Meta, step: Step): void {
  step.reply = { ok: true };
  if (hasAgent(state.sessions, whose.session, whose.agent)) changeRole(state, whose, role, step);
}

/** In the shared project: the agent's machine has given it the role. */
function roleTaken(
  state: State,
  { session, agent, n }: CommandOf<"role_taken">,
  _meta: Meta,
  step: Step,
): void {
  step.reply = { ok: true };
  if (state.rolesSent.get(session)?.get(agent)?.n !== n) return;
  dropPart(state, partKey({ session, node: "", agent, part: sentPart }), step);
}

/** Yields a sentence for each role that waits for an agent that is none of its session. */
export function* checkRolesSent({ sessions, rolesSent }: State): Generator<string> {
  for (const [id, all] of rolesSent)
    for (const agent of all.keys())
      if (!hasAgent(sessions, id, agent)) yield `a role waits for ${agent}, which is no agent of ${id}`;
}

// The rules of roles.

export const roleRules: Rules<RoleCommands, State> = {
  commands: {
    role_set: lasting(roleSet),
    role_send: lasting(roleSend),
    role_take: lasting(roleTake),
    role_taken: lasting(roleTaken),
  },
  shared: ["role_send", "role_taken"],
  points: {
    declaredFields,
    agentEnds({ roles, rolesSent }, session, agent) {
      deleteAt(roles, session, agent);
      deleteAt(rolesSent, session, agent);
    },
    sessionMoves: moveRole,
    sessionEnds({ roles, rolesSent }, { id }) {
      roles.delete(id);
      rolesSent.delete(id);
    },
    parts: { role: rolePart, [sentPart]: sentRolePart },
    ...claimPoints,
  },
};

function moveRole({ roles, isShared }: State, from: string, to: string): void {
  const role = roles.get(from)?.get(null);
  // In a copy, the role is a part, which the agent's machine says anew.
  if (role !== undefined && !isShared) setAt(roles, to, null, role);
}

function declaredFields(state: State, declaration: Declaration) {
  const { role } = roleOf(state, declaration);
  const warnings = [...roleKept(state, declaration), ...leadUngiven(state, declaration)];
  return { role, ...(warnings.length === 0 ? {} : { warnings }) };
}
