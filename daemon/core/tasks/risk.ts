/**
 * The risk of a task: which roles may claim it, and when it may run.
 *
 * Invariants: of the red and critical tasks of a project at most one is active; a critical task runs only with a person's
 * yes, a red one with that or while a lead is alive as it begins; a yes is for one run. A run goes on if its lead ends,
 * or if the role of its claimer changes. Any actor raises a risk; a person lowers it, or up to red another agent that leads.
 */
import { type Refusal, refuse } from "../../../protocol/codes.ts";
import { type Role, rights, rolesFor } from "../../../protocol/lead/roles.ts";
import { limits } from "../../../protocol/limits.ts";
import { isGrave, type Risk, risks } from "../../../protocol/risk.ts";
import type { Actor } from "../actor.ts";
import type { BaseState } from "../base-state.ts";
import { actorsWith, hasLead, leadsOf, roleOf } from "../lead/roles/standing.ts";
import { actorRow } from "../locks/replies.ts";
import { tellLater } from "../messages/notices.ts";
import type { State } from "../state.ts";
import { claimerOf, listOf, type ReadyClass, type Task, taskAt } from "./table.ts";

type Rated = Pick<Task, "id" | "project" | "risk" | "approved" | "state">;

export function riskOf({ risk = "green" }: Pick<Task, "risk">): Risk {
  return risk;
}

/** Returns why the task cannot run now, whoever asks, in a sentence with what to do; null: nothing is in its way. */
export function heldBy(state: State, task: Rated, by: Actor | null = null): string | null {
  const risk = riskOf(task);
  if (!isGrave(risk)) return null;
  const running = graveRunning(state, task);
  if (running !== null)
    return `${running.id} (${riskOf(running)}) runs, and red and critical tasks run one at a time; wait until it has ended`;
  if (task.approved === true) return null;
  if (risk === "critical") return `it waits for a person's yes; ask your user: kite task approve ${task.id}`;
  if (hasLead(state, task.project, by)) return null;
  const who = by === null ? "no lead" : "no other lead";
  return `${who} is alive; an agent declares to lead (identity.role: lead), or ask your user: kite task approve ${task.id}`;
}

/** Returns the red or critical task of the project that runs, other than this one; or null. */
function graveRunning(state: BaseState, { id, project }: Pick<Task, "id" | "project">): Task | null {
  for (const place of listOf(state.tasks, "grave", project)) {
    const task = taskAt(state.tasks, place);
    if (task.id !== id) return task;
  }
  return null;
}

/** Returns why the actor may not run the task, or null. A person (`by` null) may, but not beside another grave one. */
export function mayRun(state: State, task: Rated, by: Actor | null): Refusal | null {
  const risk = riskOf(task);
  if (by !== null) {
    const { role } = roleOf(state, by);
    if (!rights[role].takes.includes(risk)) return beyondRole(state, task, by);
  }
  return heldRefusal(state, task, by, by);
}

/** Returns why an agent that is yet to begin, with this role, could not run the task, or null. */
export function mayRunAs(state: State, task: Rated, role: Role): Refusal | null {
  const { id, project } = task;
  const risk = riskOf(task);
  if (!rights[role].takes.includes(risk)) {
    const able = rolesFor(risk);
    const agents = actorsWith(state, project, able, null);
    const others = agents.length === 0 ? "" : `, or leave it to ${agents.join(" or ")} (kite message send)`;
    const takes = rights[role].takes.join(", ");
    const error = `${id} is ${risk}, and an agent with the role ${role} takes tasks that are ${takes}; spawn it with a role that takes it (${able.join(", ")})${others}`;
    return refuse("role_limit", error, { task: id, risk, role, roles: able, agents });
  }
  const held = heldBy(state, task);
  if (held === null) return null;
  const running = graveRunning(state, task)?.id ?? null;
  return refuse("risk_held", `${id} is ${risk}: ${held}`, { task: id, risk, running });
}

/** Refuses a run of the task by `runs` that its risk does not allow; a person (`by` null) needs no lead and no yes. */
function heldRefusal(
  state: State,
  task: Rated,
  runs: Actor | null,
  by: Actor | null,
  more = "",
): Refusal | null {
  const running = graveRunning(state, task)?.id ?? null;
  if (by === null && running === null) return null;
  const held = heldBy(state, task, runs);
  if (held === null) return null;
  const risk = riskOf(task);
  return refuse("risk_held", `${task.id} is ${risk}: ${held}${more}`, { task: task.id, risk, running });
}

