/**
 * Teammates: members of a team, as their client names them. A teammate is an agent within its lead's session, or a session
 * of its own (`agent` is null). The lead's session keeps the latter among its `members`.
 *
 * Invariants: a session keeps teammates only of the agents that it has, and of its main agent. A member that is not gone is
 * a live session that says so of itself, too. A session keeps at most `limits.teamMembersMax` members.
 */

import type { NativeTask, TaskChange } from "../../../hooks/seam/teams.ts";
import type { TaskBrief, TeamFinding, TeamProblem } from "../../../protocol/lead/team.ts";
import { limits } from "../../../protocol/limits.ts";
import { hasAgent } from "../sessions/begin.ts";
import type { Meta, Rules, Session } from "../tables/base-state.ts";
import type { CommandOf, Step } from "../tables/entries.ts";
import { passing } from "../tables/entries.ts";
import { tellLater } from "../tables/notices.ts";
import { allAt, deleteAt, replaceAt, setAt } from "../tables/sessions.ts";
import { compareAgain } from "../work/declared-ends.ts";
import type { State } from "./state.ts";
import type { Member, TeamCommands, Teammate } from "./tables/roles.ts";

/** Whether a `teammate_named` with this would change anything. */
export function needsTeammate(
  state: State,
  session: Session,
  agent: string | null,
  { name, team, lead }: Teammate,
): boolean {
  if (agent !== null && !session.agents.has(agent)) return false;
  const known = state.teammates.get(session.id)?.get(agent);
  if (known?.name !== name || known.team !== team) return true;
  if (agent !== null || lead === undefined) return false;
  const leader = state.sessions.live.get(lead);
  if (leader === undefined || leader === session) return known.lead !== lead;
  return (
    known.lead !== lead ||
    (!isMember(state, lead, name, session.id) && mayJoin(state, lead, name, session.id))
  );
}

/** Records a teammate's own name, its team, and its lead if that is another session. */
function teammateNamed(state: State, command: CommandOf<"teammate_named">, _meta: Meta, step: Step): void {
  step.reply = { ok: true };
  const { session: id, agent, name, team } = command;
  const session = state.sessions.live.get(id);
  if (session === undefined || !needsTeammate(state, session, agent, command)) return;
  const known = state.teammates.get(id)?.get(agent);
  // A later event may name the team and not the lead.
  const lead = agent === null ? (command.lead ?? (known?.team === team ? known.lead : undefined)) : undefined;
  if (agent === null) leave(state, id, known);
  setAt(state.teammates, id, agent, { name, team, ...(lead === undefined ? {} : { lead }) });
  if (lead !== undefined) join(state, id, name, lead);
  compareAgain(state, { session: id, agent }, step);
}

/** Its lead learns of a member whose session ends. */
function memberGone(state: State, { id }: Session, cause: string): void {
  const own = state.teammates.get(id)?.get(null);
  state.teammates.delete(id);
  state.members.delete(id);
  const lead = own?.lead;
  if (own === undefined || lead === undefined || !isMember(state, lead, own.name, id)) return;
  if (cause !== "anchor_gone" && cause !== "ended") {
    setMember(state, lead, own.name, null);
    return;
  }
  const how = cause === "anchor_gone" ? "died" : "ended";
  setMember(state, lead, own.name, { session: id, gone: { how, at: state.t } });
  tellGone(state, lead, own, how);
}

/** The main agent learns of its teammate that was stopped. */
function teammateStopped(state: State, session: string, agent: string): void {
  const teammate = state.teammates.get(session)?.get(agent);
  if (teammate !== undefined) tellGone(state, session, teammate, "stopped");
}

