/**
 * Which tasks an actor takes by its role, and what the leads of a project have to do with red and critical ones.
 *
 * Invariants: a red task begins without a person's yes only while a lead is alive, and goes on if that lead ends, or if
 * the role of its claimer changes; only a lead of another session than the claimer's lowers a risk, up to red.
 */
import { type Refusal, refuse } from "../../../../protocol/codes.ts";
import { type Role, rights, rolesFor } from "../../../../protocol/lead/roles.ts";
import { limits } from "../../../../protocol/limits.ts";
import { isGrave, type Risk } from "../../../../protocol/names.ts";
import type { Actor } from "../../actor.ts";
import { actorRow } from "../../locks/replies.ts";
import type { Whose } from "../../messages/notice-table.ts";
import { tellLater } from "../../messages/notices.ts";
import type { Points, RiskyTask } from "../../points.ts";
import type { State } from "../../state.ts";
import { heldRefusal, riskOf } from "../../tasks/risk.ts";
import { claimerOf, type Task } from "../../tasks/table.ts";
import { actorsWith, hasLead, leadsOf, roleOf } from "./role-of.ts";

/** The claims of tasks, as roles and leads bound them. */
export const claimPoints: Points<State> = {
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

/** Tells the leads of the project that a red or critical task begins. */
function tellLeads(state: State, task: Task, by: Actor | null): void {
  const risk = riskOf(task);
  if (!isGrave(risk)) return;
  const other = by === null ? null : actorRow(state, by).name;
  const text = task.description.slice(0, limits.quoteChars);
  let told = 0;
  for (const lead of leadsOf(state, task.project, by)) {
    if (told === limits.leadsToldMax) return;
    told += 1;
    tellLater(state, lead, { what: "risk", task: task.id, text, risk, other });
  }
}
