/** What a lead reads: its agents by state, the critical path, who waits for whom, what is new, and one suggestion. */

import { nameOrPerson } from "../../../protocol/names.ts";
import type { LockRow } from "../../../protocol/schemas/lock.ts";
import type { TaskRow } from "../../../protocol/schemas/task.ts";
import type { SessionRow } from "../../../protocol/session-rows.ts";
import { quote, shellArgument } from "../../../protocol/text.ts";
import type { ElsewhereRow } from "../../../protocol/work.ts";
import { standing } from "../../tasks/standing.ts";
import { elsewhereState, elsewhereTitle } from "../../view/elsewhere.ts";
import { Places, projectName } from "../../view/places.ts";
import { clean, clock, counted, cut, duration, pad, type Screen, widthOf, wrap } from "../../view/text.ts";
import { criticalPath } from "../screen/critical-path.ts";
import { type Suggestion, suggestionFor } from "../screen/suggestion.ts";
import { type Member, membersOf, type Reader } from "../screen/team.ts";
import { healthText } from "./health.ts";

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

/** Returns one screen of text: at most about 35 lines, and 7 where a store is set; each is as wide as the screen at most. */
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
