/**
 * Records agents that are about to be started.
 *
 * Invariants: when an agent is recorded, its project has at most `liveMax` spawned agents that have not ended. No agent is
 * deeper than `depthMax`, unless it replaces another one. A new agent's name is that of no live session and of no other
 * agent of the project. Its task can be claimed, also by its role, and no other spawned agent has it.
 */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import { defaultRole } from "../../../protocol/lead/roles.ts";
import type { SpawnRow, SpawnState } from "../../../protocol/lead/spawn.ts";
import { type Limits, limits } from "../../../protocol/limits.ts";
import type { Actor } from "../frame/actors.ts";
import { sessionBegin } from "../sessions/begin.ts";
import { type Meta, type Session, type TimedRules, timer } from "../tables/base-state.ts";
import type { CommandOf } from "../tables/entries.ts";
import { lasting, lastingAndFreeing, lastingAndFreeingIf, passing, type Step } from "../tables/entries.ts";
import { actorRow, isAlive, noSession, projectOf } from "../tables/naming.ts";
import { nameKey, type SessionBegin, type SessionCommands } from "../tables/sessions.ts";
import { claimerOf, resultOf, type TaskState } from "../tables/tasks.ts";
import { activate, mayBegin } from "../tasks/claim.ts";
import { blockedBy, findTask, isTask } from "../tasks/replies.ts";
import { roleNamed } from "./declarations.ts";
import { giveRole, isLead, mayRunAs } from "./roles.ts";
import type { State } from "./state.ts";
import {
  addSpawn,
  isFinal,
  mayMove,
  moveSpawn,
  putSpawn,
  removeSpawn,
  type SharedTaskEnd,
  type Spawn,
  type SpawnCommands,
  type SpawnCreate,
  type SpawnDues,
  type SpawnReplace,
  type SpawnUpdate,
  spawnAt,
  spawnNameKey,
  spawnOf,
  spawnRecords,
} from "./tables/spawns.ts";

// How spawned agents are named in replies, refusals and events.

/** Returns the record of this id, or a refusal. */
function findSpawn({ spawns }: Pick<State, "spawns">, id: string): Spawn | Refusal {
  const found = spawns.all.get(id);
  if (found !== undefined) return found;
  const error = `no spawned agent has the id ${id}; kite agents --json shows the ids`;
  return refuse("unknown_spawn", error, { spawn: id });
}

function isSpawn(found: Spawn | Refusal): found is Spawn {
  return "attempts" in found;
}

/** Returns the record as a row, with the worktree in which its session works now. */
export function spawnRow({ sessions, tasks }: Pick<State, "sessions" | "tasks">, spawn: Spawn): SpawnRow {
  const {
    n: _n,
    depth: _depth,
    stopping,
    registerUntil: _until,
    reportsEnd: _ends,
    prompt: _prompt,
    replaceUntil,
    revokedUntil: _revoked,
    watchedUntil: _watched,
    isTaskShared: _shared,
    taskEnd: _end,
    ...rest
  } = spawn;
  const session = spawn.session === null ? undefined : sessions.live.get(spawn.session);
  const worksIn = session === undefined || session.worktree === spawn.worktree ? null : session.worktree;
  const task = spawn.task === null ? undefined : tasks.all.get(spawn.task);
  const result = task?.state.status === "done" ? task.state.result : spawn.result;
  return { ...rest, result, worksIn, replacing: replaceUntil !== null, stopping };
}

/** Emits the event of a record that is new or changed its state. */
function announceSpawn(step: Step, { id, name, project, state, session, parent }: Spawn): void {
  const about = [session, parent?.id ?? null].filter(one => one !== null);
  const event = { event: "spawn_changed", spawn: id, name, project, state, session } as const;
  step.events.push({ event, about: [...new Set(about)], project });
}

// Says how to go on with a spawned agent that stalled: it is resumed once, then another one takes its place, twice in a row.
// Whether it stalled is the daemon's to see.
//
// Invariants: a spawned agent is replaced or stopped by its spawner, by an agent that leads, or by a person. One requester
// at a time replaces it. All requesters together resume an agent at most `limits.spawnResumesMax` times. A place has at most
// `limits.spawnReplacementsMax` replacements in a row, also if earlier records were forgotten.

