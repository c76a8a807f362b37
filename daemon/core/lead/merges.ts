/**
 * Queues merges.
 *
 * Invariants: a branch is queued once for a base. A request queues all of its branches, or none. A merge keeps its place
 * until it ends, whoever runs it.
 */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import type { MergeReason, MergeReasonCode, MergeRow, MergeThere } from "../../../protocol/lead/merge.ts";
import { limits } from "../../../protocol/limits.ts";
import { personOnWire } from "../../../protocol/names.ts";
import type { JsonValue } from "../../../protocol/schemas/context.ts";
import type { ActorRow } from "../../../protocol/schemas/lock.ts";
import { type Actor, boundKey } from "../frame/actors.ts";
import { ambiguity, isShortOf, matchesOf, nearestId, scopeOf } from "../frame/records.ts";
import { letterAt } from "../messages/inbox.ts";
import { postNotice } from "../messages/send.ts";
import type { Meta } from "../tables/base-state.ts";
import { type Handler, type TimedRules, timer } from "../tables/base-state.ts";
import type { CommandOf } from "../tables/entries.ts";
import {
  freeing,
  lasting,
  lastingAndFreeing,
  type MachinePart,
  passing,
  type Step,
} from "../tables/entries.ts";
import { actorRow, isAlive, isElsewhere, noSession } from "../tables/naming.ts";
import type { PartRow } from "../tables/parts.ts";
import { returnAll } from "../tasks/leave.ts";
import { bytesOf } from "./debates.ts";
import { leadsOf } from "./health.ts";
import { leadsOf as leadsIn } from "./roles.ts";
import type { State } from "./state.ts";
import {
  addMerge,
  baseKey,
  inOrder,
  isOpen,
  type Merge,
  type MergeCommands,
  type MergeDues,
  type MergeQueue,
  type MergeReport,
  type Merges,
  mergeOf,
  mergeRecords,
  moves,
  type NewMerge,
  putMerge,
  queueOf,
} from "./tables/merges.ts";
import { spawnAt } from "./tables/spawns.ts";

// How merges are found and named in replies, refusals, events and messages.

/**
 * Returns the merge that a request names, or a refusal. A name is a whole id. With `project` it may also be a prefix of an
 * id, or the id's last part, if only one merge of the project has it. `project` null: whole ids alone.
 */
function findMerge(merges: Merges, name: string, project: string | null): Merge | Refusal {
  const exact = merges.all.get(name);
  if (exact !== undefined) return exact;
  const matches = project === null ? [] : matchesOf(merges, name, scopeOf(project));
  const [first] = matches;
  if (first !== undefined && matches.length === 1) return mergeOf(merges, first);
  if (first === undefined) return unknownMerge(merges, name, project);
  const { error, shown } = ambiguity("merges", name, matches);
  return refuse("ambiguous_merge", error, { merge: name, matches: shown });
}

/** Refuses an unknown name with the nearest id of the project. */
function unknownMerge(merges: Merges, name: string, project: string | null): Refusal {
  const near = project === null ? null : nearestId(merges, name, scopeOf(project));
  const isShort = isShortOf("mg", name);
  const where = isShort && project !== null ? " in this project" : "";
  const hint = near === null ? "kite merge --list shows them" : `did you mean ${near}?`;
  const other = isShort ? "; a merge of another project needs its whole id" : "";
  return refuse("unknown_merge", `no merge ${name}${where}; ${hint}${other}`, { merge: name, nearest: near });
}

function isMerge(found: Merge | Refusal): found is Merge {
  return "branch" in found;
}

export function mergeRow(merge: Merge): MergeRow {
  const { n: _n, runner, notice: _notice, owed: _owed, ...row } = merge;
  return { ...row, attended: runner !== null };
}

/** Refuses what the state of the merge does not allow. */
function stateRefusal({ id, state }: Merge, hint: string): Refusal {
  return refuse("merge_state", `${id} is ${state}; ${hint}`, { merge: id, status: state });
}

