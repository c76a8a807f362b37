/** `kite status --lead`. */

import { BoundedMap } from "../../daemon/bounded-map.ts";
import { isLeadRole } from "../../daemon/core/tables/role-words.ts";
import { defaultRole, rights } from "../../protocol/lead/roles.ts";
import type { SpawnRow } from "../../protocol/lead/spawn.ts";
import type { HealthRow, HealthState } from "../../protocol/lead/team.ts";
import { limits } from "../../protocol/limits.ts";
import { isGrave, nameOrPerson, type Risk } from "../../protocol/names.ts";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import type { AgentRow, SessionRow } from "../../protocol/session-rows.ts";
import { quote, shellArgument } from "../../protocol/text.ts";
import type { ElsewhereRow } from "../../protocol/work.ts";
import { actingSession } from "../context/actor.ts";
import type { Client, ProcessContext } from "../context/process-context.ts";
import { projectOf } from "../context/project.ts";
import { printShown, rowsOf, withDaemon } from "../context/with-daemon.ts";
import { Places, projectName } from "../view/places.ts";
import { elsewhereState, elsewhereTitle } from "../view/session-notes.ts";
import { standing } from "../view/task-names.ts";
import { clean, clock, counted, cut, duration, pad, type Screen, widthOf, wrap } from "../view/text.ts";
import { healthText } from "./view/features.ts";

// The longest chain of unfinished tasks, each of which depends on the one before.

/**
 * Returns the chain, the task to do first at its beginning; empty if all tasks are done. Of several, the one whose last task
 * is the oldest. Its cost grows with tasks and dependencies. The daemon accepts no cycle; one in the rows ends the chain.
 */
export function criticalPath(tasks: readonly TaskRow[]): TaskRow[] {
  const open = new Map(tasks.filter(({ status }) => status !== "done").map(task => [task.id, task]));
  const before = new Map<string, string | null>();
  const lengths = new Map<string, number>();
  for (const id of open.keys()) measure(id, open, before, lengths);
  let last: string | null = null;
  for (const [id, length] of lengths) if (length > (last === null ? 0 : (lengths.get(last) ?? 0))) last = id;
  const chain: TaskRow[] = [];
  for (let id = last; id !== null; id = before.get(id) ?? null) {
    const task = open.get(id);
    if (task !== undefined) chain.unshift(task);
  }
  return chain;
}

/** Measures the longest chain that ends with a task, without recursion: a chain may be as long as there are tasks. */
function measure(
  from: string,
  open: ReadonlyMap<string, TaskRow>,
  before: Map<string, string | null>,
  lengths: Map<string, number>,
): void {
  const stack = [from];
  const entered = new Set<string>();
  for (let id = stack.at(-1); id !== undefined; id = stack.at(-1)) {
    const needs = (open.get(id)?.dependsOn ?? []).filter(need => open.has(need));
    const unmeasured = needs.filter(need => !lengths.has(need) && !entered.has(need));
    if (!entered.has(id) && unmeasured.length > 0) {
      entered.add(id);
      stack.push(...unmeasured);
      continue;
    }
    stack.pop();
    if (lengths.has(id)) continue;
    let longest: string | null = null;
    for (const need of needs)
      if ((lengths.get(need) ?? 0) > (longest === null ? 0 : (lengths.get(longest) ?? 0))) longest = need;
    before.set(id, longest);
    lengths.set(id, 1 + (longest === null ? 0 : (lengths.get(longest) ?? 0)));
  }
}

// The agents of a project as their lead sees them: one entry for each main agent and each agent within a session.

interface Member {
  readonly id: string;
  readonly agent: string | null;
  /** `alice`, or `alice/Explore` for an agent within a session. */
  readonly name: string;
  /** As people read it; empty: it has the default one and declared none. */
  readonly role: string;
  /** The tasks that its role may claim. */
  readonly takes: readonly Risk[];
  readonly state: HealthState;
  readonly health: HealthRow | null;
  readonly pid: number | null;
  /** What it waits for a person for; null: nothing. */
  readonly attention: string | null;
  readonly locks: number;
  /** What it declared that it works on; empty: nothing. */
  readonly task: string;
  readonly registeredAt: number;
}

