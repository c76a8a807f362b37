/** spawn_create, spawn_replace, spawn_update, spawn_remove. The agents themselves are started by the requesters' processes. */

import { type Refusal, refuse } from "../../protocol/codes.ts";
import { defaultRole } from "../../protocol/lead/roles.ts";
import type { SpawnRow, spawnRequests } from "../../protocol/lead/spawn.ts";
import { limits } from "../../protocol/limits.ts";
import type { UserConfig } from "../config/config.ts";
import { isSame } from "../core/frame/records.ts";
import { roleNamed } from "../core/lead/declarations.ts";
import { firstUnread } from "../core/lead/merges.ts";
import { mayRunAs } from "../core/lead/roles.ts";
import { endIn, spawnRow } from "../core/lead/spawns.ts";
import type { Merge } from "../core/lead/tables/merges.ts";
import {
  isFinal,
  mayMove,
  type SharedTaskEnd,
  type Spawn,
  type Spawns,
  spawnAt,
} from "../core/lead/tables/spawns.ts";
import type { Reply } from "../core/tables/entries.ts";
import { claimerOf } from "../core/tables/tasks.ts";
import { mayBegin } from "../core/tasks/claim.ts";
import { assigneeOf, blockedBy, findTask, isTask } from "../core/tasks/replies.ts";
import type { Log } from "../engine/engine.ts";
import type { Listener, SharedListener } from "../engine/log-view.ts";
import { AnchorWatch } from "../facts/processes.ts";
import type { HookPart } from "../hooks/points.ts";
import type { Services } from "../options.ts";
import { forward, type HandlersOf, type Target } from "../requests/handler.ts";
import type { Keyed, RowSource } from "../views/paging.ts";
import { cameBackField, healthColumn, healthRow } from "./columns.ts";

// Watches the processes of agents that start: one that ends before the agent's session has begun fails the agent at once,
// not only when its time to register is over.

type Needed = Pick<Services, "clock" | "facts"> & {
  readonly engine: Pick<Services["engine"], "state" | "submitWithRetry">;
};

class StartingAgents {
  readonly #needed: Needed;
  readonly #processes = new AnchorWatch();
  /** The records whose processes are watched: at most as many as there are agents that start. */
  readonly #watched = new Set<string>();
  #isArmed = false;

  constructor(needed: Needed) {
    this.#needed = needed;
    this.#processes.onGone(id => this.#gone(id));
  }

  /** Watches the agent's process until its session begins. A process that the daemon does not see is left to the time. */
  watch(id: string, pid: number): void {
    const anchor = this.#needed.facts.anchor(pid);
    if (anchor === null || this.#starting(id) === null) return;
    this.#watched.add(id);
    this.#processes.add(id, anchor);
    this.#arm();
  }

  #arm(): void {
    if (this.#isArmed || this.#watched.size === 0) return;
    this.#isArmed = true;
    const { clock } = this.#needed;
    clock.at(clock.now() + limits.anchorPollMs, () => {
      this.#isArmed = false;
      for (const id of this.#watched) if (this.#starting(id) === null) this.#leave(id);
      void this.#processes.look();
      this.#arm();
    });
  }

  #gone(id: string): void {
    this.#leave(id);
    const { engine, clock } = this.#needed;
    const spawn = this.#starting(id);
    if (spawn === null) return;
    const { name, client, stopping } = spawn;
    const failure = `${client} ended before its session began; see what it said: kite explain ${name} --log`;
    const nothing = { stopping: null, handle: null, worktree: null, branch: null, output: null };
    const state = stopping
      ? ({ state: "stopped", reason: null } as const)
      : ({ state: "failed", reason: failure } as const);
    const command = { type: "spawn_update", by: null, spawn: id, ...nothing, ...state } as const;
    engine.submitWithRetry({ ...command, wallMs: clock.wall() });
  }

  #leave(id: string): void {
    this.#watched.delete(id);
    this.#processes.remove(id);
  }

  /** Returns the record if its agent's session has not begun. */
  #starting(id: string): Spawn | null {
    const spawn = this.#needed.engine.state.spawns.all.get(id);
    return spawn?.state === "starting" ? spawn : null;
  }
}

// What requests for spawned agents need besides the services of all.

