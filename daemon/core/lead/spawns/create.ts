/**
 * Records agents that are about to be started.
 *
 * Invariants: a project has at most `liveMax` agents that were spawned and have not ended when one more is recorded; no
 * agent is deeper than `depthMax`, unless it takes the place of another one; a new agent's name is that of no live session and no other agent of the project; its
 * task can be claimed, by its role too, and is for no other spawned agent.
 */
import { type Refusal, refuse } from "../../../../protocol/codes.ts";
import { defaultRole } from "../../../../protocol/lead/roles.ts";
import { actorRow } from "../../locks/replies.ts";
import type { Handler } from "../../rules.ts";
import { noSession } from "../../sessions/end.ts";
import { isAlive, projectOf } from "../../sessions/kinship.ts";
import { nameKey } from "../../sessions/table.ts";
import type { State } from "../../state.ts";
import { mayBegin } from "../../tasks/claim.ts";
import { blockedBy, findTask, isTask } from "../../tasks/replies.ts";
import { roleNamed } from "../declarations/mismatches.ts";
import { mayRunAs } from "../roles/claims.ts";
import type { SpawnCreate } from "./commands.ts";
import { notItsLead } from "./replace.ts";
import { announceSpawn, findSpawn, isSpawn, spawnRow } from "./replies.ts";
import { addSpawn, putSpawn, type Spawn, spawnAt, spawnNameKey, spawnOf } from "./table.ts";

export const spawnCreate: Handler<"spawn_create", State> = (state, command, _meta, step) => {
  const { by, role, backend, client, base, wallMs } = command;
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
  const n = spawns.count;
  const spawn = {
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
  if (place !== null) putSpawn(spawns, { ...place, replacedBy: spawn.id, replaceUntil: null });
  addSpawn(spawns, spawn);
  step.timers.push({ at: spawn.registerUntil, due: { what: "spawn_over", spawn: spawn.id } });
  announceSpawn(step, spawn);
  step.reply = { ok: true, spawn: spawnRow(state, spawn) };
};

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