function spawnReplace(state: State, command: CommandOf<"spawn_replace">, _meta: Meta, step: Step): void {
  const spawn = findSpawn(state, command.spawn);
  const refused = isSpawn(spawn)
    ? (notItsLead(state, command.by, spawn, "replaces") ?? refusal(state, spawn, command))
    : spawn;
  if (refused !== null || !isSpawn(spawn)) {
    step.reply = refused;
    return;
  }
  const isResume = maybeResumed(spawn, command);
  const next = {
    ...spawn,
    resumes: spawn.resumes + Number(isResume),
    stopping: !isFinal(spawn.state),
    replaceUntil: state.t + limits.spawnReplaceMs,
    updatedAt: command.wallMs,
  };
  putSpawn(state.spawns, next);
  const row = spawnRow(state, next);
  step.reply = { ok: true, next: isResume ? "resume" : "start", spawn: row, prompt: spawn.prompt };
}

/** Refuses an agent that neither spawned this one nor leads here, and is not this one itself. */
function notItsLead(state: State, by: Actor | null, spawn: Spawn, does: string): Refusal | null {
  if (by === null || by.session === spawn.session) return null;
  const { parent, name, project } = spawn;
  // The main agent of a session leads its others.
  const isParent = parent?.id === by.session && (by.agent === null || by.agent === parent.agent);
  const leads = state.sessions.live.get(by.session)?.project === project && isLead(state, by);
  if (isParent || leads) return null;
  const error = `only the agent that spawned ${name}, one that leads here, or a person ${does} it; ask one of them`;
  return refuse("lead_only", error);
}

function maybeResumed({ state, session, resumes }: Spawn, { resumable, isFailed }: SpawnReplace): boolean {
  return resumable && !isFailed && !isFinal(state) && session !== null && resumes < limits.spawnResumesMax;
}

function refusal(state: State, spawn: Spawn, command: SpawnReplace): Refusal | null {
  const { id, name, task, replaceUntil, replacedBy, replacements, project } = spawn;
  const refused = (error: string) => refuse("spawn_state", error, { spawn: id, state: spawn.state });
  if (replacedBy !== null) {
    const other = state.spawns.all.get(replacedBy)?.name ?? replacedBy;
    return refused(`${name} was replaced by ${other}; kite agents shows what that does`);
  }
  if (replaceUntil !== null && state.t < replaceUntil && !command.isFailed)
    return refused(`somebody is about to replace ${name}; kite agents shows when it is done`);
  if (isFinal(spawn.state) && replaceUntil === null) {
    const start =
      task === null ? "kite spawn starts another one" : `start another one: kite spawn --task ${task}`;
    return refused(`${name} has ended (${spawn.state}); ${start}`);
  }
  if (maybeResumed(spawn, command) || replacements < limits.spawnReplacementsMax) return null;
  const again = task === null ? "kite spawn PROMPT" : `kite spawn --task ${task}`;
  const error = `${name} is the agent ${replacements + 1} in this place, and Kite puts no further one there; look at what it was to do, then spawn one yourself: kite agents stop ${name}, ${again}`;
  return refuse("too_many_spawns", error, { project });
}

function spawnCreate(state: State, command: CommandOf<"spawn_create">, _meta: Meta, step: Step): void {
  const { by } = command;
  const { spawns } = state;
  if (by !== null && !isAlive(state, by)) {
    step.reply = noSession(state, by.session);
    return;
  }
  if (by !== null && command.isLead === true) {
    const error =
      "only a person spawns an agent that leads; spawn it without lead, or ask your user: kite spawn --lead";
    step.reply = refuse("person_only", error);
    return;
  }
  const project = (by === null ? undefined : projectOf(state, by)) ?? command.project;
  const place = placeOf(state, project, command);
  if (place !== null && !isSpawn(place)) {
    step.reply = place;
    return;
  }
  const depth = place?.depth ?? depthOf(state, command);
  const task = command.task === null ? null : taskFor(state, project, command, command.task);
  const refused =
    tooDeep(depth, command) ??
    noRoom(state, project, command) ??
    nameTaken(state, project, command.name) ??
    (task !== null && typeof task !== "string" ? task : null);
  if (refused !== null || (task !== null && typeof task !== "string")) {
    step.reply = refused;
    return;
  }
  spawns.count += 1;
  const spawn = newSpawn(state, command, { project, place, depth, task });
  if (place !== null) putSpawn(spawns, { ...place, replacedBy: spawn.id, replaceUntil: null });
  addSpawn(spawns, spawn);
  step.timers.push({ at: spawn.registerUntil, due: { what: "spawn_over", spawn: spawn.id } });
  announceSpawn(step, spawn);
  step.reply = { ok: true, spawn: spawnRow(state, spawn) };
}

