/** store_show, store_share, store_leave, store_rejoin: what a person sees of the store, and the ways in and out. */
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { RequestOf } from "../../protocol/schemas/requests.ts";
import {
  type CopyNotes,
  type StoreLeaveReply,
  type StoreShareReply,
  type storeRequests,
  storeRowsMax,
} from "../../protocol/schemas/store.ts";
import { nodeOf } from "../core/nodes/shared-ids.ts";
import type { State } from "../core/state.ts";
import type { Reply } from "../core/tables/entries.ts";
import { claimerOf, numberOf } from "../core/tables/tasks.ts";
import { assigneeOf } from "../core/tasks/replies.ts";
import type { HandlersOf } from "../requests/handler.ts";
import type { Call } from "../server/call.ts";
import { sharedProject } from "../store/shared-project.ts";
import { noteReply } from "../trail/decisions.ts";
import { bothLogs, logsOfCopy } from "./both-logs.ts";
import { CopyRefused, contentsOf, mayCopy, missingAt } from "./copy.ts";
import { unreadOf } from "./copy-messages.ts";
import { staleOf } from "./reads.ts";
import type { StoreServices } from "./services.ts";
import { type Copied, isSharedAs, moveAll, projectsByName, shareProject, takeBack } from "./share.ts";
import { showStore } from "./show.ts";
import { askedFields } from "./trail.ts";

const none = refuse(
  "store_none",
  "no store is set, so nothing is shared; to share with other machines, a person runs: kite store join URL",
);

export const storeHandlers: HandlersOf<typeof storeRequests, StoreServices> = {
  store_show: (services, { cwd }, call) => {
    call.alone(showStore(services, cwd).then(shown => call.reply(shown)));
    return undefined;
  },
  store_share: (services, request, call) => {
    const work = alone(services, () => share(services, request));
    return answer(services, "store_share", request.dryRun !== true, call, work);
  },
  store_leave: (services, request, call) => {
    const work = alone(services, () => leave(services, request));
    return answer(services, "store_leave", request.dryRun !== true, call, work);
  },
  store_rejoin: (services, _request, call) =>
    answer(
      services,
      "store_rejoin",
      true,
      call,
      alone(services, () => rejoin(services)),
    ),
};

/** Answers a person; `isNoted`: the trail says what came of it. */
function answer(
  services: StoreServices,
  type: "store_share" | "store_leave" | "store_rejoin",
  isNoted: boolean,
  call: Call,
  work: Promise<Reply>,
): undefined {
  const done = (reply: Reply) => {
    if (isNoted) noteReply(services, type, null, reply, askedFields(reply));
    call.reply(reply);
  };
  const sending = work.then(done, (error: unknown) => {
    if (!(error instanceof CopyRefused)) throw error;
    done(error.refusal);
  });
  call.alone(sending);
  return undefined;
}

async function alone({ shared }: StoreServices, work: () => Promise<Reply>): Promise<Reply> {
  return shared === null ? none : shared.moving.byPerson(work, () => Promise.resolve(underWay));
}

const underWay = refuse(
  "store_busy",
  "another kite store command is under way; wait until it has ended, and run this again",
);

async function share(
  services: StoreServices,
  { cwd, dryRun = false, as: confirmed }: RequestOf<"store_share">,
): Promise<Reply> {
  const { shared } = services;
  if (shared === null) return none;
  const found = await nameOf(services, cwd);
  if ("ok" in found) return found;
  const { project, as } = found;
  if (confirmed !== undefined && confirmed !== as) {
    const error = `${project} has another name by now, ${as}, so nothing was shared; run this again: kite store share`;
    return refuse("store_project", error);
  }
  await shared.open(limits.storeOpenMs);
  const logs = bothLogs(shared);
  if ("ok" in logs) return logs;
  const here = shared.own.state;
  const before = here.outbox.projects.get(project);
  if (before !== undefined && before !== as) {
    const error = `${project} is shared as ${before}, and its name is ${as} now; give it its name of before, or leave first (kite store leave)`;
    return refuse("store_project", error);
  }
  const unread = unreadIn(here, project);
  const wasShared = isSharedAs(shared.own, project, as);
  if (dryRun) {
    if (!wasShared) mayCopy({ log: shared.own, project }, { log: logs.shared, project: as });
    const { tasks, context } = contentsOf({ log: shared.own, project });
    // If the store has a task already, only changes are brought over.
    const missing = missingAt({ log: logs.shared, project: as }, tasks);
    const counts = { tasks: missing.length, context: context.length, unread };
    return { ok: true, project, as, wasShared, ...counts, ...nothing } satisfies StoreShareReply;
  }
  const busy = busyRefusal(services, one => one === project);
  if (busy !== null) return busy;
  const copied = await shareProject(logs, project, as);
  return { ok: true, project, as, wasShared, unread, ...replyOf(copied) } satisfies StoreShareReply;
}

