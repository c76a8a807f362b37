/** What a task and a key of context are, as their clients see them: a claim's register, and one of compare-and-set. */
import { limits } from "../../protocol/limits.ts";
import type { Model } from "./linear.ts";

/** `by`: which session of which machine. `outcome`: `ok`, a refusal's code, or null if nobody heard. */
export interface TaskOp {
  readonly what: "create" | "claim" | "release" | "done" | "failed" | "end";
  readonly by: string;
  readonly outcome: string | null;
}

interface TaskSeen {
  readonly status: "absent" | "pending" | "active" | "done" | "failed";
  readonly by: string | null;
  readonly attempts: number;
}

/** A task, which is there when the first client hears of it. `isThere`: nobody heard when it was created. */
export function taskModel(isThere: boolean): Model<TaskSeen, TaskOp> {
  return {
    initial: { status: isThere ? "pending" : "absent", by: null, attempts: 0 },
    step: taskStep,
    textOf: ({ status, by, attempts }) => `${status} ${by} ${attempts}`,
  };
}

function taskStep(task: TaskSeen, { what, by, outcome }: TaskOp): TaskSeen | null {
  const { status, attempts } = task;
  if (what === "create") return status === "absent" ? { ...task, status: "pending" } : null;
  if (status === "absent") return null;
  const isTheirs = status === "active" && task.by === by;
  if (what === "end") return isTheirs ? ended(attempts + 1) : task;
  const isOver = status === "done" || status === "failed";
  if (outcome === "task_claimed") return status === "active" && !isTheirs ? task : null;
  if (outcome === "task_state") return isOver || (what === "release" && status === "pending") ? task : null;
  if (what === "release") return isTheirs ? { ...task, status: "pending", by: null } : null;
  if (isOver || (status === "active" && !isTheirs)) return null;
  return what === "claim" ? { ...task, status: "active", by } : { ...task, status: what, by: null };
}

function ended(attempts: number): TaskSeen {
  return { status: attempts < limits.taskAttemptsMax ? "pending" : "failed", by: null, attempts };
}

/** `ifVersion` null: whatever is there. `version`: the one that was given, or with a refusal the one that is there. */
export interface SetOp {
  readonly ifVersion: number | null;
  readonly outcome: "ok" | "conflict" | null;
  readonly version: number | null;
}

/** The version of a key that somebody set, and nobody heard of. */
const unheard = -1;

/** A key of context, by its version: it is not deleted. The first version of a key is above that of every value that ended. */
export const keyModel: Model<number, SetOp> = {
  initial: 0,
  step(now, { ifVersion, outcome, version }) {
    const fits = ifVersion === null || ifVersion === now || (now === unheard && ifVersion !== 0);
    if (outcome === "conflict") {
      if (now === unheard) return ifVersion === null || version === ifVersion ? null : version;
      return !fits && version === now ? now : null;
    }
    if (!fits) return null;
    const isFirst = now === 0 || now === unheard;
    if (outcome === null) return isFirst ? unheard : now + 1;
    return isFirst || version === now + 1 ? version : null;
  },
  textOf: String,
};