/** Where a new agent belongs, once nothing speaks against it. */
interface SpawnPlace extends Pick<Spawn, "project" | "depth" | "task"> {
  /** The record whose place it takes. */
  readonly place: Spawn | null;
}

function newSpawn(state: State, command: SpawnCreate, { project, place, depth, task }: SpawnPlace) {
  const { by, role, backend, client, base, wallMs } = command;
  const n = state.spawns.count;
  return {
    id: `a-${Math.max(0, wallMs).toString(36)}-${n.toString(36)}`,
    n,
    name: command.name ?? freeNameOf(state, project, `${role ?? "agent"}-${n}`),
    role,
    task,
    ...(command.isTaskShared === true ? { isTaskShared: true as const } : {}),
    parent: place === null ? (by === null ? null : actorRow(state, by)) : place.parent,
    depth,
    ...((place === null ? command.isLead : place.isLead) === true ? { isLead: true as const } : {}),
    reportsEnd: command.reportsEnd,
    project,
    worktree: null,
    branch: null,
    base,
    backend,
    client,
    handle: null,
    state: "starting",
    stopping: false,
    registerUntil: state.t + state.limits.spawnRegisterMs,
    session: null,
    result: null,
    output: null,
    reason: null,
    attempts: 0,
    model: command.model,
    prompt: command.prompt,
    resumes: 0,
    replacements: place === null ? 0 : place.replacements + 1,
    replaces: place?.id ?? null,
    replacedBy: null,
    replaceUntil: null,
    revokedUntil: null,
    createdAt: wallMs,
    updatedAt: wallMs,
    endedAt: null,
  } as const;
}

/** Returns the record whose place the new one takes; null: it takes none's; or why it cannot. */
function placeOf(state: State, project: string, { by, replaces: id }: SpawnCreate): Spawn | Refusal | null {
  if (id === null) return null;
  const found = findSpawn(state, id);
  if (!isSpawn(found)) return found;
  const refused = notItsLead(state, by, found, "replaces");
  if (refused !== null) return refused;
  const { name, replaceUntil, endedAt, replacedBy, project: where } = found;
  const why =
    replacedBy !== null
      ? "was replaced already"
      : endedAt === null
        ? "has not ended"
        : replaceUntil === null
          ? "is not to be replaced yet (kite agents replace NAME)"
          : where !== project
            ? `is an agent of ${where}`
            : null;
  if (why === null) return found;
  return refuse("spawn_state", `${name} ${why}, so no other agent takes its place`, {
    spawn: id,
    state: found.state,
  });
}

/** Returns 1, or one more than the depth of the spawned agent that asks. */
function depthOf({ spawns }: State, { by }: SpawnCreate): number {
  const own = by === null ? undefined : spawnAt(spawns, by.session);
  return own === undefined ? 1 : own.depth + 1;
}

function tooDeep(depth: number, { depthMax, replaces }: SpawnCreate): Refusal | null {
  if (depth <= depthMax || replaces !== null) return null;
  const error =
    depthMax === 1
      ? "a spawned agent may not spawn agents; ask who spawned you to do it, or do the work yourself"
      : `agents may spawn agents ${depthMax} deep, and this would be ${depth}; do the work yourself`;
  return refuse("spawn_depth", error, { depth, depthMax });
}

function noRoom({ spawns, limits }: State, project: string, { liveMax }: SpawnCreate): Refusal | null {
  const live = spawns.live.get(project)?.size ?? 0;
  if (live >= liveMax) {
    const error = `${project} has ${live} spawned agents that have not ended, as many as it may; stop one (kite agents, kite agents stop NAME), or raise spawnMax in your config.json`;
    return refuse("too_many_spawns", error, { project, live });
  }
  if (spawns.all.size < limits.spawnsMax || spawns.ended.size > 0) return null;
  const error = `all projects together have ${limits.spawnsMax} spawned agents that have not ended, as many as they may; stop one`;
  return refuse("too_many_spawns", error);
}