export interface SpawnServices extends Services {
  /** Of the user: how many agents of a project, and how deep, may be spawned; what is wanted for agents that stall. */
  readonly settings: UserConfig;
  readonly startingAgents: StartingAgents;
}

/** Returns them by the user's settings. */
export function spawnServices(settings: UserConfig, base: Services): Omit<SpawnServices, keyof Services> {
  return { settings, startingAgents: new StartingAgents(base) };
}

// The task of a spawned agent in a project that machines share: the agent stands in this machine's own log, and its task in
// the store. The request looks the task up there, the daemon claims it when the agent's session is there, and tells this
// machine's log how it ended.

/** Returns the id of the task in the shared project, or why no agent may be spawned for it; null: the project is not shared. */
function sharedTask(
  engine: Log,
  project: string,
  name: string,
  role: string | null,
): string | Refusal | null {
  const log = engine.logOf(project);
  if (log.state === engine.state) return null;
  const found = findTask(log.state, name, project);
  if (!isTask(found)) return found;
  const refused =
    mayBegin(log.state, found, null, blockedBy(log.state, found)) ??
    mayRunAs(log.state, found, roleNamed(role ?? "") ?? defaultRole);
  return refused === null ? found.id : refused;
}

/** Returns what claims such a task for its agent, as soon as the agent's session is there and the store answers. */
export function claimsSharedTasks({ engine, clock }: Pick<Services, "engine" | "clock">): Listener {
  // One claim of an agent at a time.
  const claiming = new Set<string>();
  return {
    events: ["spawn_changed"],
    stepped: (_entry, { events }) => {
      for (const { event } of events)
        if (event.event === "spawn_changed") claim(engine, event.spawn, clock.wall(), claiming);
    },
  };
}

/** Returns what tells this machine's log how such tasks end. */
export function followsSharedTasks({ engine, clock }: Pick<Services, "engine" | "clock">): SharedListener {
  const look = (spawn: Spawn) => noteEnd(engine, spawn, clock.wall());
  return {
    told(events) {
      for (const { event } of events) {
        if (!("task" in event)) continue;
        const spawn = spawnFor(engine.state.spawns, event.task);
        if (spawn !== undefined) look(spawn);
      }
    },
    reached() {
      for (const spawn of engine.state.spawns.all.values()) look(spawn);
    },
  };
}

/** Returns the agent that has the task, or the last one that had it. */
function spawnFor({ all, bySharedTask }: Spawns, task: string): Spawn | undefined {
  const last = [...(bySharedTask.get(task) ?? [])].at(-1);
  return last === undefined ? undefined : all.get(last);
}

function noteEnd(engine: Log, spawn: Spawn, wallMs: number): void {
  const { task: id, project, session, state, taskEnd = null } = spawn;
  if (spawn.isTaskShared !== true || id === null) return;
  const log = engine.logOf(project);
  // Before a daemon reached its store for the first time, nothing is known of tasks.
  if (log.state === engine.state || log.state.seq === 0) return;
  const task = log.state.tasks.all.get(id);
  const end: SharedTaskEnd | null =
    task === undefined ? { status: "removed", text: null } : (endIn(task.state) ?? null);
  const doer = task === undefined ? null : assigneeOf(log.state, task);
  // What others did after an agent's end is not its work.
  const as = log.actor({ session: session ?? "", agent: null, incarnation: 0 }).session;
  const isOthers = isFinal(state) && doer?.id !== as;
  if (isOthers || isSame(end, taskEnd)) return;
  engine.submitWithRetry({ type: "spawn_task", spawn: spawn.id, end, wallMs });
}

function claim(engine: Log, id: string, wallMs: number, claiming: Set<string>): void {
  const spawn = engine.state.spawns.all.get(id);
  if (spawn === undefined || spawn.isTaskShared !== true || spawn.task === null) return;
  const { session, task, project } = spawn;
  const known = session === null ? undefined : engine.state.sessions.live.get(session);
  if (session === null || known === undefined || isFinal(spawn.state) || spawn.stopping) return;
  const actor = { session, agent: null, incarnation: known.incarnations[0]?.ordinal ?? 0 };
  const log = engine.logOf(project);
  const now = log.state.tasks.all.get(task);
  const isOver = now?.state.status === "done" || now?.state.status === "failed";
  if (isOver || (now !== undefined && claimerOf(now)?.session === log.actor(actor).session)) return;
  const key = `${id}\n${session}`;
  if (claiming.has(key)) return;
  claiming.add(key);
  const over = () => void claiming.delete(key);
  // One that fails is made again when the agent's state changes next.
  engine.submit(
    { type: "task_claim", actor, task, labels: [], project, cwd: "/", wallMs },
    { answer: over, failed: over },
  );
}