async function leave(
  services: StoreServices,
  { dryRun = false, away = false }: RequestOf<"store_leave">,
): Promise<Reply> {
  const { shared } = services;
  if (shared === null) return none;
  // An earlier command ended before it took the setting out.
  if (shared.left !== null) return leftBefore(shared.left.isTold);
  if (!away) await shared.open(limits.storeOpenMs);
  const both = away ? null : bothLogs(shared);
  if (both !== null && "ok" in both) return notLeftAway(both);
  const logs = both ?? logsOfCopy(shared);
  const stale = both === null ? staleOf(shared) : null;
  const known = stale === null ? {} : { storeAsOf: stale.asOfMs };
  const { own } = shared;
  const projects = [...own.state.outbox.projects].map(([project, as]) => ({ project, as }));
  if (dryRun) {
    const names = [...projectsByName(own).keys()];
    const letters = names.flatMap(as => [...unreadOf({ log: logs.shared, project: as }, shared.node)]);
    const unread = letters.reduce((sum, [, one]) => sum + one.length, 0);
    const all = names.map(as => contentsOf({ log: logs.shared, project: as }));
    const tasks = all.reduce((sum, one) => sum + one.tasks.length, 0);
    const context = all.reduce((sum, one) => sum + one.context.length, 0);
    const reply = { projects, tasks, context, unread, told: false, ...known, ...nothing };
    return { ok: true, ...reply, ...othersOf(logs) } satisfies StoreLeaveReply;
  }
  const busy = busyRefusal(services, project => own.state.outbox.projects.has(project));
  if (busy !== null) return busy;
  const [, view] = services.engine.logs;
  // What broke off before: what is left here goes there, and comes back with the rest.
  const moved: Copied[] = [];
  if (both !== null) await moveAll(both, (_sharing, one) => moved.push(one)).catch(notMoved);
  const before = othersOf(logs);
  const back = await takeBack(logs, shown => view?.outward(shown) ?? shown).catch(notLeft);
  const [leftOut, returns] = [moved.flatMap(one => one.leftOut), moved.flatMap(one => one.returns)];
  const copied = { ...back, leftOut, returns };
  const isStoreTold = (await shared.leave()).ok;
  const { unread } = copied;
  const others = renumbered(before, own.state);
  const more = { ...replyOf(copied), ...others, ...known };
  return { ok: true, projects, unread, told: isStoreTold, ...more } satisfies StoreLeaveReply;
}

/** Returns what agents of other machines work on in the shared projects. */
function othersOf({ own, shared, node }: Parameters<typeof takeBack>[0]): Pick<StoreLeaveReply, "others"> {
  const open = [...projectsByName(own).keys()].flatMap(as => contentsOf({ log: shared, project: as }).tasks);
  const tasks = open.flatMap(task => {
    const claimer = claimerOf(task);
    if (claimer === null || nodeOf(claimer.session) === node) return [];
    const agent = assigneeOf(shared.state, task)?.name ?? claimer.session;
    return [{ task: task.id, number: numberOf(task), agent }];
  });
  const { length: count } = tasks;
  return count === 0 ? {} : { others: { count, tasks: tasks.slice(0, storeRowsMax) } };
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

/** Says that a leave did not begin, and what gets a person out if the store takes no more. */
function notMoved(error: unknown): never {
  if (!(error instanceof CopyRefused)) throw error;
  const so =
    "This machine is still in the store. To leave without moving that first: kite store leave --away";
  throw new CopyRefused({ ...error.refusal, error: `${error.message}. ${so}` });
}

/** Says that a leave broke off. */
function notLeft(error: unknown): never {
  if (!(error instanceof CopyRefused)) throw error;
  const so =
    "this machine is still in the store, and Kite takes out by itself what was copied back; to leave, run this again";
  throw new CopyRefused({ ...error.refusal, error: `${so}. ${error.message}` });
}

function leftBefore(isStoreTold: boolean): Reply {
  const none = { projects: [], tasks: 0, context: 0, unread: 0, ...nothing };
  return { ok: true, ...none, told: isStoreTold, leftBefore: true } satisfies StoreLeaveReply;
}

async function rejoin(services: StoreServices): Promise<Reply> {
  const { shared, renewNode } = services;
  if (shared === null) return none;
  const busy = busyRefusal(services, project => shared.own.state.outbox.projects.has(project));
  if (busy !== null) return busy;
  const made = renewNode();
  if ("ok" in made) return made;
  if (made.is !== "own") throw new Error("a new id is this home's own");
  const { node } = made;
  // The sessions of this home are told of anew, under its new id.
  const projects = [...shared.own.state.outbox.projects];
  const reply = await shared.setSharing({ type: "sharing_set", node, projects });
  return reply.ok ? { ok: true, node } : reply;
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

/** Returns how many letters of a project nobody has read. */
function unreadIn({ messages }: State, project: string): number {
  let count = 0;
  for (const message of messages.all.values()) if (message.project === project) count += message.open;
  return count;
}

const nothing: CopyNotes = { numbers: [], keys: [], released: [], leftOut: [], returns: [] };

/** Returns what a reply says of a copy: `storeRowsMax` rows of each list, and how many there are besides. */
export function replyOf({ tasks, context, numbers, keys, released, leftOut, returns }: Copied) {
  const lists = { numbers, keys, released, leftOut, returns };
  const more: [string, number][] = [];
  const cut = Object.entries(lists).map(([name, rows]) => {
    if (rows.length > storeRowsMax) more.push([name, rows.length - storeRowsMax]);
    return [name, rows.slice(0, storeRowsMax)];
  });
  const left = more.length === 0 ? {} : { more: Object.fromEntries(more) };
  return { tasks, context, ...(Object.fromEntries(cut) as typeof lists), ...left };
}
