/** store_show, store_share, store_leave, store_rejoin: what a person sees of the store, and the ways in and out. */
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { RequestOf } from "../../protocol/schemas/requests.ts";
import {
  type CopyNotes,
  type LocalProjectRow,
  type StoreLeaveReply,
  type StoreRow,
  type StoreShareReply,
  type StoreShowReply,
  type StoreState,
  type storeRequests,
  storeRowsMax,
} from "../../protocol/schemas/store.ts";
import { offRows } from "../config/off-switch.ts";
import { durableValuesIn, openTasksIn, sharedProjects, sharingOf } from "../core/sharing.ts";
import type { State } from "../core/state.ts";
import type { Reply } from "../core/tables/entries.ts";
import { claimerOf, numberOf, type Task } from "../core/tables/tasks.ts";
import { assigneeOf } from "../core/tasks/replies.ts";
import type { Needs } from "../hooks/parts.ts";
import type { Services } from "../options.ts";
import type { HandlersOf } from "../requests/handler.ts";
import type { Call } from "../server/call.ts";
import { noteReply } from "../trail/decisions.ts";
import type { StoreRefusal } from "./address.ts";
import type { Moved } from "./moves.ts";
import type { NodeState } from "./private-files.ts";
import type { SharedProject } from "./project.ts";
import type { Shared } from "./shared.ts";
import { type ProjectReader, sharedProject } from "./shared-project.ts";

export interface StoreServices extends Services, Needs<"config"> {
  /** The store that this machine shares with others; null: none is set. */
  readonly shared: Shared | null;
  /** Reads the names by which machines know projects. */
  readonly projectNames: ProjectReader;
  /** Gives this home a new id in the store, from the next start. */
  renewNode(): NodeState | StoreRefusal;
}

const none = refuse(
  "store_none",
  "no store is set, so nothing is shared; to share with other machines, a person runs: kite store join URL",
);

export const storeHandlers: HandlersOf<typeof storeRequests, StoreServices> = {
  store_show: (services, { cwd }, call) => {
    call.alone(showStore(services, cwd).then(shown => call.reply(shown)));
    return undefined;
  },
  store_share: (services, request, call) =>
    answer(services, "store_share", call, shared => share(services, shared, request), request.dryRun),
  store_leave: (services, request, call) =>
    answer(services, "store_leave", call, shared => leave(services, shared, request), request.dryRun),
  store_rejoin: (services, _request, call) =>
    answer(services, "store_rejoin", call, async shared => rejoin(services, shared)),
};

/** Answers a person. The trail says what came of it, unless it only says what would be done. */
function answer(
  services: StoreServices,
  type: "store_share" | "store_leave" | "store_rejoin",
  call: Call,
  work: (shared: Shared) => Promise<Reply>,
  isDry = false,
): undefined {
  const { shared } = services;
  const working = shared === null ? Promise.resolve(none) : work(shared);
  call.alone(
    working.then(reply => {
      const fields = shared?.trailFields(reply) ?? { rule: "store", type: null };
      if (!isDry) noteReply(services, type, null, reply, fields);
      call.reply(reply);
    }),
  );
  return undefined;
}

// What a person sees.

/** `cwd`: a directory whose project is looked at, too. */
async function showStore(services: StoreServices, cwd: string | undefined): Promise<StoreShowReply> {
  const { shared } = services;
  const all = [...sharedProjects(services.engine.state)].map(({ project, as }) => ({ project, as }));
  const projects = all.slice(0, storeRowsMax);
  if (shared === null) return { ok: true, store: null, nodes: [], projects, local: [] };
  const local = await localRows(services, cwd);
  return {
    ok: true,
    store: { ...shared.row, ...coordination(services) },
    nodes: shared.nodes,
    projects,
    local,
  };
}

/** Returns the store as screens show it, with whether edits are coordinated now. */
export function storeNow(services: Coordinating, shared: Shared): StoreState {
  return { ...shared.state, ...coordination(services) };
}

type Coordinating = Pick<StoreServices, "config" | "clock">;

/** Edits do not need the store, but Kite may be off, or only observe. */
function coordination({ config, clock }: Coordinating): Pick<StoreRow, "uncoordinated"> {
  const { offSwitches, settings } = config;
  const isOn = offRows(offSwitches.read(), clock.wall()).length === 0 && settings.values.mode === "act";
  return isOn ? {} : { uncoordinated: true };
}