/** Refuses a name that an agent of the project has; its session would get another one. */
function nameTaken({ spawns, sessions }: State, project: string, name: string | null): Refusal | null {
  if (name === null) return null;
  const other = spawns.names.get(spawnNameKey(project, name));
  const session = sessions.names.get(nameKey(project, name));
  if (other === undefined && session === undefined) return null;
  const who = other === undefined ? "a session" : "a spawned agent";
  const error = `${who} of ${project} is called ${name}; choose another name, or leave --name out`;
  return refuse("spawn_name_taken", error, { name });
}

function freeNameOf(state: State, project: string, name: string): string {
  let free = name;
  for (let n = 2; nameTaken(state, project, free) !== null; n += 1) free = `${name}-${n}`;
  return free;
}

/** Returns the id of the task that the agent is for, or why it cannot be. */
function taskFor(
  state: State,
  project: string,
  { role, isTaskShared }: SpawnCreate,
  name: string,
): string | Refusal {
  if (isTaskShared === true) return forAnother(state, name) ?? name;
  const found = findTask(state, name, project);
  if (!isTask(found)) return found;
  if (found.project !== project) {
    const error = `${found.id} is a task of ${found.project}; spawn the agent there`;
    return refuse("unknown_task", error, { task: found.id, nearest: null });
  }
  const refused =
    mayBegin(state, found, null, blockedBy(state, found)) ??
    mayRunAs(state, found, roleNamed(role ?? "") ?? defaultRole);
  return refused ?? forAnother(state, found.id) ?? found.id;
}

/** Refuses a task that another spawned agent is for. */
function forAnother({ spawns }: State, task: string): Refusal | null {
  const other = spawns.byTask.get(task);
  if (other === undefined) return null;
  const { name: assigneeName, session } = spawnOf(spawns, other);
  const error = `${task} is for ${assigneeName}, a spawned agent that has not ended; wait for it, or stop it`;
  return refuse("task_claimed", error, { task, assignee: session, assigneeName });
}

// Ties sessions to the spawned agents that they are.
//
// Invariants: the first session that names a record is its agent's, for ever; a child process that inherited the name is
// not. A session that begins again brings its agent back from a final state. A session that begins first after the agent was
// stopped is not the agent's: whoever started its client ends it. The agent's session gets the role that the agent was
// spawned with, if its word names one, and then claims the agent's task. Both happen in the step that registers the session,
// if the task can still be claimed. A requester that is stopping the agent meanwhile goes on. A requester that had the
// client resumed ends the client if a stop came first. An agent whose client resumes it while its stopper still watches is
// to be stopped, so it claims nothing.

/** Begins a session, and registers the spawned agent that it is, under the agent's name. */
function sessionBeginAsAgent(
  state: State,
  command: CommandOf<"session_begin">,
  meta: Meta,
  step: Step,
): void {
  const spawn = registering(state, command);
  if (spawn === undefined) {
    sessionBegin(state, command, meta, step);
    return;
  }
  const name = isFinal(spawn.state) ? freeAgentName(state, spawn) : spawn.name;
  sessionBegin(state, { ...command, name }, meta, step);
  const session = state.sessions.live.get(command.session);
  // A suspended session that goes on under this id has brought its own record along.
  const now = registering(state, command);
  if (session !== undefined && step.reply?.ok === true && now?.id === spawn.id)
    register(state, session, { ...now, name }, command, meta, step);
}

/** Returns the record of an agent that this session begins, or brings back; undefined: it does neither. */
function registering(state: State, { session, spawn: named }: SessionBegin): Spawn | undefined {
  const spawn = spawnFor(state, session, named);
  return spawn !== undefined && (spawn.session === null || isFinal(spawn.state)) ? spawn : undefined;
}

/** Returns the record that the session belongs to, or is the first to name. */
function spawnFor({ spawns }: State, session: string, named: string | undefined): Spawn | undefined {
  const known = spawnAt(spawns, session);
  if (known !== undefined || named === undefined) return known;
  const spawn = spawns.all.get(named);
  const mayBeIts = spawn?.session === null && spawn.attempts === 0 && spawn.state !== "stopped";
  return mayBeIts ? spawn : undefined;
}

