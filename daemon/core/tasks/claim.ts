/**
 * Claims of tasks by actors.
 *
 * Invariants: a task has at most one claimer, which is alive. It becomes active only when its dependencies are done, and
 * when its risk and the role of its claimer allow it.
 */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import { isGrave } from "../../../protocol/names.ts";
import type { DependencyRow } from "../../../protocol/schemas/task.ts";
import { type Actor, sameActor } from "../frame/actors.ts";
import { type BaseState, ensureSession, type Meta, noRoomForSession } from "../tables/base-state.ts";
import type { CommandOf, Step } from "../tables/entries.ts";
import { speakerRow } from "../tables/naming.ts";
import type { TaskClaim } from "../tables/tasks.ts";
import { claimerOf, listOf, setState, type Task, taskAt } from "../tables/tasks.ts";
import { giveBack, mayEnd } from "./leave.ts";
import {
  blockedBy,
  blockedRefusal,
  claimable,
  claimedRefusal,
  findTask,
  isTask,
  leftReady,
  mayRun,
  riskOf,
  stateRefusal,
  taskRow,
  tell,
} from "./replies.ts";

export function taskClaim(state: BaseState, command: CommandOf<"task_claim">, meta: Meta, step: Step): void {
  const { actor } = command;
  const found =
    command.task === null ? bestOf(state, command) : findTask(state, command.task, command.project);
  if (!isTask(found)) {
    step.reply = found;
    return;
  }
  const claimer = claimerOf(found);
  // The actor has the claim already.
  const isTheirs = claimer !== null && sameActor(claimer, actor);
  const refused = isTheirs ? null : mayBegin(state, found, actor, blockedBy(state, found));
  if (refused !== null) {
    step.reply = refused;
    return;
  }
  if (!isTheirs) activate(state, found, { ...command, by: actor }, meta, step);
  step.reply = { ok: true, task: taskRow(state, found) };
}

export function taskRelease(
  state: BaseState,
  command: CommandOf<"task_release">,
  _meta: Meta,
  step: Step,
): void {
  const { by, wallMs, cause = "released" } = command;
  const task = findTask(state, command.task, command.project ?? null);
  if (!isTask(task)) {
    step.reply = task;
    return;
  }
  if (task.state.status !== "active") {
    step.reply = stateRefusal(state, task, "nobody works on it");
    return;
  }
  const foreign = mayEnd(state, task, by);
  if (foreign !== null) {
    step.reply = foreign;
    return;
  }
  giveBack(state, task, cause, { by, wallMs, attempts: task.attempts }, step);
  step.reply = { ok: true, task: taskRow(state, task) };
}

/** Returns why the task cannot become active, or null. `open`: its dependencies that are not done. */
export function mayBegin(
  state: BaseState,
  task: Task,
  by: Actor | null,
  open: readonly DependencyRow[],
): Refusal | null {
  const { status } = task.state;
  if (status === "active" && (claimerOf(task) !== null || by === null))
    return claimedRefusal(state, task, "claim another one, or ask them");
  if (status === "done" || status === "failed")
    return stateRefusal(state, task, "set it to pending to begin it anew");
  if (open.length > 0) return blockedRefusal(open);
  return mayRun(state, task, by) ?? (by === null ? null : mayClaim(state, by));
}

/** The fields of a command that activate a task. */
type Activation = Pick<TaskClaim, "project" | "cwd" | "wallMs"> & {
  readonly by: Actor | null;
  /** Absent: a request did. */
  readonly cause?: "registered";
};

/** Makes the task active and assigns it to the actor; the caller has checked that it may. */
export function activate(
  state: BaseState,
  task: Task,
  { by, cause, ...rest }: Activation,
  meta: Meta,
  step: Step,
): void {
  if (by !== null) ensureSession(state, { actor: by, ...rest }, meta, step);
  setState(state.tasks, task, { status: "active", claimer: by }, rest.wallMs);
  // A person who begins it says yes to it.
  if (by === null && isGrave(riskOf(task))) state.preimages.writable(task).approved = true;
  for (const { taskBegins } of state.points) taskBegins?.(state, task, by, step);
  const event = "task_claimed";
  tell(step, task, cause === undefined ? event : { event, cause }, speakerRow(state, by));
}

/**
 * Returns the first ready task that has all labels and that the actor may claim now. It searches, for each class of
 * risk, only the tasks with the rarest label.
 */
function bestOf(
  state: BaseState,
  { actor, project, labels }: Pick<TaskClaim, "actor" | "project" | "labels">,
): Task | Refusal {
  const { tasks } = state;
  const firsts = claimable(state, project, actor).flatMap(one => {
    const name = `ready ${one}` as const;
    const lists = labels.map(label => listOf(tasks, name, project, label));
    const [rarest = listOf(tasks, name, project)] = lists.sort((a, b) => a.size - b.size);
    for (const place of rarest)
      if (labels.every(label => taskAt(tasks, place).labels.includes(label))) return [place];
    return [];
  });
  const [best] = firsts.sort();
  if (best !== undefined) return taskAt(tasks, best);
  const [blocked, active] = [listOf(tasks, "blocked", project).size, listOf(tasks, "active", project).size];
  const kind = labels.length === 0 ? "" : ` with ${labels.join(", ")}`;
  const { beyond, as, held } = leftReady(state, project, actor);
  const more = beyond === 0 ? "" : `; ${beyond} more are ready, beyond ${as} (kite task ready lists them)`;
  const waits = held === null ? "" : `; ${held}`;
  const error = `no task${kind} of ${project} is ready; ${blocked} blocked and ${active} active in all${more}${waits}`;
  const counts = beyond === 0 ? {} : { beyond };
  return refuse("no_ready_task", error, { project, blocked, active, ...counts });
}

/** Returns why the actor may not have one more claim, or null: it must be alive or new, and below its limit. */
export function mayClaim(state: BaseState, { session, incarnation }: Actor): Refusal | null {
  const { limits } = state;
  const { live, ended } = state.sessions;
  const known = live.get(session);
  const end = ended.get(session);
  const isOver = known === undefined && end !== undefined && end.at + limits.endedMs > state.t;
  const isPart = known?.incarnations.some(i => i.ordinal === incarnation) ?? incarnation === 0;
  if (isOver || !isPart)
    return refuse("session_ended", `session ${session} has ended; register it again before it claims tasks`);
  const full = known === undefined ? noRoomForSession(state) : null;
  if (full !== null) return full;
  if ((state.tasks.claims.get(session)?.size ?? 0) < limits.claimsPerSessionMax) return null;
  const error = `a session may work on ${limits.claimsPerSessionMax} tasks at once; finish or release some`;
  return refuse("too_many_tasks", error);
}