/** Returns the projects that stay here, each with its name or why it has none. */
async function localRows(services: StoreServices, cwd: string | undefined): Promise<LocalProjectRow[]> {
  const { engine, facts, config, projectNames } = services;
  const rows = new Map<string, LocalProjectRow>();
  for (const place of [...(cwd === undefined ? [] : [cwd]), ...worktrees(engine.state)]) {
    const repository = await facts.repository(place);
    if ("unreachable" in repository) continue;
    const { project } = repository;
    if (rows.has(project) || sharingOf(engine.state, project) !== undefined) continue;
    const rules = await config.rules.at(repository);
    const found = await sharedProject(projectNames, repository, rules.sections.project);
    if ("unreachable" in found) rows.set(project, { project, name: null, why: found.unreachable });
    else rows.set(project, { project, name: found.name, why: found.name === null ? found.why : null });
  }
  return [...rows.values()];
}

/** Projects of which is looked why they stay here, since each look reads files. */
const looksMax = 20;

/** Returns a worktree of each project in which a session is, but for shared ones. */
function worktrees(state: State): string[] {
  const found = new Map<string, string>();
  for (const { project, worktree } of state.sessions.live.values()) {
    if (found.size >= looksMax) break;
    if (sharingOf(state, project) === undefined && worktree.startsWith("/")) found.set(project, worktree);
  }
  return [...found.values()];
}

// The ways in and out.

async function share(
  services: StoreServices,
  shared: Shared,
  { cwd, dryRun = false, as: confirmed }: RequestOf<"store_share">,
): Promise<Reply> {
  const found = await nameOf(services, cwd);
  if ("ok" in found) return found;
  const { project, as } = found;
  if (confirmed !== undefined && confirmed !== as) {
    const error = `${project} has another name by now, ${as}, so nothing was shared; run this again: kite store share`;
    return refuse("store_project", error);
  }
  const away = await shared.reach();
  if (away !== null) return away;
  const { state } = shared.own;
  const before = sharingOf(state, project);
  if (before !== undefined && before.as !== as) {
    const error = `${project} is shared as ${before.as}, and its name is ${as} now; give it its name of before, or leave first (kite store leave)`;
    return refuse("store_project", error);
  }
  const [wasShared, unread] = [before !== undefined, unreadIn(state, project, () => true)];
  if (dryRun) {
    const { tasks, context } = shared.moves.wouldShare(project);
    const reply = { project, as, wasShared, tasks, context, unread, ...nothing };
    return { ok: true, ...reply } satisfies StoreShareReply;
  }
  const busy = busyRefusal(services, one => one === project);
  if (busy !== null) return busy;
  const moved = await shared.moves.share(project, as);
  if ("ok" in moved) return moved;
  return { ok: true, project, as, wasShared, unread, ...replyOf(moved) } satisfies StoreShareReply;
}

async function leave(
  services: StoreServices,
  shared: Shared,
  { dryRun = false, away = false }: RequestOf<"store_leave">,
): Promise<Reply> {
  // An earlier command ended before it took the setting out.
  if (shared.left !== null) return leftBefore(shared.left.isTold);
  const refusal = away ? null : await shared.reach();
  if (refusal !== null) return notLeftAway(refusal);
  const asOf = shared.asOfMs;
  const known = asOf === undefined ? {} : { storeAsOf: asOf };
  const { state } = shared.own;
  const projects = [...sharedProjects(state)].map(({ project, as }) => ({ project, as }));
  const before = othersOf(shared);
  if (dryRun)
    return { ok: true, projects, ...countsOf(shared), told: false, ...known, ...nothing, ...before };
  const busy = busyRefusal(services, project => sharingOf(state, project) !== undefined);
  if (busy !== null) return busy;
  const left = await shared.moves.leave(away);
  if ("ok" in left) return left;
  shared.hasLeft(left.isTold);
  const { unread, isTold: told } = left;
  const more = { ...replyOf(left), ...renumbered(before, shared.own.state), ...known };
  return { ok: true, projects, unread, told, ...more } satisfies StoreLeaveReply;
}

/** Returns what would come back. */
function countsOf(shared: Shared): Pick<StoreLeaveReply, "tasks" | "context" | "unread"> {
  const counts = { tasks: 0, context: 0, unread: 0 };
  for (const { state, local, names } of shared.copies()) {
    const own = state.sessions.byNode.get(names.node);
    counts.tasks += openTasksIn(state, local).length;
    counts.context += durableValuesIn(state, local, 0).length;
    counts.unread += unreadIn(state, local, session => own?.has(session) === true);
  }
  return counts;
}

/** Returns what agents of other machines work on in the shared projects. */
function othersOf(shared: Shared): Pick<StoreLeaveReply, "others"> {
  const tasks = shared
    .copies()
    .flatMap(project => openTasksIn(project.state, project.local).flatMap(task => workedOnBy(project, task)));
  const { length: count } = tasks;
  return count === 0 ? {} : { others: { count, tasks: tasks.slice(0, storeRowsMax) } };
}