/** Registers the agent of a session that has begun; `spawn` has the name under which it goes on. */
function register(
  state: State,
  session: Session,
  spawn: Spawn,
  command: SessionBegin,
  meta: Meta,
  step: Step,
): void {
  const { spawns } = state;
  const isFirst = spawn.attempts === 0;
  const role = spawn.isLead === true ? "lead" : roleNamed(spawn.role ?? "");
  if (role !== null) giveRole(state, { session: session.id, agent: null }, role, "spawn");
  // Another agent may have been spawned for its task meanwhile.
  const hasTask = spawn.task !== null && (spawns.byTask.get(spawn.task) ?? spawn.id) === spawn.id;
  const { watchedUntil, mayReturn: _returned, ...known } = spawn;
  const isRevoked = state.t < (spawn.revokedUntil ?? 0);
  const watch = watchedUntil === undefined || isRevoked || state.t >= watchedUntil ? {} : { watchedUntil };
  const isWatched = "watchedUntil" in watch;
  const problem = hasTask && !isWatched ? claim(state, session, spawn.task, command, meta, step) : null;
  const ended = spawn.taskEnd ?? state.tasks.all.get(spawn.task ?? "")?.state;
  const isOpen = hasTask && ended?.status !== "done";
  const unclaimed =
    isWatched && isOpen ? `it came back after a stop, so it did not claim ${spawn.task}` : null;
  const { worktree, branch } = session;
  const next = {
    ...known,
    ...watch,
    task: hasTask ? spawn.task : null,
    state: isFirst ? "running" : "idle",
    session: session.id,
    registerUntil: null,
    replaceUntil: null,
    revokedUntil: null,
    stopping: spawn.stopping || isRevoked || isWatched,
    endedAt: null,
    reason: problem?.error ?? unclaimed,
    attempts: spawn.attempts + 1,
    updatedAt: command.wallMs,
    // A client may bring its agent back in another directory than the agent's own.
    ...(spawn.worktree === null || isFirst ? { worktree, branch } : {}),
  } as const;
  putSpawn(spawns, next);
  announceSpawn(step, next);
}

/** Returns the agent's name, or with a number if another agent has it now. */
function freeAgentName({ spawns }: State, { project, name }: Spawn): string {
  let free = name;
  for (let n = 2; spawns.names.has(spawnNameKey(project, free)); n += 1) free = `${name}-${n}`;
  return free;
}

/** Claims the agent's task, or returns why it cannot; null if it has it, or the task is done or gone. */
function claim(
  state: State,
  { id, incarnations }: Session,
  wanted: string | null,
  command: SessionBegin,
  meta: Meta,
  step: Step,
): Refusal | null {
  const task = wanted === null ? undefined : state.tasks.all.get(wanted);
  if (task === undefined || task.state.status === "done" || claimerOf(task)?.session === id) return null;
  const actor = { session: id, agent: null, incarnation: incarnations[0]?.ordinal ?? 0 };
  const refused = mayBegin(state, task, actor, blockedBy(state, task));
  if (refused === null) activate(state, task, { ...command, by: actor, cause: "registered" }, meta, step);
  return refused;
}

// Changes and forgets records of spawned agents.
//
// Invariants: a request makes only two states final: `failed`, before the agent registered, and `stopped`, which also
// replaces `failed`. It brings no agent back. Only records that have ended are forgotten.

/** Whether it is a step of stopping an agent, which ends what it holds, and adds nothing to the record. */
function isStop({ state, stopping, replacing, ...known }: SpawnUpdate): boolean {
  const { handle, worktree, branch, output, reason } = known;
  const isBare = [handle, worktree, branch, output, reason].every(one => one === null);
  return isBare && (state === "stopped" || stopping !== null || replacing === false);
}