/** Refuses a task beyond the actor's role, and names who could take it. */
function beyondRole(state: State, { id, project, ...rest }: Rated, by: Actor): Refusal {
  const risk = riskOf(rest);
  const { role, by: source } = roleOf(state, by);
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

/** Returns why the active task may not go on with its new risk, or null; `by` changes it. */
export function mayRaise(state: State, after: Task, by: Actor | null): Refusal | null {
  const risk = riskOf(after);
  const claimer = claimerOf(after);
  const { id: task } = after;
  const first = "release it first, or ask the agent that works on it to";
  if (by !== null && claimer !== null) {
    const { role } = roleOf(state, claimer);
    if (!rights[role].takes.includes(risk)) {
      const { name } = actorRow(state, claimer);
      const error = `${name} works on ${task}, and its role ${role} takes no task that is ${risk}; to make it ${risk}, ${first}`;
      return refuse("role_limit", error, { task, risk, role });
    }
  }
  return heldRefusal(state, after, claimer, by, `; to make it ${risk} now, ${first}`);
}

/** Returns why `by` may not change the task's risk to `next`, or null. */
export function mayRate(state: State, task: Task, next: Risk | null, by: Actor | null): Refusal | null {
  const before = riskOf(task);
  if (by === null || next === null || risks.indexOf(next) >= risks.indexOf(before)) return null;
  if (before === "critical") {
    const error = `${task.id} is critical, and only a person lowers that; ask your user: kite task edit ${task.id} --risk ${next}`;
    return refuse("person_only", error, { task: task.id, risk: before });
  }
  const claimer = claimerOf(task);
  const isOwn = claimer !== null && claimer.session === by.session && claimer.agent === by.agent;
  const leads = [...leadsOf(state, task.project)];
  if (!isOwn && leads.some(one => one.session === by.session && one.agent === by.agent)) return null;
  const names = leads
    .filter(one => one.session !== by.session || one.agent !== by.agent)
    .slice(0, limits.takersMax)
    .map(one => actorRow(state, { ...one, incarnation: 0 }).name);
  const lead = names.length === 0 ? "" : `ask the lead (${names.join(", ")}), or `;
  const error = `${task.id} is ${before}, and only another agent that leads, or a person, lowers that; ${lead}ask your user: kite task edit ${task.id} --risk ${next}`;
  return refuse("role_limit", error, { task: task.id, risk: before });
}

/** Tells the leads of the project that a red or critical task begins. */
export function tellLeads(state: State, task: Task, by: Actor | null): void {
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

/** Returns the classes of ready tasks that the actor may claim now. */
export function claimable(state: State, project: string, by: Actor): readonly ReadyClass[] {
  const { takes } = rights[roleOf(state, by).role];
  const isFree = listOf(state.tasks, "grave", project).size === 0;
  return takes.flatMap((risk): readonly ReadyClass[] => {
    if (!isGrave(risk)) return [risk];
    if (!isFree) return [];
    const approved = `${risk} approved` as const;
    return risk === "red" && hasLead(state, project, by) ? [risk, approved] : [approved];
  });
}

/** Returns what ready tasks of the project the actor cannot claim: those beyond its role, and why the others wait. */
export function leftReady(
  state: State,
  project: string,
  by: Actor,
): { readonly beyond: number; readonly held: string | null } {
  const { takes } = rights[roleOf(state, by).role];
  const count = (risk: Risk) =>
    listOf(state.tasks, `ready ${risk}`, project).size +
    (isGrave(risk) ? listOf(state.tasks, `ready ${risk} approved`, project).size : 0);
  const beyond = risks.filter(risk => !takes.includes(risk)).reduce((sum, risk) => sum + count(risk), 0);
  for (const risk of takes) {
    if (!isGrave(risk)) continue;
    for (const name of [`ready ${risk} approved`, `ready ${risk}`] as const) {
      for (const place of listOf(state.tasks, name, project)) {
        const task = taskAt(state.tasks, place);
        return { beyond, held: `${task.id} is ${risk}: ${heldBy(state, task, by) ?? "it is ready"}` };
      }
    }
  }
  return { beyond, held: null };
}