/** Moves what a session leads, and its place in its own team, to the session as which its process goes on. */
function moveTeam(state: State, from: string, to: string): void {
  const { teammates, members } = state;
  const own = teammates.get(from)?.get(null);
  leave(state, from, own);
  if (own !== undefined) setAt(teammates, to, null, own);
  teammates.delete(from);
  const led = allAt(members, from);
  replaceAt(members, to, led);
  members.delete(from);
  for (const { session: id, gone } of led.values()) {
    const known = teammates.get(id)?.get(null);
    if (gone === undefined && known !== undefined) setAt(teammates, id, null, { ...known, lead: to });
  }
  if (own?.lead !== undefined && own.lead !== from) join(state, to, own.name, own.lead);
}

function tellGone(
  state: State,
  lead: string,
  { name, team }: Teammate,
  how: "died" | "ended" | "stopped",
): void {
  tellLater(state, { session: lead, agent: null }, { what: "teammate_gone", other: name, team, how });
}

function isMember({ members }: State, lead: string, name: string, session: string): boolean {
  const member = members.get(lead)?.get(name);
  return member?.session === session && member.gone === undefined;
}

/** A live member keeps its name: a process with the same words does not take its place, and its end proves no death. */
function mayJoin({ members }: State, lead: string, name: string, session: string): boolean {
  const all = allAt(members, lead);
  const known = all.get(name);
  if (known !== undefined && known.gone === undefined && known.session !== session) return false;
  const isFull = all.size >= limits.teamMembersMax && !all.has(name);
  return !isFull || [...all.values()].some(({ gone }) => gone !== undefined);
}

function join(state: State, session: string, name: string, lead: string): void {
  if (!state.sessions.live.has(lead) || lead === session || !mayJoin(state, lead, name, session)) return;
  setMember(state, lead, name, { session });
}

function leave(state: State, session: string, known: Teammate | undefined): void {
  if (known?.lead !== undefined && isMember(state, known.lead, known.name, session))
    setMember(state, known.lead, known.name, null);
}

/** Replaces a member, or removes it; the one that is gone longest makes room. */
function setMember({ members }: State, lead: string, name: string, member: Member | null): void {
  const all = new Map(members.get(lead));
  all.delete(name);
  const oldest = [...all].find(([, { gone }]) => gone !== undefined);
  if (member !== null && all.size >= limits.teamMembersMax && oldest !== undefined) all.delete(oldest[0]);
  if (member !== null) all.set(name, member);
  replaceAt(members, lead, all);
}

export const teamRules: Rules<TeamCommands, State> = {
  commands: { teammate_named: passing(teammateNamed) },
  points: {
    agentIsStopped: teammateStopped,
    agentEnds: ({ teammates }, session, agent) => deleteAt(teammates, session, agent),
    sessionMoves: moveTeam,
    sessionEnds: memberGone,
  },
};

/** Yields one sentence per teammate that is no agent of its session. */
export function* checkTeammates({ sessions, teammates }: State): Generator<string> {
  for (const [id, all] of teammates)
    for (const agent of all.keys())
      if (!hasAgent(sessions, id, agent)) yield `${agent} is a teammate and no agent of ${id}`;
}

/** Yields one sentence per lead with too many members, and per member that says otherwise. */
export function* checkMembers({ sessions, teammates, members, limits: bounds }: State): Generator<string> {
  for (const [lead, all] of members) {
    if (!sessions.live.has(lead)) yield `session ${lead} leads and is not alive`;
    if (all.size > bounds.teamMembersMax) yield `session ${lead} leads too many`;
    for (const [called, { session: id, gone }] of all) {
      const own = teammates.get(id)?.get(null);
      if (gone === undefined && (own?.name !== called || own.lead !== lead))
        yield `${id} does not say that it is ${called} of session ${lead}`;
    }
  }
}

// What the rules of a team look at: facts that the daemon gathered for one call.

/** `live`: Kite sees it live. `dead`: its process has ended. `unknown`: the client lists it, and Kite saw no event of it. */
export type MemberState = "live" | "dead" | "unknown";

/** Members by their own names. */
export type Members = ReadonlyMap<string, MemberState>;