function spawnUpdate(state: State, command: CommandOf<"spawn_update">, _meta: Meta, step: Step): void {
  const spawn = findSpawn(state, command.spawn);
  const refused = isSpawn(spawn)
    ? (strangerRefusal(state, spawn, command) ?? stateRefusal(state, spawn, command))
    : spawn;
  if (refused !== null || !isSpawn(spawn)) {
    step.reply = refused;
    return;
  }
  const { state: wanted, handle, worktree, branch, output, wallMs } = command;
  const moves = wanted !== null && wanted !== spawn.state;
  const gaveUp = command.replacing === false && spawn.replaceUntil !== null;
  const isStarting = spawn.state === "starting" && !moves;
  const isWatched = state.rules >= 2 && command.stopping === true && isFinal(spawn.state);
  const next = {
    ...(command.stopping === false ? unwatched(spawn) : spawn),
    ...(isWatched ? { watchedUntil: state.t + limits.spawnWatchMs } : {}),
    handle: handle ?? spawn.handle,
    worktree: worktree ?? spawn.worktree,
    branch: branch ?? spawn.branch,
    output: output ?? spawn.output,
    reason: command.reason ?? spawn.reason,
    stopping: !moves && !isWatched && (command.stopping ?? spawn.stopping),
    registerUntil:
      isStarting && (handle !== null || worktree !== null)
        ? state.t + limits.spawnRegisterMs
        : spawn.registerUntil,
    replaceUntil: gaveUp ? null : spawn.replaceUntil,
    revokedUntil: gaveUp && isFinal(spawn.state) ? spawn.replaceUntil : spawn.revokedUntil,
    updatedAt: wallMs,
    ...(moves ? { state: wanted, registerUntil: null, endedAt: wallMs } : {}),
  };
  putSpawn(state.spawns, next);
  if (next.registerUntil !== null && next.registerUntil !== spawn.registerUntil)
    step.timers.push({ at: next.registerUntil, due: { what: "spawn_over", spawn: spawn.id } });
  // Who is about to replace it follows its record.
  if (moves || gaveUp) announceSpawn(step, next);
  step.reply = { ok: true, spawn: spawnRow(state, next) };
}

/** Records what the agent's session does. Refused, and harmless, if the agent has ended meanwhile. */
function spawnMoved(state: State, command: CommandOf<"spawn_moved">, _meta: Meta, step: Step): void {
  const { spawn: id, state: to, prompted, wallMs } = command;
  const spawn = findSpawn(state, id);
  if (!isSpawn(spawn)) {
    step.reply = spawn;
    return;
  }
  const isLive = spawn.session !== null && !isFinal(spawn.state);
  const isResumed = isLive && prompted === true && spawn.watchedUntil !== undefined;
  if (!isResumed && (!isLive || !mayMove(spawn.state, to))) {
    step.reply = refuse("spawn_state", `${spawn.name} is ${spawn.state}`, { spawn: id, state: spawn.state });
    return;
  }
  const next = {
    ...(isResumed ? { ...unwatched(spawn), stopping: false } : spawn),
    state: to,
    updatedAt: wallMs,
  };
  putSpawn(state.spawns, next);
  announceSpawn(step, next);
  step.reply = { ok: true };
}

function spawnRemove(
  state: State,
  { spawns: ids }: CommandOf<"spawn_remove">,
  _meta: Meta,
  step: Step,
): void {
  for (const id of ids) {
    const spawn = findSpawn(state, id);
    const refused = isSpawn(spawn) ? liveRefusal(spawn) : spawn;
    if (refused === null) continue;
    step.reply = refused;
    return;
  }
  const removed = [...new Set(ids)];
  for (const id of removed) removeSpawn(state.spawns, spawnOf(state.spawns, id));
  step.reply = { ok: true, removed };
}

/** The agent's client did not register in time: it has failed, unless it was to be stopped. */
function spawnOver(state: State, spawn: Spawn, step: Step): void {
  const seconds = Math.round(limits.spawnRegisterMs / 1000);
  const failure = `its session did not register within ${seconds} s; see what it said: kite explain ${spawn.name} --log`;
  const ended = spawn.stopping
    ? ({ state: "stopped" } as const)
    : ({ state: "failed", reason: failure } as const);
  const at = Math.max(spawn.updatedAt, state.t);
  const next = { ...spawn, ...ended, stopping: false, registerUntil: null, updatedAt: at, endedAt: at };
  putSpawn(state.spawns, next);
  announceSpawn(step, next);
}

/** Returns the record without what concerns a return by its client. */
function unwatched({ watchedUntil: _until, mayReturn: _return, ...rest }: Spawn): Spawn {
  return rest;
}

/** Only the end of an agent is for those who lead it. */
function strangerRefusal(
  state: State,
  spawn: Spawn,
  { by, state: to, stopping, replacing }: SpawnUpdate,
): Refusal | null {
  return to === null && stopping === null && replacing === undefined
    ? null
    : notItsLead(state, by, spawn, "stops");
}