/** Returns `main` for `refs/heads/main`. */
export function shortName(branch: string): string {
  return branch.replace(/^refs\/heads\//, "");
}

/** Emits the event of a merge's new state, about its author and whoever queued it. */
function announce(step: Step, merge: Merge, by: ActorRow | null): void {
  const { id, project, base, branch, state, commit, reason, author } = merge;
  const about = [author?.id, merge.by?.id, by?.id].filter(session => session !== undefined);
  const end = { commit: state === "merged" ? commit : null, reason: isOpen(merge) ? null : reasonOf(reason) };
  step.events.push({
    event: { event: "merge_changed", merge: id, project, base, branch, state, ...end, by },
    about: [...new Set(about)],
    project,
  });
}

function reasonOf(reason: MergeReason | null): string | null {
  return reason === null ? null : reason.text.slice(0, limits.quoteChars);
}

function mergeQueue(state: State, command: CommandOf<"merge_queue">, _meta: Meta, step: Step): void {
  const { merges } = state;
  const { by } = command;
  const queue = new Map(queueOf(merges, command).map(one => [one.branch, one]));
  const refused =
    (by !== null && !isAlive(state, by) ? noSession(state, by.session) : null) ??
    command.merges.map(one => notNew(one, command, queue)).find(one => one !== null) ??
    named(command) ??
    noRoom(state, command, queue);
  if (refused !== null) {
    step.reply = refused;
    return;
  }
  const row = by === null ? null : actorRow(state, by);
  const ids = command.merges.map(one => {
    const open = queue.get(one.branch);
    if (open !== undefined) {
      putMerge(merges, { ...open, runner: command.runner, changedAt: command.wallMs });
      return open.id;
    }
    const merge = newMerge(state, command, one, row, queue);
    addMerge(merges, merge);
    queue.set(merge.branch, merge);
    announce(step, merge, row);
    return merge.id;
  });
  step.reply = { ok: true, merges: ids.map(id => mergeRow(mergeOf(merges, id))) };
}

function newMerge(
  state: State,
  { project, base, runner, rebase, checkOnly, wallMs }: MergeQueue,
  { branch, author, tasks, after }: NewMerge,
  by: ActorRow | null,
  queue: ReadonlyMap<string, Merge>,
): Merge {
  const { merges } = state;
  merges.count += 1;
  const n = merges.count;
  return {
    id: `mg-${Math.max(0, wallMs).toString(36)}-${n.toString(36)}`,
    n,
    project,
    base,
    branch,
    rebase,
    checkOnly,
    author: author === null ? null : authorRow(state, author, tasks),
    tasks,
    after: [...new Set(after)].flatMap(one => queue.get(one)?.id ?? []),
    by,
    state: "queued",
    runner,
    runs: 0,
    moving: false,
    commit: null,
    reason: null,
    queuedAt: wallMs,
    changedAt: wallMs,
  };
}

/**
 * Returns the author of a branch: a live actor, or a spawned agent whose session has ended. It may also be an actor that did
 * one of the tasks and has ended. Null: nobody is.
 */
function authorRow(
  state: State,
  author: NonNullable<NewMerge["author"]>,
  tasks: readonly string[],
): ActorRow | null {
  const incarnation = state.sessions.live.get(author.session)?.incarnations[0]?.ordinal;
  if (incarnation !== undefined) return actorRow(state, { ...author, incarnation });
  const spawn = author.agent === null ? spawnAt(state.spawns, author.session) : undefined;
  if (spawn !== undefined) return { id: author.session, agent: null, name: spawn.name };
  if (author.name !== undefined) return { id: author.session, agent: author.agent, name: author.name };
  return state.rules >= 2 ? doerOf(state, author, tasks) : null;
}

function doerOf(
  { tasks: { all } }: State,
  { session, agent }: NonNullable<NewMerge["author"]>,
  tasks: readonly string[],
): ActorRow | null {
  for (const id of tasks) {
    const now = all.get(id)?.state;
    if (now?.status === "done" && now.by?.id === session && now.by.agent === agent) return now.by;
  }
  return null;
}

/** Refuses a branch that a living process merges already, or that waits otherwise than asked now. */
function notNew(
  { branch }: NewMerge,
  { rebase, checkOnly, base }: MergeQueue,
  queue: ReadonlyMap<string, Merge>,
): Refusal | null {
  const open = queue.get(branch);
  if (open === undefined) return null;
  const isSame = open.rebase === rebase && open.checkOnly === checkOnly;
  if (open.runner === null && isSame) return null;
  const who = open.by?.name ?? personOnWire;
  const how = isSame ? "" : ", in another way";
  const error = `${shortName(branch)} waits for ${shortName(base)} already${how}: ${who} queued it as ${open.id}; wait for it, or end it: kite merge --cancel ${open.id}`;
  return refuse("merge_queued", error, { merge: open.id, branch });
}

function named({ merges }: MergeQueue): Refusal | null {
  if (new Set(merges.map(({ branch }) => branch)).size === merges.length) return null;
  return refuse("invalid_request", "a branch is named twice; name each once", { path: "merges" });
}

function noRoom(
  { merges, limits }: State,
  { base, merges: requests }: MergeQueue,
  queue: ReadonlyMap<string, Merge>,
): Refusal | null {
  const added = requests.filter(({ branch }) => !queue.has(branch)).length;
  const isFull = queue.size + added > limits.mergesOpenMax;
  if (!isFull && merges.all.size - merges.ended.size + added <= limits.mergesMax) return null;
  const whose = isFull ? `for ${shortName(base)}` : "in all projects";
  const error = `${queue.size} branches wait ${whose}, and there is no room for ${added} more; wait until some are merged`;
  return refuse("too_many_merges", error);
}

// Gives merges to the processes that run them, and takes them back.
//
// Invariants: one merge of a base runs at a time, the first of its queue. The right to run ends with the runner's
// connection. Then the merge waits at its old place for the next runner that asks. A later run of a merge takes no report of
// an earlier run.

function mergeTake(state: State, command: CommandOf<"merge_take">, _meta: Meta, step: Step): void {
  const { merges } = state;
  const { runner, drain, wallMs } = command;
  const left = () => merges.byRunner.get(runner.name)?.size ?? 0;
  const [first] = queueOf(merges, command);
  const isMine = first?.runner === null || first?.runner.name === runner.name;
  if (first === undefined || !isMine || (left() === 0 && !drain)) {
    step.reply = { ok: true, merge: null, ahead: first === undefined ? null : mergeRow(first), left: left() };
    return;
  }
  // Asked again over another connection, a runner goes on with what it runs.
  const runs = first.state === "running" ? first.runs : first.runs + 1;
  const begun = { ...first, state: "running" as const, runner, runs, changedAt: wallMs };
  putMerge(merges, begun);
  if (runs !== first.runs) announce(step, begun, command.by === null ? null : actorRow(state, command.by));
  step.reply = { ok: true, merge: mergeRow(begun), ahead: null, left: left() };
}

function mergeAttach(state: State, { runner }: CommandOf<"merge_attach">, _meta: Meta, step: Step): void {
  const { merges } = state;
  const mine = inOrder(merges, merges.byRunner.get(runner.name));
  for (const merge of mine) putMerge(merges, { ...merge, runner });
  step.reply = { ok: true, left: mine.length };
}

function mergeUnbind(
  state: State,
  { bound, wallMs }: CommandOf<"merge_unbind">,
  _meta: Meta,
  step: Step,
): void {
  const { merges } = state;
  for (const merge of inOrder(merges, merges.byBound.get(boundKey(bound))))
    giveBack(state, merge, wallMs, null, step);
  step.reply = { ok: true };
}

/** Leaves an open merge to the next runner that asks, at its place in the queue. */
function giveBack(state: State, merge: Merge, wallMs: number, by: ActorRow | null, step: Step): void {
  const waiting = { ...merge, state: "queued" as const, runner: null, moving: false, changedAt: wallMs };
  putMerge(state.merges, waiting);
  // Whoever waits for its turn asks again: also if a merge that did not run has lost its runner.
  announce(step, waiting, by);
}

/** Names the time after which a runner that did not come back after a daemon's start has lost its merges. */
function awaitRunners(state: State, node: string, step: Step): void {
  const at = state.t + limits.boundGraceMs;
  for (const ids of state.merges.byRunner.values())
    for (const { id, runner } of inOrder(state.merges, ids))
      if (runner?.bound.node === node)
        step.timers.push({ at, due: { what: "merge_runner_over", merge: id } });
}

/** Returns when the merge's runner, of an earlier start, has lost it (core time, ms); null if it is here. */
function runnerOverAt({ runner }: Merge, { nodes }: State): number | null {
  const start = runner === null ? undefined : nodes.get(runner.bound.node);
  return start === undefined || runner?.bound.epoch === start.epoch ? null : start.at + limits.boundGraceMs;
}

/** Takes the merge from a runner that did not come back. */
function runnerOver(state: State, merge: Merge, step: Step): void {
  giveBack(state, merge, Math.max(merge.changedAt, state.t), null, step);
}

// Hands a merge that came back to its author: the tasks become pending, and a message says why. If the author has ended, the
// message goes to the agent that spawned it, else to a lead of the project. The merge keeps the message's id, or that nobody
// was there to write to.
//
// Invariants: only tasks of the author change, and none that an active task builds on. A merge comes back even if no message
// can be sent. The shared project has the tasks that machines share: the merge keeps that it owes their return, until the
// daemon says that it is made.

/** The author's tasks that are pending again, and those that the shared project makes pending. */
interface Returned {
  readonly here: readonly string[];
  readonly there: readonly string[];
  readonly owed: Merge["owed"] | null;
}

/** Makes the author's tasks pending again. `shared`: those of the shared project, as far as this machine knows it. */
function returnTasks(
  state: State,
  merge: Merge,
  { by, wallMs, shared }: Pick<MergeReport, "by" | "wallMs" | "shared">,
  step: Step,
): Returned {
  const { id, author, tasks, reason } = merge;
  if (author === null || tasks.length === 0) return { here: [], there: [], owed: null };
  const cameBack = `the merge ${id} came back`;
  // This log has the tasks that were done before the project was shared.
  const own = { tasks, author: author.id, cause: `${cameBack}: ${reason?.text ?? ""}` };
  const here = returnAll(state, own, { by, wallMs }, step);
  if (shared === undefined) return { here, there: [], owed: null };
  // A check's name and its words stay on this machine.
  const cause = `${cameBack}: ${causes[reason?.code ?? "unmergeable"] ?? "it was not merged"}`;
  return { here, there: shared.filter(one => !here.includes(one)), owed: { cause, by, wallMs } };
}

const causes: { readonly [C in MergeReasonCode]?: string } = {
  conflict: "its branch conflicts with the one that it goes into",
  red_check: "a check of it is red",
  unmergeable: "its branch cannot be merged",
};

/** Writes to the author, or to who leads it if it has ended; not to who ran the merge itself. */
function tellAuthor(state: State, merge: Merge, tasks: Returned, by: Actor | null, step: Step): void {
  const { project, changedAt: wallMs } = merge;
  const isMarked = state.rules >= 2;
  const reader = isMarked ? readerOf(state, merge) : parentOrAuthor(state, merge);
  if (reader !== null && reader.id === by?.session && reader.agent === by.agent) return;
  const text = reader === null ? "" : wordsFor(state, merge, tasks, reader);
  const posted = { actor: by, project, text, bytes: bytesOf(text), wallMs };
  const sent = reader === null ? null : postNotice(state, posted, [reader], step);
  const [to] = sent?.to ?? [];
  const isUnheard = sent === null || to === undefined;
  // A person at a terminal reads the output of the merge.
  if (!isMarked || (isUnheard && by === null)) return;
  putMerge(state.merges, { ...merge, notice: isUnheard ? null : { message: sent.id, to } });
}

/** Returns the author if it lives, else an agent that leads it or its project; null: there is none. */
function readerOf(state: State, { author, project }: Merge): ActorRow | null {
  if (author !== null && isAliveIn(state, author, project)) return author;
  const leads =
    author === null
      ? leadsIn(state, project)
      : leadsOf(state, { session: author.id, agent: author.agent }, project);
  for (const { session, agent } of leads) {
    const incarnation = state.sessions.live.get(session)?.incarnations[0]?.ordinal ?? 0;
    const row = actorRow(state, { session, agent, incarnation });
    if (isAliveIn(state, row, project)) return row;
  }
  return null;
}

/** The same under rules of level 1: the author, else who spawned it. */
function parentOrAuthor(state: State, { author, project }: Merge): ActorRow | null {
  if (author === null || isAliveIn(state, author, project)) return author;
  const parent = spawnAt(state.spawns, author.id)?.parent ?? null;
  return parent !== null && isAliveIn(state, parent, project) ? parent : null;
}

function isAliveIn({ sessions }: State, { id, agent }: ActorRow, project: string): boolean {
  const session = sessions.live.get(id);
  return session?.project === project && (agent === null || session.agents.has(agent));
}

function wordsFor(
  state: State,
  { id, branch, base, reason, author }: Merge,
  { here, there }: Returned,
  reader: ActorRow,
): string {
  const isAuthor = author !== null && author.id === reader.id && author.agent === reader.agent;
  const { text = "", files = [], more = 0, output = null } = reason ?? {};
  const named = [...files, ...(more > 0 ? [`${more} more`] : [])].join(", ");
  const which = named === "" ? "" : ` Files: ${named}.`;
  const claim = isAuthor ? ", claim it first" : "";
  const again = here.length === 0 ? "" : ` Pending again${claim}: ${here.join(", ")}.`;
  const soon =
    there.length === 0
      ? ""
      : ` Pending again as soon as the shared store has it${claim}: ${there.join(", ")}.`;
  // No line to run with the names in it: git allows `$(...)` in the name of a branch.
  const next = isAuthor
    ? "Mend it on your branch, commit, and have it merged again (kite merge)."
    : `${whoseText(state, author, reader)}. Have it mended on that branch, by you or by another agent (kite spawn), and merged again (kite merge).`;
  const end = output === null || output === "" ? "" : ` The end of its output: ${output}`;
  return `${shortName(branch)} was not merged into ${shortName(base)} (${id}): ${text}.${which}${again}${soon} ${next}${end}`;
}

/** Why the reader hears of a branch that is not its own. */
function whoseText({ spawns }: State, author: ActorRow | null, reader: ActorRow): string {
  if (author === null) return "Whose branch it is, Kite does not know, and you lead this project";
  if (isElsewhere(author.id)) return `${author.name}, whose branch it is, works on another machine`;
  const isParent = spawnAt(spawns, author.id)?.parent?.id === reader.id;
  return `${author.name}, ${isParent ? "which you spawned" : "whose branch it is"}, has ended`;
}

// Ends merges: what their runners report, and cancels.
//
// Invariants: only the runner of the present run reports. A merge that comes back makes its author's tasks pending in the
// same step. If a merge is not merged, those that wait for it come back, too. While the base moves, nobody cancels.

function mergeReport(state: State, command: CommandOf<"merge_report">, _meta: Meta, step: Step): void {
  const { merges } = state;
  const { by, outcome, runner, wallMs } = command;
  const merge = findMerge(merges, command.merge, null);
  if (!isMerge(merge)) {
    step.reply = merge;
    return;
  }
  const isRunner = merge.runner?.name === runner.name && merge.runs === command.run;
  if (merge.state !== "running" || !isRunner) {
    step.reply = stateRefusal(merge, `run ${command.run} of it no longer counts; leave the base as it is`);
    return;
  }
  const row = by === null ? null : actorRow(state, by);
  if (outcome.is === "queued") giveBack(state, merge, wallMs, row, step);
  else if (outcome.is === "moving")
    putMerge(merges, { ...merge, moving: true, commit: outcome.commit, changedAt: wallMs });
  else {
    const { is, ...end } = outcome;
    const ended = endMerge(state, { ...merge, ...end, state: is }, { row, wallMs }, step);
    // A trial is its caller's alone.
    if (ended.state === "returned" && !ended.checkOnly) {
      const tasks = returnTasks(state, ended, command, step);
      tellAuthor(state, ended, tasks, by, step);
      if (tasks.owed != null) putMerge(merges, { ...mergeOf(merges, ended.id), owed: tasks.owed });
    }
  }
  step.reply = { ok: true, merge: mergeRow(mergeOf(merges, merge.id)) };
}

/** The shared project has the return of the tasks. */
function mergeSettled({ merges }: State, command: CommandOf<"merge_settled">, _meta: Meta, step: Step): void {
  step.reply = { ok: true };
  const merge = merges.all.get(command.merge);
  if (merge === undefined) return;
  const { owed: _, ...settled } = merge;
  putMerge(merges, settled);
}

function mergeCancel(state: State, command: CommandOf<"merge_cancel">, _meta: Meta, step: Step): void {
  const { merges } = state;
  const found = command.merge === null ? null : findMerge(merges, command.merge, command.project ?? null);
  if (found !== null && !isMerge(found)) {
    step.reply = found;
    return;
  }
  if (found !== null && (!isOpen(found) || found.moving)) {
    const hint = found.moving
      ? "its runner moves the base now; wait until it is merged"
      : "there is nothing left to cancel";
    step.reply = stateRefusal(found, hint);
    return;
  }
  const mine = found === null ? inOrder(merges, merges.byRunner.get(command.runner)) : [found];
  const ended = { row: rowOf(state, command.by), wallMs: command.wallMs };
  const cancelled: string[] = [];
  for (const { id } of mine) {
    const merge = mergeOf(merges, id);
    // An earlier one may have taken it along; what moves the base goes on.
    if (!isOpen(merge) || merge.moving) continue;
    endMerge(state, { ...merge, state: "cancelled", reason: command.reason }, ended, step);
    cancelled.push(id);
  }
  step.reply = { ok: true, cancelled };
}

interface Ending {
  readonly row: ActorRow | null;
  readonly wallMs: number;
}

/** Ends a merge, and those that wait for it if it is not merged. */
function endMerge(state: State, merge: Merge, { row, wallMs }: Ending, step: Step): Merge {
  const { merges } = state;
  const ended = { ...merge, runner: null, moving: false, changedAt: wallMs };
  const waiting = inOrder(merges, merges.waitFor.get(merge.id));
  putMerge(merges, ended);
  announce(step, ended, row);
  if (ended.state === "merged" || ended.state === "checked") return ended;
  for (const one of waiting) {
    if (!isOpen(mergeOf(merges, one.id))) continue;
    const reason = dependencyReason(ended);
    endMerge(state, { ...one, state: "cancelled", reason }, { row, wallMs }, step);
  }
  return ended;
}

function dependencyReason({ id, branch, state }: Merge): MergeReason {
  const text = `its work builds on ${shortName(branch)}, which was ${state} (${id})`;
  return {
    code: "dependency",
    text: text.slice(0, limits.mergeReasonChars),
    files: [],
    more: 0,
    output: null,
  };
}

function rowOf(state: State, by: Actor | null): ActorRow | null {
  return by === null ? null : actorRow(state, by);
}

// Merges of other machines: a merge and its queue stay in the log of the repository's machine, and the others see a row.
//
// Invariants: a machine tells of those that wait or run, and of the last ones that came back, and of at most
// `limits.mergesToldMax` of each. No row has a path, a reason or output. What a machine told goes with it.

/** What a machine says of its merges. */
const mergesPart: MachinePart<State> = {
  tell(state, projects) {
    const shared = [...state.merges.all.values()].filter(
      ({ project, checkOnly }) => projects.has(project) && !checkOnly,
    );
    const open = shared.filter(isOpen).slice(0, limits.mergesToldMax);
    const returned = shared.filter(one => one.state === "returned").slice(-limits.mergesToldMax);
    const rows = [...returned, ...open].map(toldOf);
    return rows.length === 0 ? null : rows;
  },
  take({ mergesThere }, row, told, step) {
    const { node } = row;
    const before = mergesThere.get(node) ?? [];
    const all = Array.isArray(told) ? told.slice(0, 2 * limits.mergesToldMax) : [];
    const now = all.flatMap(one => mergeThereIn(one, row.project) ?? []);
    if (now.length === 0) mergesThere.delete(node);
    else mergesThere.set(node, now);
    if (step !== null) pushEvents(row, [before, now], step);
  },
};

/** Tells which merges are new, have another state, or are told of no more. */
function pushEvents(
  { node, machine = node }: PartRow,
  [before, now]: readonly [readonly MergeThere[], readonly MergeThere[]],
  step: Step,
): void {
  const left = new Map(before.map(one => [one.id, one]));
  const push = ({ id: merge, project, branch, base }: MergeThere, state: MergeThere["state"] | null) => {
    const event = { event: "merge_elsewhere_changed", merge, machine, project, branch, base, state } as const;
    step.events.push({ event, about: [], project, from: node });
  };
  for (const one of now) {
    if (left.get(one.id)?.state !== one.state) push(one, one.state);
    left.delete(one.id);
  }
  for (const one of left.values()) push(one, null);
}

/** Returns the handler, after which the other machines may see other merges. */
function telling<T extends keyof MergeCommands>(handler: Handler<T, State>): Handler<T, State> {
  return (state, command, meta, step) => {
    handler(state, command, meta, step);
    state.partsRevision += 1;
  };
}

/** Returns what other machines know of a merge. The author's id stands where ids are translated on their way. */
function toldOf({ id, branch, base, author, state, changedAt }: Merge) {
  const session = author === null ? null : { session: author.id };
  const names = { branch: shortName(branch), base: shortName(base), authorName: author?.name ?? null };
  return { id, ...names, author: session, state, changedAt } satisfies JsonValue;
}

/** Returns what another machine said of a merge, or null if that has no sense. */
function mergeThereIn(told: JsonValue, project: string): MergeThere | null {
  if (typeof told !== "object" || told === null || Array.isArray(told)) return null;
  const { author: whose, ...fields } = told as { readonly [field: string]: JsonValue };
  const author = typeof whose === "object" && whose !== null && "session" in whose ? whose["session"] : null;
  const row = { ...fields, author, project } as unknown as MergeThere;
  const { id, branch, base, authorName, state, changedAt } = row;
  const isShort = [id, branch, base, row.author ?? "", authorName ?? ""].every(
    text => typeof text === "string" && text.length <= limits.branchChars,
  );
  const isState = typeof state === "string" && Object.hasOwn(moves, state);
  return isShort && isState && typeof changedAt === "number" ? row : null;
}

/** Yields a sentence for each machine whose merges are no part of the copy. */
export function* checkMergesThere({ mergesThere, parts }: State): Generator<string> {
  for (const node of mergesThere.keys())
    if (!parts.byNode.has(node)) yield `${node} told of merges, and is not known`;
}

// The rules of merges.

export const mergeRules: TimedRules<MergeCommands, MergeDues, State> = {
  commands: {
    merge_queue: lasting(telling(mergeQueue)),
    merge_take: passing(telling(mergeTake)),
    merge_attach: passing(mergeAttach),
    merge_report: lasting(telling(mergeReport)),
    merge_cancel: lastingAndFreeing(telling(mergeCancel)),
    merge_unbind: freeing(telling(mergeUnbind)),
    merge_settled: freeing(mergeSettled),
  },
  numbers: {
    kind: "mg",
    tableIn: ({ merges }) => merges,
    usedBy: command => (command.type === "merge_queue" ? command.merges.length : 0),
  },
  points: { daemonStarts: awaitRunners, machineParts: { merges: mergesPart } },
  timers: {
    merge_runner_over: timer(
      ({ merges }, due) => merges.all.get(due.merge),
      runnerOverAt,
      (state, merge, step) => {
        runnerOver(state, merge, step);
        state.partsRevision += 1;
      },
    ),
  },
  *dues({ merges }) {
    for (const ids of merges.byRunner.values())
      for (const merge of ids) yield { what: "merge_runner_over", merge };
  },
};

// Merges that came back, and that nobody who has to know has read of. Pure questions to the state.

/**
 * Returns who still has to read that the merge came back. Null: nobody is there to read it, and no later merge of the branch
 * was queued. Undefined: nobody has to.
 */
export function unreadBy({ messages, merges }: State, merge: Merge): ActorRow | null | undefined {
  const { notice, n, project, branch } = merge;
  if (notice === null) {
    for (const later of merges.all.values())
      if (later.n > n && later.project === project && later.branch === branch) return undefined;
    return null;
  }
  if (notice === undefined) return undefined;
  for (const { to, state } of messages.all.get(notice.message)?.letters.values() ?? [])
    if (state === "unread" || state === "offered") return to;
  return undefined;
}

/** Returns the oldest merge that came back and of which the inbox `key` has an unread message. Costs what is unread there. */
export function firstUnread({ messages, merges }: State, key: string): Merge | undefined {
  for (const place of messages.inboxes.get(key)?.unread ?? []) {
    const id = merges.byNotice.get(letterAt(messages, key, place)[0].id);
    if (id !== undefined) return mergeOf(merges, id);
  }
  return undefined;
}

/** Returns the number of branches whose latest merge came back, at `since` or later, with nobody there to read so. */
export function countUnheard({ merges }: State, since: number): number {
  const latest = new Map<string, Merge>();
  for (const merge of merges.all.values()) latest.set(`${merge.project}\n${merge.branch}`, merge);
  return [...latest.values()].filter(({ notice, changedAt }) => notice === null && changedAt >= since).length;
}

/** Whether an open merge is of a branch of this session's main agent. */
export function hasOpenMerge({ merges }: State, session: string): boolean {
  for (const ids of merges.open.values())
    for (const id of ids) {
      const { author } = mergeOf(merges, id);
      if (author?.id === session && author.agent === null) return true;
    }
  return false;
}

// Finds broken invariants of the merges.

export function* checkMerges({ merges, limits }: State): Generator<string> {
  let n = 0;
  const running = new Set<string>();
  for (const merge of merges.all.values()) {
    const { id, state, runner, after } = merge;
    if (merge.n <= n || merge.n > merges.count) yield `${id} has the number ${merge.n}, after ${n}`;
    n = merge.n;
    if (state === "running") {
      if (running.has(baseKey(merge))) yield `two merges of ${merge.base} run`;
      running.add(baseKey(merge));
      if (runner === null) yield `${id} runs without a runner`;
      if (merge.runs === 0) yield `${id} runs and never began`;
    }
    if (merge.moving && state !== "running") yield `${id} moves the base and is ${state}`;
    if (!isOpen(merge) && runner !== null) yield `${id} is ${state} and has a runner`;
    const isUnmerged = state === "returned" || state === "cancelled";
    if (isUnmerged !== (merge.reason !== null)) yield `${id} is ${state}, and whether it says why is wrong`;
    const isGood = state === "merged" || state === "checked";
    if (isGood && merge.commit === null) yield `${id} is ${state} and has no commit`;
    if (state === "checked" && !merge.checkOnly) yield `${id} was to be merged and is only checked`;
    if (merge.notice !== undefined && state !== "returned")
      yield `${id} is ${state}, and a message says it came back`;
    for (const before of after) {
      const first = merges.all.get(before);
      if (first === undefined) continue;
      if (first.n >= merge.n) yield `${id} waits for ${before}, which came later`;
      const isLost = first.state === "returned" || first.state === "cancelled";
      if (isOpen(merge) && isLost) yield `${id} waits for ${before}, which is ${first.state}`;
    }
  }
  for (const [key, ids] of merges.open) {
    if (ids.size > limits.mergesOpenMax) yield `${ids.size} merges wait for ${key}`;
    const [first] = ids;
    const runs = merges.running.get(key);
    if (runs !== undefined && runs !== first) yield `${runs} runs before ${first}`;
  }
  yield* mergeRecords.check(merges, "merges", limits.mergesMax);
}
