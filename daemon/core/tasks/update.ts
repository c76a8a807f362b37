/**
 * Changes one task: its text, its dependencies and its status.
 *
 * Invariants: pending goes to active, done or failed; active to done, failed or pending; done and failed to pending.
 * A task is active only while its dependencies are done, so a dependency of an active task stays done. A person's yes is
 * to what a task says and to its risk: a change of either takes it back, unless the task is active.
 */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import { limits } from "../../../protocol/limits.ts";
import { isGrave, risks } from "../../../protocol/names.ts";
import type { TaskStatus } from "../../../protocol/schemas/task.ts";
import type { Actor } from "../frame/actors.ts";
import { leadsTo } from "../frame/collections.ts";
import type { BaseState, Meta } from "../tables/base-state.ts";
import type { CommandOf } from "../tables/entries.ts";
import { ruleAt, type Step } from "../tables/entries.ts";
import { speakerRow } from "../tables/naming.ts";
import {
  claimerOf,
  isDone,
  resultOf,
  revise,
  setDependencies,
  type Task,
  type TaskUpdate,
  taskOf,
} from "../tables/tasks.ts";
import { activate, mayBegin, mayClaim } from "./claim.ts";
import { finish, giveBack, mayEnd } from "./leave.ts";
import {
  assigneeOf,
  blockedRefusal,
  claimedRefusal,
  cycleRefusal,
  dependencyRow,
  findAll,
  findCycle,
  findTask,
  isTask,
  mayRaise,
  mayRate,
  mayRun,
  riskOf,
  stateRefusal,
  taskRow,
  tell,
  tellReady,
  tooManyDependents,
  whoOf,
} from "./replies.ts";

export function taskUpdate(
  state: BaseState,
  command: CommandOf<"task_update">,
  meta: Meta,
  step: Step,
): void {
  const { tasks } = state;
  const task = findTask(state, command.task, command.project);
  if (!isTask(task)) {
    step.reply = task;
    return;
  }
  const dependsOn =
    command.dependsOn === null ? task.dependsOn : findAll(state, command.dependsOn, task.project);
  if ("ok" in dependsOn) {
    step.reply = dependsOn;
    return;
  }
  const debate =
    command.debate === undefined
      ? task.debate
      : ruleAt(state.points, "debateNamed")?.(state, task.project, command.debate);
  const refused =
    typeof debate === "object"
      ? debate
      : (ruleAt(state.points, "mayReplaceDebate")?.(state, task, debate, command.by) ??
        mayChange(state, task, command, dependsOn));
  if (refused !== null || typeof debate === "object") {
    step.reply = refused;
    return;
  }
  const wasBlocked = tasks.open.has(task.id);
  const { risk, approved } = rated(task, command);
  const isRaised = risks.indexOf(riskOf({ risk })) > risks.indexOf(riskOf(task));
  if (command.dependsOn !== null) setDependencies(tasks, task, dependsOn);
  revise(tasks, task, writable => {
    writable.description = command.description ?? task.description;
    writable.priority = command.priority ?? task.priority;
    writable.labels = command.labels ?? task.labels;
    writable.debate = debate;
    writable.risk = risk;
    writable.approved = approved;
    writable.updatedAt = command.wallMs;
  });
  const stays = command.status === null || command.status === task.state.status;
  // Whoever claims it in the same step tells them of it, once.
  const isClaim = state.rules >= 2 && claims(state, task, command);
  if (stays && isRaised && task.state.status === "active" && !isClaim)
    for (const { taskBegins } of state.points) taskBegins?.(state, task, claimerOf(task), step);
  if (stays) revised(state, task, command, meta, step);
  else move(state, task, command, meta, step);
  const isFree = wasBlocked && !tasks.open.has(task.id) && task.state.status === "pending";
  if (stays && isFree) tellReady(step, [task]);
  step.reply = { ok: true, task: taskRow(state, task) };
}