function stateRefusal(
  { rules }: State,
  { id, name, state: now }: Spawn,
  { state: to }: SpawnUpdate,
): Refusal | null {
  if (to === null || to === now) return null;
  const isAllowed = mayMove(now, to) && (to === "stopped" || now === "starting");
  // A stop ends an agent that was killed, or that never registered, for good.
  if (isAllowed || (rules >= 2 && now === "failed" && to === "stopped")) return null;
  const why = isFinal(now) ? `has ended (${now})` : `is ${now}`;
  const error = `${name} ${why}, so it cannot become ${to}; kite agents shows what it does`;
  return refuse("spawn_state", error, { spawn: id, state: now });
}

function liveRefusal({ id, name, state: now }: Spawn): Refusal | null {
  if (isFinal(now)) return null;
  const error = `${name} has not ended (${now}); stop it first: kite agents stop ${name}`;
  return refuse("spawn_state", error, { spawn: id, state: now });
}

// What becomes of a spawned agent when its session ends.
//
// Invariants: an agent whose task is done is `done`. An agent that was to be stopped is `stopped`. An agent without a task
// is `done` if its session ended by itself, or its process did and its client reports no ends. Any other agent is `failed`,
// and the record says why. If the task is in a shared project, this machine's daemon reports its end. It may do so after
// the agent's end, and then corrects the state.

type End = Pick<Spawn, "result" | "reason"> & { readonly state: SpawnState };

/** Ends the agent of a session that ends for `cause`; the claims of the session have ended. */
function endSpawn(state: State, session: string, cause: string, step: Step): void {
  const spawn = spawnAt(state.spawns, session);
  if (spawn === undefined || isFinal(spawn.state)) return;
  const at = Math.max(spawn.updatedAt, state.t);
  // A service of the client brings back a session whose process ended under it.
  const isLeft = state.rules >= 2 && spawn.backend === "background" && !isReported(cause);
  const ended = { ...endOf(state, spawn, cause), ...(isLeft ? ({ mayReturn: true } as const) : {}) };
  const next = { ...spawn, ...ended, stopping: false, updatedAt: at, endedAt: at };
  putSpawn(state.spawns, next);
  announceSpawn(step, next);
}

/** Notes how the agent's task ended in the shared project. An agent that ended meanwhile was no failure if its task is done. */
function spawnTask(
  state: State,
  { spawn: id, end, wallMs }: CommandOf<"spawn_task">,
  _meta: Meta,
  step: Step,
): void {
  step.reply = { ok: true };
  const spawn = state.spawns.all.get(id);
  if (spawn === undefined || spawn.isTaskShared !== true) return;
  const { taskEnd: _before, ...rest } = spawn;
  const next: Spawn = end === null ? rest : { ...rest, taskEnd: end };
  const isLate = end?.status === "done" && spawn.state === "failed" && spawn.session !== null;
  if (!isLate) {
    putSpawn(state.spawns, next);
    return;
  }
  const corrected = { ...next, state: "done", result: end.text, reason: null, updatedAt: wallMs } as const;
  putSpawn(state.spawns, corrected);
  announceSpawn(step, corrected);
}

/** Whether its client ended the session. */
function isReported(cause: string): boolean {
  return cause === "ended" || cause === "deregistered";
}

function endOf(
  { tasks, t, rules }: State,
  { task: id, isTaskShared, taskEnd, stopping, replaceUntil, result, reason, reportsEnd }: Spawn,
  cause: string,
): End {
  const own = id === null ? undefined : tasks.all.get(id)?.state;
  const isThere = isTaskShared === true && rules >= 3;
  // A machine that left the store has the task itself.
  const ended = (isThere ? taskEnd : undefined) ?? endIn(own);
  const hasTask = isThere ? id !== null && taskEnd?.status !== "removed" : own !== undefined;
  if (ended?.status === "done") return { state: "done", result: ended.text, reason };
  // The requester that was about to replace the agent may have been lost before it stopped anything.
  if (stopping && (replaceUntil === null || t < replaceUntil)) return { state: "stopped", result, reason };
  if (ended?.status === "failed")
    return { state: "failed", result, reason: `${id} failed: ${ended.text ?? "no reason given"}` };
  const isOrderly = isReported(cause) || (cause === "anchor_gone" && !reportsEnd);
  if (isOrderly && !hasTask) return { state: "done", result, reason };
  const how = isOrderly
    ? "its session ended"
    : cause === "anchor_gone"
      ? "its process ended"
      : "nothing was heard of it";
  return { state: "failed", result, reason: hasTask ? `${how}, and ${id} is not done` : how };
}