/** Whose screen it is; null: a person's. */
interface Reader {
  readonly id: string;
  readonly agent: string | null;
}

/** What needs a lead comes first. */
const order: readonly HealthState[] = ["stalled", "stopped", "dead", "quiet", "waiting", "working", "idle"];

/** Returns all agents but the reader, those that need the lead first, then by name. */
export function membersOf(sessions: readonly SessionRow[], reader: Reader | null): Member[] {
  const all = sessions.filter(({ status }) => status !== "lost").flatMap(membersIn);
  const others = all.filter(({ id, agent }) => id !== reader?.id || agent !== reader.agent);
  const rank = ({ state }: Member) => order.indexOf(state);
  return others.sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
}

function membersIn(session: SessionRow): Member[] {
  const { id, name, pid, registeredAt, attention, waitingFor, status } = session;
  const main: Member = {
    id,
    agent: null,
    name,
    ...roleOf(session),
    state: session.health?.state ?? plainState(status, waitingFor, attention),
    health: session.health ?? null,
    pid,
    attention,
    locks: session.locks,
    task: session.declared?.task ?? "",
    registeredAt,
  };
  const agents = session.agents.map(one => ({
    id,
    agent: one.agent,
    name: `${name}/${one.name}`,
    ...roleOf(one),
    state: one.health?.state ?? plainState(one.status, one.waitingFor, null),
    health: one.health ?? null,
    pid,
    attention: one.health?.on === "person" ? (one.health.why ?? "") : null,
    locks: one.locks,
    task: one.declared?.task ?? "",
    registeredAt,
  }));
  return [main, ...agents];
}

function roleOf({ role, declared }: Pick<AgentRow, "role" | "declared">): Pick<Member, "role" | "takes"> {
  return { role: role?.role ?? declared?.role ?? "", takes: rights[role?.role ?? defaultRole].takes };
}

/** The state of an agent of which no event came since the daemon started. */
function plainState(
  status: SessionRow["status"],
  waitingFor: string | null,
  attention: string | null,
): HealthState {
  if (waitingFor !== null || attention !== null) return "waiting";
  return status === "active" ? "working" : "idle";
}

/** Whether the reader leads: it was given that role, declared so, or began agents: in its session, in sessions of their own, or by spawning. */
export function isLead(
  sessions: readonly SessionRow[],
  spawns: readonly Pick<SpawnRow, "parent" | "endedAt">[],
  { id, agent }: Reader,
): boolean {
  const session = sessions.find(one => one.id === id);
  const own = agent === null ? session : session?.agents.find(one => one.agent === agent);
  const isNamed = own?.role?.role === "lead" || isLeadRole(own?.declared?.role ?? "");
  const began = agent === null && (session?.agents.length ?? 0) > 0;
  const leads = agent === null && sessions.some(one => one.teammate?.lead === id);
  const spawned = spawns.some(
    ({ parent, endedAt }) => endedAt === null && parent?.id === id && parent.agent === agent,
  );
  return isNamed || began || leads || spawned;
}

// What a lead may do next: at most one thing.

type Suggestion =
  | { readonly what: "ask_person"; readonly member: Member }
  | { readonly what: "look"; readonly member: Member }
  | { readonly what: "give"; readonly member: Member; readonly task: TaskRow };

/** Returns an agent that waits for a person, else one that stalled, else an idle one with a ready task that fits its role. */
export function suggestionFor(members: readonly Member[], tasks: readonly TaskRow[]): Suggestion | null {
  const asking = members.find(({ attention, state }) => attention !== null && state === "waiting");
  if (asking !== undefined) return { what: "ask_person", member: asking };
  const stalled = members.find(({ state }) => state === "stalled" || state === "stopped");
  if (stalled !== undefined) return { what: "look", member: stalled };
  // A red or critical task is given by the lead's own decision.
  const ready = tasks.filter(task => standing(task) === "ready" && !isGrave(task.risk));
  for (const member of members) {
    if (member.state !== "idle" || tasks.some(task => isOf(task, member))) continue;
    const task = bestFor(member, ready);
    if (task !== undefined) return { what: "give", member, task };
  }
  return null;
}