/** Returns the task's risk after the update, and whether it has a person's yes; green is undefined. */
function rated(task: Task, { risk, description, status, by }: TaskUpdate): Pick<Task, "risk" | "approved"> {
  const next = risk === undefined || risk === null ? riskOf(task) : risk;
  const isChanged = next !== riskOf(task) || (description !== null && description !== task.description);
  const isActive = task.state.status === "active";
  // A person who makes a running task red or critical says yes to it.
  const yes =
    isActive && isChanged && by === null && isGrave(next) && status !== "pending" ? true : undefined;
  const kept = isGrave(next) && (isActive || !isChanged) ? task.approved : undefined;
  return { risk: next === "green" ? undefined : next, approved: yes ?? kept };
}

/** Returns why the update is refused, or null; the handler calls it before it changes anything. */
function mayChange(
  state: BaseState,
  task: Task,
  command: TaskUpdate,
  dependsOn: readonly string[],
): Refusal | null {
  const { tasks } = state;
  if (command.dependsOn !== null) {
    const closes = leadsTo(
      dependsOn,
      [task.id],
      id => taskOf(tasks, id).dependsOn,
      id => tasks.dependents.get(id) ?? [],
    );
    const after = (id: string) => (id === task.id ? dependsOn : taskOf(tasks, id).dependsOn);
    const cycle = closes ? findCycle([task.id], after) : null;
    if (cycle !== null) return cycleRefusal(cycle);
    const before = new Set(task.dependsOn);
    const crowded = tooManyDependents(
      tasks,
      dependsOn.filter(id => !before.has(id)),
    );
    if (crowded !== null) return crowded;
  }
  const { status, result } = command;
  const next = status ?? task.state.status;
  if (result !== null && next !== "done" && next !== "failed") {
    const error = "a result comes with status done (what came of it) or failed (why)";
    return refuse("invalid_request", error, { path: "result" });
  }
  const more =
    lengthOver(command.description, task.description) + lengthOver(result, resultOf(task.state) ?? "");
  if (more > 0 && tasks.chars + more > limits.tasksTextChars) {
    const error = `all tasks together may have ${limits.tasksTextChars} characters; remove finished ones`;
    return refuse("too_many_tasks", error);
  }
  const open = dependsOn
    .filter(id => !isDone(tasks, id))
    .map(id => dependencyRow(state, taskOf(tasks, id), task.project));
  const after = { ...task, ...rated(task, command) };
  const lowered = mayRate(state, task, riskOf(after), command.by);
  if (lowered !== null) return lowered;
  if (next === "active" && task.state.status === "active" && riskOf(after) !== riskOf(task)) {
    const refused = mayRaise(state, after, command.by);
    if (refused !== null) return refused;
  }
  if (open.length > 0 && (next === "active" || (status === "done" && task.state.status !== "done")))
    return blockedRefusal(open);
  if (status === null) return null;
  if (status === task.state.status) return mayRepeat(state, after, command.by);
  if (status === "active") return mayBegin(state, after, command.by, open);
  const foreign = task.state.status === "active" ? mayEnd(state, task, command.by) : null;
  return (
    foreign ?? mayMove(state, task, status) ?? (status === "done" ? mayFinish(state, task, command.by) : null)
  );
}

/** Returns why an agent may not finish the task, or null: what it could not claim now, it does not finish unclaimed. */
function mayFinish(state: BaseState, task: Task, by: Actor | null): Refusal | null {
  return by === null || task.state.status !== "pending" ? null : mayRun(state, task, by);
}

function lengthOver(next: string | null, before: string): number {
  return next === null ? 0 : next.length - before.length;
}

/** Returns why an unchanged status is refused, or null: only the assignee and a person may repeat it. */
function mayRepeat(state: BaseState, task: Task, by: Actor | null): Refusal | null {
  const assignee = assigneeOf(state, task);
  if (by === null || task.state.status === "pending") return null;
  if (assignee?.id === by.session && assignee.agent === by.agent) return null;
  if (task.state.status !== "active") return stateRefusal(state, task, "there is nothing left to do");
  if (assignee === null) return mayRun(state, task, by) ?? mayClaim(state, by);
  return claimedRefusal(state, task, "claim another one, or ask them");
}