/** Returns how a task with this state ended; undefined: it is open, or there is none. */
export function endIn(now: TaskState | undefined): SharedTaskEnd | undefined {
  if (now?.status !== "done" && now?.status !== "failed") return undefined;
  return { status: now.status, text: resultOf(now) };
}

// The rules of spawned agents.

export const spawnRules: TimedRules<
  SpawnCommands & Pick<SessionCommands, "session_begin">,
  SpawnDues,
  State
> = {
  commands: {
    // In place of the base's handler, which it calls.
    session_begin: passing(sessionBeginAsAgent),
    spawn_create: lasting(spawnCreate),
    spawn_replace: lasting(spawnReplace),
    spawn_update: lastingAndFreeingIf(spawnUpdate, isStop),
    spawn_moved: passing(spawnMoved),
    spawn_task: passing(spawnTask),
    spawn_remove: lastingAndFreeing(spawnRemove),
  },
  numbers: {
    kind: "a",
    tableIn: ({ spawns }) => spawns,
    usedBy: ({ type }) => (type === "spawn_create" || type === "spawn_replace" ? 1 : 0),
  },
  points: {
    sessionMoves: ({ spawns }, from, to) => moveSpawn(spawns, from, to),
    answersFor: ({ spawns }, by, other) => spawnAt(spawns, other.session)?.parent?.id === by.session,
    sessionEnds: (state, session, cause, step) => endSpawn(state, session.id, cause, step),
  },
  timers: {
    spawn_over: timer(
      ({ spawns }, due) => spawns.all.get(due.spawn),
      spawn => spawn.registerUntil,
      spawnOver,
    ),
  },
  *dues({ spawns }) {
    for (const { id: spawn, registerUntil } of spawns.all.values())
      if (registerUntil !== null) yield { what: "spawn_over", spawn };
  },
};

// The invariants of spawned agents; part of `check`.

/** Yields one sentence per broken invariant. */
export function* checkSpawns({ spawns, sessions, limits }: State): Generator<string> {
  let last = 0;
  const [names, tasks, owners] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const spawn of spawns.all.values()) {
    const { id, n, project, name, task, session } = spawn;
    if (n <= last || n > spawns.count) yield `${id} has number ${n} behind ${last}`;
    last = n;
    yield* checkState(spawn, session !== null && sessions.live.has(session), limits);
    if (session !== null && owners.has(session)) yield `session ${session} is two spawned agents`;
    if (session !== null) owners.add(session);
    if (isFinal(spawn.state)) continue;
    const key = spawnNameKey(project, name);
    if (names.has(key)) yield `two spawned agents of ${project} are called ${name}`;
    names.add(key);
    if (task !== null && tasks.has(task)) yield `${task} is for two spawned agents`;
    if (task !== null) tasks.add(task);
  }
  yield* spawnRecords.check(spawns, "spawned agents", limits.spawnsMax);
}

function* checkState(spawn: Spawn, hasLiveSession: boolean, limits: Limits): Generator<string> {
  const { id, state, session, attempts, registerUntil, endedAt } = spawn;
  const isStarting = state === "starting";
  if (isFinal(state) !== (endedAt !== null)) yield `${id} is ${state} and ended at ${endedAt}`;
  if (isStarting !== (registerUntil !== null)) yield `${id} is ${state} and registers until ${registerUntil}`;
  if (isStarting && (session !== null || attempts > 0)) yield `${id} is starting and has registered`;
  if (!isStarting && !isFinal(state) && !hasLiveSession) yield `${id} is ${state}, and its session has ended`;
  if (!isFinal(state) && spawn.watchedUntil !== undefined && !spawn.stopping)
    yield `${id} is watched, and is not to be stopped`;
  if (!isFinal(state) && spawn.mayReturn) yield `${id} is ${state}, and may return`;
  if (spawn.resumes > limits.spawnResumesMax) yield `${id} was resumed ${spawn.resumes} times`;
  if (spawn.replacements > limits.spawnReplacementsMax)
    yield `${id} is the replacement ${spawn.replacements}`;
  if (spawn.replacedBy !== null && spawn.replaceUntil !== null) yield `${id} was replaced and is to be`;
}