function isOf({ assignee, assigneeAgent, status }: TaskRow, { id, agent }: Member): boolean {
  return status === "active" && assignee === id && assigneeAgent === agent;
}

/** Roles whose tasks are of a kind of their own, by the beginning of the words for them. */
const specialists = ["test", "review", "research", "explor", "doc", "design", "architect"] as const;

function bestFor({ role, takes }: Member, ready: readonly TaskRow[]): TaskRow | undefined {
  const kinds = specialists.filter(kind => beginsWord(role, kind));
  const fits = ({ labels, risk }: TaskRow) => {
    if (!takes.includes(risk)) return false;
    const taskKinds = specialists.filter(kind => labels.some(label => beginsWord(label, kind)));
    return kinds.length === 0 ? taskKinds.length === 0 : taskKinds.some(kind => kinds.includes(kind));
  };
  return ready.find(fits);
}

function beginsWord(text: string, kind: string): boolean {
  return text
    .toLowerCase()
    .split(/[^a-z]+/u)
    .some(word => word.startsWith(kind));
}

// What a lead reads: its agents by state, the critical path, who waits for whom, what is new, and one suggestion.

export interface LeadData {
  readonly project: string;
  /** Whose screen it is; null: a person's. */
  readonly reader: Reader | null;
  readonly sessions: readonly SessionRow[];
  readonly locks: readonly LockRow[];
  readonly tasks: readonly TaskRow[];
  /** Wall time of the reader's last look, in milliseconds. */
  readonly sinceMs: number;
  /** Sessions of other machines; absent where no store is set. */
  readonly elsewhere?: readonly ElsewhereRow[];
}

const membersMax = 12;
const farMax = 5;
const pathMax = 5;
const blockedMax = 5;
const newsMax = 5;
/** Characters of a task's description. */
const taskChars = 40;

/** Returns one screen of text: at most about 35 lines, and 7 where a store is set. No line is wider than the screen. */
export function leadView(data: LeadData, screen: Screen): string[] {
  const members = membersOf(data.sessions, data.reader);
  const suggestion = suggestionFor(members, data.tasks);
  return [
    ...wrap(headline(data, members), screen.width, 2),
    ...memberLines(data, members, screen),
    ...section(elsewhereTitle(data.elsewhere ?? []), farLines(data), screen),
    ...section("Critical path", pathLines(data, screen), screen),
    ...section("Blocked", blockedLines(data, screen), screen),
    ...section(`New since ${clock(data.sinceMs, screen.now)}`, newsLines(data, members), screen),
    ...(suggestion === null ? [] : ["", ...wrap(`Next: ${suggestionText(suggestion)}`, screen.width, 2)]),
  ];
}

function headline({ project, tasks, elsewhere = [] }: LeadData, members: readonly Member[]): string {
  const states = [...new Set(members.map(({ state }) => state))];
  const byState = states.map(state => `${members.filter(one => one.state === state).length} ${state}`);
  const open = tasks.filter(({ status }) => status !== "done");
  const of = byState.length === 0 ? "" : ` (${byState.join(", ")})`;
  const here = elsewhere.length === 0 ? "" : " on this machine";
  const agents = members.length === 0 ? `no other agents${here}` : counted(members.length, "agent");
  const ready = open.filter(task => standing(task) === "ready").length;
  const left = open.length === 0 ? "no open tasks" : `${counted(open.length, "open task")}, ${ready} ready`;
  return `${projectName(project)}: ${agents}${of}; ${left}`;
}

