/**
 * Ties sessions to the spawned agents that they are.
 *
 * Invariants: the first session that names a record is its agent's, for ever; a child process that inherited the name is
 * not. A session that begins again brings its agent back from a final state; one that begins first when the agent was
 * stopped already is not the agent's, and whoever started its client ends it. The agent's session has the role that the
 * agent was spawned with, if its word names one, before it claims the agent's task; it does both in the step that
 * registers it, if the task can still be claimed. Who is stopping the agent meanwhile goes on with that, and who had its
 * client resume it ends it if a stop came first. One that its client brings back while whoever stopped it watches is to be
 * stopped, so it claims nothing.
 */
import type { Refusal } from "../../../../protocol/codes.ts";
import type { Session } from "../../base-state.ts";
import type { Step } from "../../outcome.ts";
import type { Handler, Meta } from "../../rules.ts";
import { sessionBegin } from "../../sessions/begin.ts";
import type { SessionBegin } from "../../sessions/commands.ts";
import type { State } from "../../state.ts";
import { activate, mayBegin } from "../../tasks/claim.ts";
import { blockedBy } from "../../tasks/replies.ts";
import { claimerOf } from "../../tasks/table.ts";
import { roleNamed } from "../declarations/mismatches.ts";
import { giveRole } from "../roles/given-roles.ts";
import { announceSpawn } from "./replies.ts";
import { putSpawn, type Spawn, spawnAt, spawnNameKey } from "./table.ts";
import { isFinal } from "./transitions.ts";

/** Begins a session, and registers the spawned agent that it is, under the agent's name. */
export const sessionBeginAsAgent: Handler<"session_begin", State> = (state, command, meta, step) => {
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
};

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