export const spawnHandlers: HandlersOf<typeof spawnRequests, SpawnServices> = {
  spawn_create: forward<"spawn_create", SpawnServices>({
    command: (request, stamp, { settings, engine }) => {
      const { spawnMax: liveMax, spawnDepth: depthMax } = settings.values;
      const {
        name = null,
        role = null,
        task = null,
        backend,
        client,
        base = null,
        reportsEnd = true,
      } = request;
      const { prompt = null, model = null, replaces = null, lead } = request;
      const shared = task === null ? null : sharedTask(engine, stamp.project, task, role);
      if (shared !== null && typeof shared !== "string") return shared;
      return {
        type: "spawn_create",
        ...{ ...stamp, liveMax, depthMax, name, role, task, backend, client, base, reportsEnd },
        ...{ prompt, model, replaces },
        ...(shared === null ? {} : { task: shared, isTaskShared: true as const }),
        ...(lead === true ? { isLead: true as const } : {}),
      };
    },
    reply: (reply, _, { settings }) =>
      reply.ok ? { ...reply, stalled: settings.values.health.stalled } : reply,
    line,
  }),
  // The daemon sees whether the agent stalled; one that ended while it was replaced may be replaced still.
  spawn_replace: forward<"spawn_replace">({
    command: ({ spawn: id, resumable, resumed }, { by, wallMs }, services) => {
      const { state } = services.engine;
      const spawn = state.spawns.all.get(id);
      const session = spawn?.session == null ? undefined : state.sessions.live.get(spawn.session);
      if (spawn !== undefined && !isFinal(spawn.state)) {
        const health = session === undefined ? null : healthRow(services, session, null);
        if (health?.state !== "stalled") {
          const now = health?.state ?? spawn.state.replaceAll("_", " ");
          const error = `${spawn.name} is ${now}, and only an agent that stalled is replaced; to end it: kite agents stop ${spawn.name}`;
          return refuse("spawn_state", error, { spawn: id, state: spawn.state });
        }
      }
      return { type: "spawn_replace", by, spawn: id, resumable, isFailed: resumed === false, wallMs };
    },
    line,
  }),
  spawn_update: forward<"spawn_update", SpawnServices>({
    command: (request, { by, wallMs }) => {
      const { spawn, state = null, stopping = null, replacing, handle = null } = request;
      const { worktree = null, branch = null, output = null, reason = null } = request;
      return {
        type: "spawn_update",
        ...{ by, spawn, state, stopping, handle, worktree, branch, output, reason, wallMs },
        ...(replacing === undefined ? {} : { replacing }),
      };
    },
    reply: (reply, { spawn, pid }, { startingAgents }) => {
      if (reply.ok && pid !== undefined) startingAgents.watch(spawn, pid);
      return reply;
    },
    line,
  }),
  spawn_remove: forward<"spawn_remove">({
    command: ({ spawns }, { by }) => ({ type: "spawn_remove", by, spawns }),
    line: (_, { spawns }) => ({ rule: "spawn", why: spawns.join(", ") }),
  }),
};

/** The trail says which agent a reply is about, without what it printed. */
function line(reply: Reply): { readonly rule: string; readonly why: string } {
  const { spawn } = reply as { readonly spawn?: unknown };
  if (typeof spawn !== "object" || spawn === null) return { rule: "spawn", why: "" };
  const { id, name, state } = spawn as { readonly id: string; readonly name: string; readonly state: string };
  return { rule: "spawn", why: `${name} (${id}): ${state}` };
}

// Spawned agents as `query` shows them, the oldest first.