/** Each agent on a line; of many, the last ones share a line. */
function memberLines({ tasks }: LeadData, members: readonly Member[], screen: Screen): string[] {
  const shown = members.length > membersMax ? members.slice(0, membersMax - 1) : members;
  const rows = shown.map(member => ({
    name: clean(member.name),
    state: stateText(member),
    doing: doing(member, tasks),
  }));
  const nameWidth = Math.min(24, Math.max(0, ...rows.map(({ name }) => widthOf(name))));
  const stateWidth = Math.min(32, Math.max(0, ...rows.map(({ state }) => widthOf(state))));
  const lines = rows.map(({ name, state, doing: what }) => {
    const line = `  ${pad(cut(name, nameWidth), nameWidth)}  ${pad(cut(state, stateWidth), stateWidth)}  ${what}`;
    return cut(line.trimEnd(), screen.width);
  });
  const rest = members.slice(shown.length);
  const states = [...new Set(rest.map(({ state }) => state))].map(
    state => `${rest.filter(one => one.state === state).length} ${state}`,
  );
  return rest.length === 0
    ? lines
    : [...lines, cut(`  and ${rest.length} more: ${states.join(", ")}`, screen.width)];
}

function stateText({ state, health }: Member): string {
  return health === null ? state : healthText(health);
}

function doing(member: Member, tasks: readonly TaskRow[]): string {
  const role = member.role === "" ? "" : `${clean(member.role)}, `;
  const claimed = tasks.find(
    ({ status, assignee, assigneeAgent }) =>
      status === "active" && assignee === member.id && assigneeAgent === member.agent,
  );
  const task = claimed === undefined ? "" : `#${claimed.number} ${quote(claimed.description, taskChars)}`;
  const declared = member.task === "" ? "" : `on ${quote(member.task, taskChars)}`;
  return `${role}${task === "" ? declared : task}`.replace(/, $/, "");
}

/** Agents of other machines: what each does, and whether its machine is silent. */
function farLines({ elsewhere = [], tasks }: LeadData): string[] {
  const lines = elsewhere.map(row => {
    const { name, role = "", tasks: claimed, declared } = row;
    const number = tasks.find(({ id }) => id === claimed[0]?.id)?.number;
    const what = claimed[0]?.description ?? declared?.task ?? "";
    const on = what === "" ? "" : `${number === undefined ? "on" : `#${number}`} ${quote(what, taskChars)}`;
    const parts = [clean(role), on, elsewhereState(row)].filter(part => part !== "");
    return [clean(name), ...(parts.length === 0 ? [] : [parts.join(", ")])].join(": ");
  });
  return bounded(lines, farMax);
}

function pathLines({ tasks }: LeadData, screen: Screen): string[] {
  const path = criticalPath(tasks);
  if (path.length < 2) return [];
  const first = path.slice(0, path.length > pathMax ? pathMax - 1 : pathMax);
  const lines = first.map((task, i) => {
    const who =
      task.assigneeName === null || task.status !== "active" ? standing(task) : clean(task.assigneeName);
    return cut(`${i + 1}. #${task.number} ${quote(task.description, taskChars)}: ${who}`, screen.width - 2);
  });
  const more = path.length - first.length;
  return more === 0 ? lines : [...lines, `and ${counted(more, "task")} more after these`];
}

/** Who waits for whose lock, and which task for whose. */
function blockedLines({ sessions, locks, tasks }: LeadData, screen: Screen): string[] {
  const places = new Places(sessions, locks, screen.home);
  const byLocks = locks.flatMap(lock =>
    lock.waiters
      .filter(({ attached }) => attached)
      .map(({ name, waitedMs }) => {
        const holder = lock.holder === null ? "an earlier waiter" : clean(lock.holder.name);
        return `${clean(name)} waits for ${places.lock(lock)}, which ${holder} has, for ${duration(waitedMs)}`;
      }),
  );
  const byId = new Map(tasks.map(task => [task.id, task]));
  const byTasks = tasks.flatMap(task => {
    const on = task.blockedBy
      .map(({ task }) => byId.get(task))
      .find(one => one?.status === "active" || one?.status === "failed");
    if (task.status !== "pending" || on === undefined) return [];
    const who = on.status === "failed" ? "which failed" : `of ${clean(nameOrPerson(on.assigneeName))}`;
    return [`#${task.number} ${quote(task.description, taskChars)} waits for #${on.number} ${who}`];
  });
  return bounded([...byLocks, ...byTasks], blockedMax);
}

