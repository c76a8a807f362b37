/** Tasks as `query` shows them: page by page, from the list that fits best. */
import type { QueryReply } from "../protocol/daemon.ts";
import { limits } from "../protocol/limits.ts";
import type { RequestOf } from "../protocol/requests.ts";
import type { TaskRow } from "../protocol/task.ts";
import type { State } from "./core/state.ts";
import { type ListName, listOf, type Task, taskAt } from "./core/task-table.ts";
import { assigneeOf, taskRow } from "./core/task-text.ts";

const targets: Readonly<Record<string, ListName>> = { task_ready: "ready", task_blocked: "blocked" };

/**
 * A page of tasks behind `after`, which is a place in the list: ready ones in the order in which they are claimed,
 * others by age. At most `limit` rows, about `limits.lineBytes` together, found among `limits.tasksScannedMax`: a
 * page may be short, or empty, and have a `next`.
 */
export function taskPage(state: State, request: RequestOf<"query">): QueryReply<TaskRow> {
  const { limit: max = limits.rowsDefault, after, project = null, label = "" } = request;
  const name = targets[request.target] ?? request.status ?? "all";
  const byLabel = name === "ready" && project !== null ? label : "";
  const list = listOf(state.tasks, name, project, byLabel);
  const rows: TaskRow[] = [];
  let size = 0;
  let scanned = 0;
  let last: string | null = null;
  for (const place of list.from(after ?? "")) {
    if (place === after) continue;
    const task = taskAt(state.tasks, place);
    const row = isWanted(state, task, request) ? taskRow(state, task) : null;
    size += row === null ? 0 : JSON.stringify(row).length;
    const isFull = rows.length > 0 && row !== null && (rows.length === max || size > limits.lineBytes);
    if (last !== null && (isFull || scanned === limits.tasksScannedMax))
      return { ok: true, rows, next: last };
    if (row !== null) rows.push(row);
    scanned += 1;
    last = place;
  }
  return { ok: true, rows };
}

function isWanted(state: State, task: Task, { assignee, label, text, status }: RequestOf<"query">): boolean {
  if (status !== undefined && task.state.status !== status) return false;
  if (label !== undefined && !task.labels.includes(label)) return false;
  if (assignee !== undefined && assigneeOf(state, task)?.id !== assignee) return false;
  if (text === undefined) return true;
  const part = text.toLowerCase();
  return task.id.includes(part) || task.description.toLowerCase().includes(part);
}
