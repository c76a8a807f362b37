/** A person's yes to a red or critical task. Invariant: no agent gives it; it is for one run. */

import { refuse } from "../../../protocol/codes.ts";
import { isGrave } from "../../../protocol/names.ts";
import type { Handler } from "../rules.ts";
import { findTask, isTask, stateRefusal, taskRow, tell } from "./replies.ts";
import { riskOf } from "./risk.ts";
import { revise } from "./table.ts";

export const taskApprove: Handler<"task_approve"> = (state, command, _meta, step) => {
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
    tell(step, task, "task_updated", step.person);
  }
  step.reply = { ok: true, task: taskRow(state, task) };
};