/** Tasks of one list by their ids; a task that is not in it was deleted, or could not matter. */
export type Tasks = ReadonlyMap<string, NativeTask>;

/** Who makes the call. */
export interface Caller {
  /** Its name in the team; null if it has none. */
  readonly name: string | null;
  /** The member for which it works: itself, or the one that began it as a subagent; null if it is in no team. */
  readonly member: string | null;
  /** That member leads the team. */
  readonly isLead: boolean;
}

/** An agent at work on the task. */
export interface Worker {
  /** The member for which it works; null: it is in no team, or in another one. */
  readonly name: string | null;
  /** It is the caller, or works for the same member: a member and its subagents are one worker. */
  readonly isCaller: boolean;
}

export interface ChangeFacts {
  readonly change: TaskChange;
  readonly caller: Caller;
  readonly task: NativeTask;
  /** The task itself, and those that it depends on. */
  readonly tasks: Tasks;
  /** null: the caller is in no team, or its members could not be read. */
  readonly members: Members | null;
  /** A live agent that took the task by a call that Kite saw; null if none did. */
  readonly worker: Worker | null;
}

/** The name without what the client may add to it: its team, or a reference. */
export function bareName(name: string): string {
  return name.replace(/(?:@\S+| \[[^\]]*\])$/, "");
}

export function briefOf({ id, subject, owner, status }: NativeTask): TaskBrief {
  return { task: id, subject, owner, status };
}

/** The agent that owns the task once the change is made; the client gives a task that is begun to the one that begins it. */
export function nextOwner({
  change,
  caller,
  task,
}: Pick<ChangeFacts, "change" | "caller" | "task">): string | null {
  if (change.owner !== null) return change.owner === "" ? null : bareName(change.owner);
  return change.status === "in_progress" ? (caller.name ?? task.owner) : task.owner;
}

// A task is not claimed, begun or completed unbegun before the tasks that it waits for are complete.

export function blockedClaim(facts: ChangeFacts): TeamFinding[] {
  const { task, tasks } = facts;
  const blockers = blockersOf(task, tasks);
  if (blockers.length === 0 || !takesUp(facts)) return [];
  return [{ rule: "blocked_claim", task: briefOf(task), blockers: blockers.map(briefOf), ready: [] }];
}

/** The tasks that this one waits for. A task that was deleted blocks nobody. */
export function blockersOf({ blockedBy }: NativeTask, tasks: Tasks): NativeTask[] {
  return blockedBy.flatMap(id => {
    const other = tasks.get(id);
    return other === undefined || other.status === "completed" ? [] : [other];
  });
}

/** Whether the caller begins the task or makes it its own. A lead may plan ahead: it gives a task that waits to another. */
function takesUp(facts: ChangeFacts): boolean {
  const { change, caller, task } = facts;
  if (task.status === "completed") return false;
  if (task.status === "pending" && (change.status === "in_progress" || change.status === "completed"))
    return true;
  const isOwn = caller.name !== null && change.owner !== null && nextOwner(facts) === caller.name;
  return isOwn && task.owner !== caller.name;
}

// No task waits for itself, whether directly or through others: the client would accept it, and none could be begun.

export function dependencyCycle(change: TaskChange, tasks: Tasks): TeamFinding[] {
  const added = new Map<string, readonly string[]>();
  const add = (task: string, waitsFor: string) => added.set(task, [...(added.get(task) ?? []), waitsFor]);
  for (const other of change.addBlockedBy) add(change.task, other);
  for (const other of change.addBlocks) add(other, change.task);
  const next = (task: string) => [...(tasks.get(task)?.blockedBy ?? []), ...(added.get(task) ?? [])];
  for (const [task, others] of added) {
    for (const other of others) {
      const path = pathTo(task, other, next);
      if (path !== null) return [{ rule: "dependency_cycle", tasks: [task, ...path.slice(0, -1)] }];
    }
  }
  return [];
}

