/**
 * The task of a spawned agent in a project that machines share: the agent stands in this machine's log, and its task in the
 * shared one. The request looks the task up there, the daemon claims it when the agent's session is there, and tells this
 * machine's log how it ended.
 */
import type { Refusal } from "../../../protocol/codes.ts";
import { defaultRole } from "../../../protocol/lead/roles.ts";
import { isSame } from "../../core/frame/records.ts";
import { roleNamed } from "../../core/lead/declarations.ts";
import { mayRunAs } from "../../core/lead/roles.ts";
import { endIn } from "../../core/lead/spawns.ts";
import type { SharedTaskEnd, Spawn, Spawns } from "../../core/lead/tables/spawns.ts";
import { isFinal } from "../../core/lead/tables/spawns.ts";
import { claimerOf } from "../../core/tables/tasks.ts";
import { mayBegin } from "../../core/tasks/claim.ts";
import { isSessionOf } from "../../core/tasks/leave.ts";
import { assigneeOf, blockedBy, findTask, isTask } from "../../core/tasks/replies.ts";
import type { Log } from "../../engine/engine.ts";
import type { Listener } from "../../engine/listeners.ts";
import type { Services } from "../../services.ts";

/** Returns the id of the task in the shared log, or why no agent may be spawned for it; null: the project is not shared. */
export function sharedTask(
  engine: Log,
  project: string,
  name: string,
  role: string | null,
): string | Refusal | null {
  const log = engine.logOf(project);
  if (log.state === engine.state) return null;
  const found = findTask(log.state, name, log.project(project));
  if (!isTask(found)) return log.outward(found);
  const refused =
    mayBegin(log.state, found, null, blockedBy(log.state, found)) ??
    mayRunAs(log.state, found, roleNamed(role ?? "") ?? defaultRole);
  return refused === null ? found.id : log.outward(refused);
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

/**
 * Returns what tells this machine's log how such tasks end: `own` hears the machine's log, which says at each opening of the
 * store what is shared, and `shared` the store's.
 */
export function followsSharedTasks({ engine, clock }: Pick<Services, "engine" | "clock">): {
  readonly own: Listener;
  readonly shared: Listener;
} {
  const look = (spawn: Spawn) => noteEnd(engine, spawn, clock.wall());
  return {
    own: {
      commands: ["sharing_set"],
      stepped: () => {
        for (const spawn of engine.state.spawns.all.values()) look(spawn);
      },
    },
    shared: {
      events: [
        "task_claimed",
        "task_completed",
        "task_failed",
        "task_released",
        "task_removed",
        "task_updated",
      ],
      stepped: (_entry, { events }) => {
        for (const { event } of events) {
          if (!("task" in event)) continue;
          const spawn = spawnFor(engine.state.spawns, event.task);
          if (spawn !== undefined) look(spawn);
        }
      },
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
  if (log.state === engine.state || !log.state.leases.isShared) return;
  const task = log.state.tasks.all.get(id);
  const end: SharedTaskEnd | null =
    task === undefined ? { status: "removed", text: null } : (endIn(task.state) ?? null);
  const doer = task === undefined ? null : assigneeOf(log.state, task);
  // What others did after an agent's end is not its work.
  const isOthers = isFinal(state) && !isSessionOf(doer, session ?? "", engine.state.outbox.node);
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
