/** What becomes of a task next, in the words of every screen. */
import type { TaskRow } from "../../protocol/schemas/task.ts";

/** A task's status as people see it: pending is shown as ready or blocked. */
export type Standing = "ready" | "blocked" | "active" | "done" | "failed";

export function standing(task: Pick<TaskRow, "status" | "blockedBy">): Standing {
  if (task.status !== "pending") return task.status;
  return task.blockedBy.length > 0 ? "blocked" : "ready";
}

export const standings: readonly Standing[] = ["active", "ready", "blocked", "failed", "done"];

/** What stands before a task in a drawing. */
export const marks: Readonly<Record<Standing, string>> = {
  active: "▶",
  ready: "○",
  blocked: "·",
  failed: "✗",
  done: "✓",
};

/** Counts tasks by status: `2 active, 3 ready`. */
export function summaryOf(tasks: readonly TaskRow[]): string {
  return standings
    .map(one => [one, tasks.filter(t => standing(t) === one).length] as const)
    .filter(([, count]) => count > 0)
    .map(([one, count]) => `${count} ${one}`)
    .join(", ");
}
