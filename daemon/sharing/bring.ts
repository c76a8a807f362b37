/**
 * Brings over what happened here to tasks that the other log has already: a machine left, people and agents went on, and it
 * shares the project again; or a move broke off.
 *
 * Invariant: what somebody works on there or did there keeps its status. Of the two texts the later one counts.
 */
import type { Actor } from "../core/actor.ts";
import type { Command } from "../core/commands.ts";
import { claimerOf, listOf, type Task, taskAt } from "../core/tasks/table.ts";
import {
  type CopyLog,
  CopyRefused,
  dependenciesFirst,
  enter,
  isCopy,
  isNewer,
  noChange,
  type Place,
} from "./copy.ts";

/** Returns the done tasks of a project. */
export function doneIn({ log, project }: Place): readonly Task[] {
  const { tasks } = log.state;
  return [...listOf(tasks, "done", project)].map(place => taskAt(tasks, place));
}

/** Brings over each task that is newer here. `isFresh`: the project was not shared until now. */
export async function bringNewer(
  from: Place,
  to: Place,
  tasks: readonly Task[],
  isFresh: boolean,
): Promise<void> {
  const { all } = to.log.state.tasks;
  const newer = tasks.filter(task => {
    const there = all.get(task.id);
    return isCopy(task, there, to) && isNewer(task, there, isFresh);
  });
  for (const task of dependenciesFirst(newer)) {
    const there = all.get(task.id);
    if (there === undefined || !isNewer(task, there, isFresh)) continue;
    const { id, description, priority, labels, risk = "green", updatedAt: wallMs } = task;
    const text = { ...noChange, description, priority, labels, project: to.project, wallMs };
    const update = { ...text, type: "task_update", task: id } as const;
    const dependsOn = task.dependsOn.filter(other =>
      isCopy(from.log.state.tasks.all.get(other), all.get(other), to),
    );
    const isBusy = there.state.status === "active";
    const rated = risk === (there.risk ?? "green") ? {} : { risk };
    const whole = { ...update, ...rated, dependsOn, ...statusOf(task, there, isFresh) };
    if (!isBusy && (await isTaken(to.log, whole))) continue;
    await enter(to.log, { ...update, status: null, result: null });
  }
}

/** Returns the status that the task gets there, with its result. */
function statusOf({ state }: Task, there: Task, isFresh: boolean) {
  if (state.status === "done") return { status: state.status, result: state.result };
  if (state.status === "failed") return { status: state.status, result: state.reason };
  const isOpenedAnew = isFresh && there.state.status === "failed";
  return { status: isOpenedAnew ? ("pending" as const) : null, result: null };
}

/**
 * Claims again what a session works on here, and nobody there. A claim that is older than what happened there counts only if the
 * project was not shared until now: since then its sessions speak to the other log.
 */
export async function claimAgain(
  to: Place,
  tasks: readonly Task[],
  actorIn: (actor: Actor) => Actor | null,
  isFresh: boolean,
): Promise<void> {
  for (const task of tasks) {
    const there = to.log.state.tasks.all.get(task.id);
    const claimer = claimerOf(task);
    const actor = claimer === null ? null : actorIn(claimer);
    if (actor === null || there?.state.status !== "pending" || !isCopy(task, there, to)) continue;
    if (!isFresh && there.updatedAt > task.updatedAt) continue;
    const wallMs = Math.max(task.updatedAt, there.updatedAt);
    const claim = { actor, task: task.id, labels: [], project: to.project, cwd: "", wallMs };
    await isTaken(to.log, { type: "task_claim", ...claim });
  }
}

/** Returns those of the tasks that a session worked on here, and that it does not have there. */
export function releasedOf(
  to: Place,
  claims: ReadonlyMap<string, Actor>,
  actorIn: (actor: Actor) => Actor | null,
): readonly string[] {
  return [...claims].flatMap(([id, claimer]) => {
    const there = to.log.state.tasks.all.get(id);
    if (there === undefined || there.state.status === "done") return [];
    const [now, meant] = [claimerOf(there), actorIn(claimer)];
    const isTheirs = now !== null && now.session === meant?.session && now.agent === meant.agent;
    return isTheirs ? [] : [id];
  });
}

/** Returns the claims of these tasks. */
export function claimsIn(tasks: readonly Task[]): ReadonlyMap<string, Actor> {
  return new Map(
    tasks.flatMap(task => {
      const claimer = claimerOf(task);
      return claimer === null ? [] : [[task.id, claimer] as const];
    }),
  );
}

/** Refusals of a store that does not take commands now. */
const isAway: ReadonlySet<string> = new Set(["unknown_node", "outcome_unknown", "node_twice"]);

/** Whether the log takes the command. Rejects if it takes none now. */
async function isTaken(log: CopyLog, command: Command): Promise<boolean> {
  const reply = await log.submitAndWait(command);
  if (!reply.ok && (isAway.has(reply.code) || reply.code.startsWith("store_"))) throw new CopyRefused(reply);
  return reply.ok;
}