/** The cycles of a list, each once, by the tasks on them. */
export function cyclesIn(tasks: Tasks): (readonly string[])[] {
  const onCycle = new Set<string>();
  const found: (readonly string[])[] = [];
  for (const [id, { blockedBy }] of tasks) {
    if (onCycle.has(id)) continue;
    for (const other of blockedBy) {
      const path = pathTo(id, other, task => tasks.get(task)?.blockedBy ?? []);
      if (path === null) continue;
      const cycle = [id, ...path.slice(0, -1)];
      for (const one of cycle) onCycle.add(one);
      found.push(cycle);
      break;
    }
  }
  return found;
}

/** The tasks on the way from `from` to `to`, both included; null if there is none. Visits each task once. */
function pathTo(to: string, from: string, next: (task: string) => readonly string[]): string[] | null {
  const before = new Map<string, string | null>([[from, null]]);
  for (const task of before.keys()) {
    if (task === to) {
      const path: string[] = [];
      for (let one: string | null = task; one !== null; one = before.get(one) ?? null) path.unshift(one);
      return path;
    }
    for (const one of next(task)) if (!before.has(one)) before.set(one, task);
  }
  return null;
}

// What is wrong in a team as it stands. Texts are for people; the caller bounds what agents wrote in them.

interface TeamStanding {
  readonly tasks: Tasks;
  /** null: they could not be read, or there is no team. */
  readonly members: Members | null;
  /** Unread letters of readers that are dead or do not exist, by name. */
  readonly unread: ReadonlyMap<string, number>;
  /** Files that could not be read, in a sentence each. */
  readonly unreadable: readonly string[];
  readonly isLeadGone: boolean;
}

/** The problems, those first that stop most. */
export function problemsOf(standing: TeamStanding): TeamProblem[] {
  const { unreadable, isLeadGone } = standing;
  return [
    ...(isLeadGone
      ? [
          {
            what: "lead_gone",
            text: "the lead's session has ended, and its teammates go on: nobody reads what they report; end them, or go on in their panes",
          } as const,
        ]
      : []),
    ...cycleProblems(standing),
    ...blockedWork(standing),
    ...ownerProblems(standing),
    ...letterProblems(standing),
    ...unreadable.map(text => ({ what: "unread_file", text }) as const),
  ];
}

function blockedWork({ tasks }: TeamStanding): TeamProblem[] {
  return [...tasks.values()].flatMap(task => {
    const blockers = task.status === "in_progress" ? blockersOf(task, tasks) : [];
    if (blockers.length === 0) return [];
    const by = listed(blockers.map(({ id }) => id));
    const who = task.owner ?? "somebody";
    const text = `${who} works on task ${task.id} although it waits for ${by}: complete that first, or tell ${who} to wait`;
    return [{ what: "blocked_work", text } as const];
  });
}

function ownerProblems({ tasks, members }: TeamStanding): TeamProblem[] {
  return [...tasks.values()].flatMap(({ id, owner: ownerName, status }) => {
    if (ownerName === null || status === "completed" || members === null) return [];
    const owner = bareName(ownerName);
    const state = members.get(owner);
    if (state === "live" || state === "unknown") return [];
    const is = status === "in_progress" ? "in progress" : "pending";
    const text = `task ${id} is ${is} and owned by ${owner}, ${state === "dead" ? "which has ended" : "which is no member"}: give it to a member (TaskUpdate with owner)`;
    return [{ what: state === "dead" ? "dead_owner" : "unknown_owner", text } as const];
  });
}

function cycleProblems({ tasks }: TeamStanding): TeamProblem[] {
  return cyclesIn(tasks).map(cycle => {
    const text = `tasks ${listed(cycle)} wait for one another in a cycle, so none can be begun: complete or delete one of them`;
    return { what: "dependency_cycle", text };
  });
}