/** What happened since the last look, as far as rows tell: tasks that moved, agents that came. */
function newsLines({ tasks, sinceMs }: LeadData, members: readonly Member[]): string[] {
  const moved = tasks
    .filter(({ updatedAt }) => updatedAt > sinceMs)
    .sort((a, b) => b.updatedAt - a.updatedAt)
    .map(task => {
      const isNew = task.createdAt > sinceMs && task.status === "pending";
      const who = task.assigneeName === null ? "" : ` by ${clean(task.assigneeName)}`;
      const result = task.result === null ? "" : `: ${quote(task.result, taskChars)}`;
      const what = isNew ? "new" : standing(task) === "active" ? "begun" : standing(task);
      return `${what}: #${task.number} ${quote(task.description, taskChars)}${isNew ? "" : who}${result}`;
    });
  const came = members
    .filter(({ agent, registeredAt }) => agent === null && registeredAt > sinceMs)
    .map(({ name }) => `${clean(name)} began`);
  return bounded([...moved, ...came], newsMax);
}

function bounded(lines: readonly string[], max: number): string[] {
  if (lines.length <= max) return [...lines];
  return [...lines.slice(0, max - 1), `and ${lines.length - max + 1} more`];
}

function section(title: string, lines: readonly string[], screen: Screen): string[] {
  return lines.length === 0 ? [] : ["", title, ...lines.map(line => cut(`  ${line}`, screen.width))];
}

function suggestionText(suggestion: Suggestion): string {
  const { member } = suggestion;
  const name = clean(member.name);
  if (suggestion.what === "ask_person")
    return `${name} waits for a person${member.attention === "" ? "" : ` (${quote(member.attention ?? "")})`}: tell yours`;
  if (suggestion.what === "look") {
    const help = member.state === "stopped" && member.pid !== null ? `kill -CONT ${member.pid}, or ` : "";
    return `${name} is ${stateText(member)}: ${help}kite release ${clean(shellArgument(member.name))} gives back what it has`;
  }
  const { task } = suggestion;
  return `${name} is idle, and #${task.number} ${quote(task.description, taskChars)} is ready: ask ${name} to claim it`;
}

// Fetches what a lead's screen shows.

/** Returns the rows of a project for the reader, whose last look was at `sinceMs` (wall time). */
export async function leadData(
  client: Client,
  project: string,
  reader: Reader | null,
  sinceMs: number,
): Promise<LeadData> {
  const isSharing = client.daemon.sharedStoreId !== undefined;
  const [sessions, locks, tasks, elsewhere] = await Promise.all([
    rowsOf(client, "sessions", { project }),
    rowsOf(client, "locks", { project }),
    rowsOf(client, "tasks", { project }),
    isSharing ? rowsOf(client, "elsewhere", { project }) : null,
  ]);
  const far = elsewhere === null ? {} : { elsewhere };
  return { project, reader, sessions, locks, tasks, sinceMs, ...far };
}

/** When each of several readers looked last. */
export class LastLooks {
  readonly #at = new BoundedMap<string, number>({ entriesMax: limits.leadLooksMax });

  /** Returns the wall time of the reader's last look, and notes that it looks at `now`. */
  next({ id, agent }: Reader, now: number): number {
    const key = JSON.stringify([id, agent]);
    const last = this.#at.get(key) ?? now - limits.leadNewsMs;
    this.#at.set(key, now);
    return last;
  }
}

/** Shows one screen for the lead of the working directory's project. Returns the exit code. */
export async function showLead(world: ProcessContext, json: boolean): Promise<number> {
  const project = await projectOf(world.cwd);
  const acting = actingSession(world.env);
  const reader = acting === null ? null : { id: acting.id, agent: acting.agent ?? null };
  return withDaemon(world, json, async client => {
    const data = await leadData(client, project, reader, world.now() - limits.leadNewsMs);
    return printShown(world, json, data, screen => leadView(data, screen));
  });
}