function mayMove(state: BaseState, task: Task, status: TaskStatus): Refusal | null {
  const now = task.state.status;
  if (now === "failed" && status === "done")
    return stateRefusal(state, task, "retry it first: status pending");
  if (now === "done" && status === "failed")
    return stateRefusal(state, task, "reopen it first: status pending");
  if (now !== "done") return null;
  // A dependency of an active task stays done.
  for (const id of state.tasks.dependents.get(task.id) ?? []) {
    if (taskOf(state.tasks, id).state.status !== "active") continue;
    return stateRefusal(state, task, `${id} depends on it and is active; release that first`);
  }
  return null;
}

/** Whether the update gives its actor a task that is active and has no claimer. */
function claims(state: BaseState, task: Task, { status, by }: TaskUpdate): boolean {
  return status === "active" && by !== null && assigneeOf(state, task) === null;
}

/** Applies an update that keeps the status. */
function revised(state: BaseState, task: Task, command: TaskUpdate, meta: Meta, step: Step): void {
  const { by, result } = command;
  const before = assigneeOf(state, task);
  if (claims(state, task, command)) {
    activate(state, task, command, meta, step);
    return;
  }
  if (result !== null) {
    revise(state.tasks, task, writable => {
      const now = task.state;
      if (now.status === "done") writable.state = { ...now, result };
      if (now.status === "failed") writable.state = { ...now, reason: result };
    });
  }
  tell(step, task, "task_updated", speakerRow(state, by), before);
}

/** Moves the task to another status. */
function move(state: BaseState, task: Task, command: TaskUpdate, meta: Meta, step: Step): void {
  const { status, by, wallMs, result } = command;
  const before = assigneeOf(state, task);
  const doer = whoOf(state, by) ?? before;
  const { attempts } = task;
  if (status === "active") {
    activate(state, task, command, meta, step);
  } else if (status === "done") {
    const branch = state.rules >= 2 ? (state.sessions.live.get(doer?.id ?? "")?.branch ?? null) : null;
    const ended = { status, result, by: doer, ...(branch === null ? {} : { branch }) };
    const ready = finish(state, task, ended, { wallMs, attempts });
    tell(step, task, "task_completed", doer, before);
    tellReady(step, ready);
  } else if (status === "failed") {
    const again = Math.min(attempts + 1, limits.taskAttemptsMax);
    finish(state, task, { status, reason: result, by: doer }, { wallMs, attempts: again });
    tell(step, task, "task_failed", doer, before);
  } else if (task.state.status === "active") {
    giveBack(state, task, "released", { by, wallMs, attempts }, step);
  } else {
    // The reopened task gets all its attempts again.
    giveBack(state, task, "reopened", { by, wallMs, attempts: 0 }, step);
  }
}

// A person's yes to a red or critical task. Invariant: no agent gives it; it is for one run.

export function taskApprove(
  state: BaseState,
  command: CommandOf<"task_approve">,
  _meta: Meta,
  step: Step,
): void {
  const { by, wallMs } = command;
  const task = findTask(state, command.task, command.project ?? null);
  if (!isTask(task)) {
    step.reply = task;
    return;
  }
  if (by !== null) {
    const error = `only a person says yes to ${task.id}; ask your user: kite task approve ${task.id}`;
    step.reply = refuse("person_only", error, { task: task.id });
    return;
  }
  const risk = riskOf(task);
  if (!isGrave(risk)) {
    step.reply = stateRefusal(state, task, `it is ${risk}, so it needs nobody's yes`);
    return;
  }
  if (task.state.status !== "pending") {
    step.reply = stateRefusal(state, task, "a yes is for a task that is still to run");
    return;
  }
  if (task.approved !== true) {
    revise(state.tasks, task, writable => {
      writable.approved = true;
      writable.updatedAt = wallMs;
    });
    tell(step, task, "task_updated", null);
  }
  step.reply = { ok: true, task: taskRow(state, task) };
}