type OthersTask = NonNullable<StoreLeaveReply["others"]>["tasks"][number];

/** Returns the task with the agent of another machine that works on it, if one does. */
function workedOnBy({ state, names }: SharedProject, task: Task): readonly OthersTask[] {
  const claimer = claimerOf(task);
  if (claimer === null || state.sessions.byNode.get(names.node)?.has(claimer.session) === true) return [];
  const agent = assigneeOf(state, task)?.name ?? claimer.session;
  return [{ task: task.id, number: numberOf(task), agent }];
}

/** Returns the same with the numbers that the tasks have here. */
function renumbered(
  { others }: Pick<StoreLeaveReply, "others">,
  { tasks: { all } }: State,
): Pick<StoreLeaveReply, "others"> {
  if (others === undefined) return {};
  const tasks = others.tasks.map(row => {
    const task = all.get(row.task);
    return task === undefined ? row : { ...row, number: numberOf(task) };
  });
  return { others: { ...others, tasks } };
}

/** Names the way out if the store does not answer. */
function notLeftAway(refusal: Refusal): Refusal {
  const how = "To leave with what this machine knows of the store: kite store leave --away";
  return { ...refusal, error: `${refusal.error.replace(/\.$/, "")}. ${how}` };
}

function leftBefore(isTold: boolean): Reply {
  const none = { projects: [], tasks: 0, context: 0, unread: 0, ...nothing };
  return { ok: true, ...none, told: isTold, leftBefore: true } satisfies StoreLeaveReply;
}

function rejoin(services: StoreServices, shared: Shared): Reply {
  const { state } = shared.own;
  const busy = busyRefusal(services, project => sharingOf(state, project) !== undefined);
  if (busy !== null) return busy;
  const made = services.renewNode();
  if ("ok" in made) return made;
  if (made.is !== "own") throw new Error("a new id is this home's own");
  return { ok: true, node: made.node };
}

/** Returns the project of a directory, with the name that machines know it by. */
async function nameOf(
  services: StoreServices,
  cwd: string,
): Promise<{ readonly project: string; readonly as: string } | Refusal> {
  const repository = await services.facts.repository(cwd);
  if ("unreachable" in repository) return refuse("path_unreachable", repository.unreachable);
  const rules = await services.config.rules.at(repository);
  const found = await sharedProject(services.projectNames, repository, rules.sections.project);
  if ("unreachable" in found) return refuse("path_unreachable", found.unreachable);
  if (found.name === null) return refuse("store_project", found.why);
  return { project: repository.project, as: found.name };
}

/** Refuses if an agent of such a project is in its turn. */
function busyRefusal(
  { engine, presence }: StoreServices,
  isOf: (project: string) => boolean,
): Refusal | null {
  const names: string[] = [];
  for (const { id, name, project } of engine.state.sessions.live.values())
    if (isOf(project) && presence.isInTurn(id)) names.push(name);
  if (names.length === 0) return null;
  const [shown, more] = [names.slice(0, limits.idsNamedMax), Math.max(0, names.length - limits.idsNamedMax)];
  const who = `${shown.join(", ")}${more === 0 ? "" : ` and ${more} more`}`;
  return refuse("store_busy", `at work: ${who}; wait until they have answered, and run this again`);
}

/** Returns how many letters of a project such sessions have not read. */
function unreadIn({ messages }: State, project: string, isReader: (session: string) => boolean): number {
  let count = 0;
  for (const message of messages.all.values()) {
    if (message.open === 0 || message.project !== project) continue;
    for (const { to, state } of message.letters.values())
      if (state !== "read" && state !== "handed" && isReader(to.id)) count += 1;
  }
  return count;
}

const nothing: CopyNotes = { numbers: [], keys: [], released: [], leftOut: [], returns: [], stays: [] };

/** Returns what a reply says of a copy: `storeRowsMax` rows of each list, and how many there are besides. */
export function replyOf({ tasks, context, ...moved }: Moved) {
  const { numbers, keys, released, leftOut, returns, stays } = moved;
  const lists = { numbers, keys, released, leftOut, returns, stays };
  const more: [string, number][] = [];
  const cut = Object.entries(lists).map(([name, rows]) => {
    if (rows.length > storeRowsMax) more.push([name, rows.length - storeRowsMax]);
    return [name, rows.slice(0, storeRowsMax)];
  });
  const left = more.length === 0 ? {} : { more: Object.fromEntries(more) };
  return { tasks, context, ...(Object.fromEntries(cut) as typeof lists), ...left };
}