export function* spawnRows(source: RowSource): Generator<Keyed<SpawnRow>, void> {
  const { state } = source.engine;
  /** The latest merge that came back, by its author. */
  const returned = new Map<string, Merge>();
  for (const merge of state.merges.all.values())
    if (merge.notice !== undefined && merge.author?.agent === null) returned.set(merge.author.id, merge);
  for (const spawn of state.spawns.all.values()) {
    const row = () => {
      const session = spawn.session === null ? undefined : state.sessions.live.get(spawn.session);
      const health = session === undefined ? {} : healthColumn(source, session, null);
      const own = spawn.session ?? "";
      const merge = session === undefined ? returned.get(own) : firstUnread(state, own);
      const { tasks } = source.engine.logOf(spawn.project).state;
      return {
        ...spawnRow({ sessions: state.sessions, tasks }, spawn),
        ...health,
        ...cameBackField(source, merge),
      };
    };
    yield { place: spawn.n, key: spawn.id, row };
  }
}

const spawns: Target<SpawnRow> = {
  open: source => () => spawnRows(source),
  ids: row => [row.session, row.parent?.id],
};

export const spawnTargets = { spawns };

// Tells the log what the sessions of spawned agents do, as their events show it.

type Deps = Pick<Services, "clock" | "presence"> & {
  readonly engine: Pick<Services["engine"], "state" | "submitWithRetry">;
};

/** The session's client asks a person, goes on or works. A session whose turn ends is `turnOver`'s. */
function spawnSeen(services: Deps, session: string): void {
  const spawn = spawnAt(services.engine.state.spawns, session);
  if (spawn === undefined) return;
  const { active, dialogs } = services.presence.of(session);
  if (dialogs.size > 0) move(services, spawn, "waits_on_person");
  else if (active) move(services, spawn, "running");
  else if (spawn.state === "waits_on_person") move(services, spawn, "idle");
}

/** The turn of the session's main agent is over. Before its first turn an agent that starts is not idle. */
function spawnTurnOver(services: Deps, session: string): void {
  const spawn = spawnAt(services.engine.state.spawns, session);
  if (spawn !== undefined) move(services, spawn, "idle");
}

/** A person prompted the session: an agent that came back after it had been stopped stays. */
function spawnPrompted({ engine, clock }: Deps, session: string): void {
  const spawn = spawnAt(engine.state.spawns, session);
  if (spawn?.watchedUntil === undefined || isFinal(spawn.state)) return;
  const moved = { spawn: spawn.id, state: "running", prompted: true, wallMs: clock.wall() } as const;
  engine.submitWithRetry({ type: "spawn_moved", ...moved });
}

/**
 * Returns the directory in which a session begins. A client that brings back an agent names the project's folder first,
 * although the agent goes on in its own worktree.
 */
async function beginningIn(
  { engine, facts }: Pick<Deps, "engine"> & Pick<Services, "facts">,
  session: string,
  cwd: string,
): Promise<string> {
  const spawn = spawnAt(engine.state.spawns, session);
  if (spawn === undefined || !isFinal(spawn.state) || spawn.worktree === null || cwd !== spawn.project)
    return cwd;
  const found = await facts.repository(spawn.worktree);
  return "worktree" in found && found.worktree === spawn.worktree ? spawn.worktree : cwd;
}

/** Whether an event in `cwd` shows that the agent is back in its own worktree, while its session counts elsewhere. */
function isBackInWorktree({ engine }: Pick<Deps, "engine">, session: string, cwd: string): boolean {
  const { spawns, sessions } = engine.state;
  const own = spawnAt(spawns, session)?.worktree ?? null;
  const now = sessions.live.get(session)?.worktree;
  return own !== null && own !== now && (cwd === own || cwd.startsWith(`${own}/`));
}

function move({ engine, clock }: Deps, spawn: Spawn, to: "running" | "waits_on_person" | "idle"): void {
  if (isFinal(spawn.state) || !mayMove(spawn.state, to)) return;
  engine.submitWithRetry({ type: "spawn_moved", spawn: spawn.id, state: to, wallMs: clock.wall() });
}

// What spawned agents have to do with events of hooks.

export function spawnPart(services: Services): HookPart {
  return {
    isElsewhere: (session, cwd) => isBackInWorktree(services, session, cwd),
    beginsIn: (session, cwd) => beginningIn(services, session, cwd),
    alive: ({ whose, active, attention }) => {
      if (active === true || attention !== undefined) spawnSeen(services, whose.session);
    },
    turnOver: session => spawnTurnOver(services, session),
    prompted: session => spawnPrompted(services, session),
    waitsFor: session => {
      const spawn = spawnAt(services.engine.state.spawns, session);
      return { isAlone: spawn !== undefined && !isFinal(spawn.state) };
    },
  };
}
