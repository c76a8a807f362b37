/** Tasks as `query` shows them: page by page, from the index that fits the filter best. */

import type { Refusal } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { RequestOf } from "../../protocol/schemas/requests.ts";
import type { ClientTaskRow } from "../../protocol/schemas/task.ts";
import { type ListName, listOf, type Task, taskAt } from "../core/tables/tasks.ts";
import { assigneeOf, taskRow } from "../core/tasks/replies.ts";
import type { Logs, LogView } from "../engine/log-view.ts";
import type { Steps } from "../server/call.ts";
import type { ClientTask, ClientTasks } from "../sessions/client-tasks.ts";
import {
  hasRowsOf,
  type Keyed,
  logPage,
  type Part,
  type PartOf,
  passedCost,
  unwantedCost,
} from "./paging.ts";

const lists = { task_ready: "ready", task_blocked: "blocked", task_watched: "watched" } as const;
const targets: Readonly<Record<string, ListName>> = lists;

export type TaskTarget = "tasks" | keyof typeof lists;

/** Whether rows of this target are tasks. */
export function isOfTasks(target: RequestOf<"query">["target"]): target is TaskTarget {
  return target === "tasks" || Object.hasOwn(targets, target);
}

/**
 * Returns a page of tasks after `after`, a position in the list: ready tasks in the order of claiming, others by age.
 * At most `limit` rows, about `limits.lineBytes`, from `limits.tasksScannedMax` scanned tasks of a log: a page may be short
 * or empty and still have `next`.
 */
export function taskPage(logs: Logs, request: RequestOf<"query">): Steps<string | Refusal> {
  const { limit: max = limits.rowsDefault, after, project = null } = request;
  return logPage(logs, { project, max, after }, (log, of) => taskPart(logs, log, request, of));
}

function* taskPart(
  logs: Logs,
  log: LogView,
  request: RequestOf<"query">,
  { max, room, after }: PartOf,
): Steps<Part> {
  const { state } = log;
  const { label = "" } = request;
  const project = typeof request.project === "string" ? request.project : null;
  const name = targets[request.target] ?? request.status ?? "all";
  const byLabel = name === "ready" && project !== null ? label : "";
  const rows: string[] = [];
  let size = 0;
  let scanned = 0;
  let last = after;
  let places = listOf(state.tasks, name, project, byLabel).from(last ?? "");
  for (let next = places.next(); next.done !== true; next = places.next()) {
    const place = next.value;
    if (place === last) continue;
    const task = taskAt(state.tasks, place);
    const isShown = hasRowsOf(logs, log, task.project) && isWanted(log, task, request);
    const row = isShown ? JSON.stringify(taskRow(state, task)) : null;
    size += row?.length ?? 0;
    const isFull = rows.length > 0 && row !== null && (rows.length === max || size > room);
    if (last !== undefined && (isFull || scanned === limits.tasksScannedMax)) return { rows, next: last };
    if (row !== null) rows.push(row);
    scanned += 1;
    last = place;
    const interrupted = yield row === null ? passedCost : row.length + unwantedCost;
    // Tasks may have changed meanwhile: the list is looked up again after the last position.
    if (interrupted === true) places = listOf(state.tasks, name, project, byLabel).from(last);
  }
  return { rows };
}

function isWanted(log: LogView, task: Task, { assignee, label, text, status }: RequestOf<"query">): boolean {
  if (status !== undefined && task.state.status !== status) return false;
  if (label !== undefined && !task.labels.includes(label)) return false;
  if (assignee !== undefined && assigneeOf(log.state, task)?.id !== assignee) return false;
  if (text === undefined) return true;
  const part = text.toLowerCase();
  return task.id.includes(part) || task.description.toLowerCase().includes(part);
}

// Tasks of the clients' own lists as `query` shows them.

/** List by list, in the order in which they began. */
export function* clientTaskRows(tasks: ClientTasks): Generator<Keyed<ClientTaskRow>, void> {
  for (const [place, task] of tasks.placed()) yield { place, key: "", row: () => clientTaskRow(tasks, task) };
}

function clientTaskRow(tasks: ClientTasks, known: ClientTask): ClientTaskRow {
  const { list, task, subject, owner, state, updatedAt, project } = known;
  return { list, task, subject, owner, state, resting: tasks.isResting(known), updatedAt, project };
}