function letterProblems({ unread, members }: TeamStanding): TeamProblem[] {
  return [...unread].map(([name, count]) => {
    const who = members?.get(name) === "dead" ? "which has ended" : "which is no member";
    const text = `${count} ${count === 1 ? "message" : "messages"} to ${name}, ${who}: nobody will read ${count === 1 ? "it" : "them"}`;
    return { what: "unread_letters", text };
  });
}

function listed(ids: readonly string[]): string {
  const more = ids.length - limits.teamNamedMax;
  return [...ids.slice(0, limits.teamNamedMax), ...(more > 0 ? [`${more} more`] : [])].join(", ");
}

// A task on which another live agent works stays with that agent. The lead may give it to another member by its name, and
// may end it. When a task is completed or deleted, what waits for it begins.

export function foreignTask(facts: ChangeFacts): TeamFinding[] {
  const { change, caller, task } = facts;
  const worker = workerOf(facts);
  if (worker === null || worker.isCaller || task.status === "completed") return [];
  const ends = change.status === "completed" || change.status === "deleted" ? change.status : null;
  const mayRun = ends === null ? mayTake(facts, worker) : caller.isLead || worker.name === null;
  if (mayRun) return [];
  return [{ rule: "foreign_task", task: briefOf(task), worker: worker.name, ends, ready: [] }];
}

/** Whether the change takes the task from nobody: it leaves it where it is, or the lead gives it to another member. */
function mayTake(facts: ChangeFacts, { name }: Worker): boolean {
  const { change, caller } = facts;
  const takes = change.status === "in_progress" || (change.owner !== null && change.owner !== "");
  return !takes || (caller.isLead && change.owner !== null) || (name !== null && name === nextOwner(facts));
}

/** Who works on the task: its owner if that is a live member, else the agent that Kite saw take it. */
function workerOf({ task, members, caller, worker }: ChangeFacts): Worker | null {
  const owner = task.owner === null ? null : bareName(task.owner);
  if (task.status === "in_progress" && owner !== null && members?.get(owner) === "live")
    return { name: owner, isCaller: owner === caller.member };
  return worker;
}

// A task is given to a member that exists and lives: the client would write to anybody, and nobody would read it.

export function unknownOwner({ change, members }: ChangeFacts): TeamFinding[] {
  const { owner: ownerName, task } = change;
  if (ownerName === null || ownerName === "" || members === null) return [];
  const owner = bareName(ownerName);
  const state = members.get(owner);
  if (state === "live" || state === "unknown") return [];
  const live = [...members].flatMap(([name, is]) => (is === "dead" ? [] : [name]));
  const named = live.slice(0, limits.teamNamedMax);
  return [{ rule: "unknown_owner", task, owner, isDead: state === "dead", members: named }];
}

// The rules of a client's own teams. Each is a pure function of facts; together they say what is wrong with a call.
//
// Invariant: a rule finds something only in what is proven. What the daemon does not know breaks no rule.

/** What is wrong with a change of a task. */
export function beforeTaskChange(facts: ChangeFacts): TeamFinding[] {
  return [
    ...blockedClaim(facts),
    ...foreignTask(facts),
    ...unknownOwner(facts),
    ...dependencyCycle(facts.change, facts.tasks),
  ];
}

/** What is wrong with a move to another worktree: a teammate within its lead's process has no folder of its own. */
export function beforeMove(tool: string, isInProcess: boolean): TeamFinding[] {
  return isInProcess ? [{ rule: "moved_worktree", tool }] : [];
}

// A letter goes to a member that can read it. Only a member that the client still lists is a trap. A letter to a member that
// ended in agreement resumes it, or the client itself refuses the letter.

/** `listed`: the members that the client lists. */
export function deadLetter(recipient: string, listed: ReadonlySet<string>, members: Members): TeamFinding[] {
  const to = bareName(recipient);
  return listed.has(to) && members.get(to) === "dead" ? [{ rule: "dead_letter", to }] : [];
}
