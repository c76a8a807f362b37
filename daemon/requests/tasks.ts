/** task_create, task_update, task_get, task_claim, task_release, task_remove, task_import, task_approve. */

import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { ImportedTask, NewTaskParams, taskRequests } from "../../protocol/schemas/task.ts";
import { quote } from "../../protocol/text.ts";
import type { Reply } from "../core/tables/entries.ts";
import type { NewTask, TaskImport, TaskState } from "../core/tables/tasks.ts";
import { findTask, isTask, taskRow } from "../core/tasks/replies.ts";
import type { Logs, LogView } from "../engine/log-view.ts";
import type { HookParts, Needs } from "../hooks/parts.ts";
import { taskGates } from "../leading.ts";
import type { Services } from "../options.ts";
import type { Call } from "../server/call.ts";
import type { ClientTasks } from "../sessions/client-tasks.ts";
import { signOfLife } from "../sessions/proposals.ts";
import { decidedBy, noteReply } from "../trail/decisions.ts";
import type { TrailLine } from "../trail/line.ts";
import { hasRowsOf } from "../views/paging.ts";
import {
  type Asking,
  callerOf,
  forward,
  type HandlersOf,
  projectOf,
  type TaskGate,
  type TaskStep,
} from "./handler.ts";

// Asks the features that have a say whether an agent may create tasks, or call one done. A person always may.

type Later = Promise<void> | undefined;

const gates: readonly TaskGate[] = taskGates;

/** Goes on with the gates' warnings, or refuses. Where no gate has anything to ask it goes on at once. */
function beforeTask(
  services: Services & HookParts,
  request: Asking,
  call: Call,
  step: TaskStep,
  goOn: (warnings: readonly string[]) => Later,
): Later {
  const by = callerOf(services, request, call);
  const looks =
    by === null ? [] : gates.map(gate => gate.ask(services, by, step)).filter(one => one !== null);
  if (looks.length === 0) return goOn([]);
  const about = step === "create" || step.task === null ? {} : { task: step.task };
  return Promise.all(looks).then(findings => {
    for (const { refusal, line } of findings) {
      if (refusal === null) continue;
      if (request.id !== undefined) signOfLife(services, request.id, request.agent ?? null);
      const { rule, why: error } = line ?? { rule: "task", why: refusal.error };
      noteReply(services, call.type, by, { ...refusal, error }, { rule, ...about });
      return call.reply(refusal);
    }
    const { type } = call;
    const who = {
      ...about,
      ...decidedBy(services, by),
      event: type,
      type,
      file: null,
      decision: "note",
    } as const;
    for (const { line } of findings) if (line !== null) services.recorder.note({ ...who, ...line });
    return goOn(findings.flatMap(({ warnings }) => warnings));
  });
}

/** An unregistered session begins here. */
const cwd = "/";

export const taskHandlers: HandlersOf<typeof taskRequests, Services & HookParts> = {
  task_create: (services, request, call) =>
    beforeTask(services, request, call, "create", warnings => {
      const { description } = request;
      const many = request.tasks !== undefined;
      const named = request.tasks ?? (description === undefined ? [] : [{ ...request, description }]);
      const create = forward<"task_create">({
        command: (_, stamp) => ({ type: "task_create", ...stamp, tasks: named.map(newTask), many }),
        reply: withWarnings(warnings),
        line: (reply, _, { project }) => lineOf(reply, project),
      });
      return create(services, request, call);
    }),
  task_import: (services, request, call) =>
    beforeTask(services, request, call, "create", warnings => {
      const project = projectOf(services, request, call);
      const tasksOf = (task: ImportedTask) => services.engine.logOf(task.project ?? project).state.tasks.all;
      const done = request.tasks.find(task => task.status === "done" && !tasksOf(task).has(task.id));
      const bringIn = (more: readonly string[]) =>
        forward<"task_import">({
          command: ({ tasks }, { by, project, wallMs }) => ({
            type: "task_import",
            by,
            tasks: tasks.map(task => imported(task, project, wallMs)),
          }),
          reply: withWarnings([...warnings, ...more]),
          line: (reply, _, { project }) => lineOf(reply, project),
        })(services, request, call);
      if (done === undefined) return bringIn([]);
      const what = `${done.id} is not imported as done; it needs`;
      return beforeTask(services, request, call, { task: null, cwd: request.cwd ?? null, what }, bringIn);
    }),
  task_update: (services, request, call) => {
    const update = (warnings: readonly string[]) => {
      const { task, status = null, result = null, dependsOn = null } = request;
      const { description = null, priority = null, labels, debate, risk } = request;
      const handler = forward<"task_update">({
        command: (_, stamp) => ({
          type: "task_update",
          ...{ task, status, result, dependsOn, description, priority, cwd, ...stamp },
          labels: labels === undefined ? null : once(labels),
          ...(debate === undefined ? {} : { debate }),
          ...(risk === undefined ? {} : { risk }),
        }),
        reply: withWarnings(warnings),
        line: (reply, _, { project }) => ({
          ...lineOf(reply, project, task),
          ...(status === null ? {} : { type: status }),
        }),
      });
      return handler(services, request, call);
    };
    if (request.status !== "done") return update([]);
    const { task } = request;
    const what = "the task is not done yet; it needs";
    return beforeTask(services, request, call, { task, cwd: request.cwd ?? null, what }, update);
  },
  task_get: (services, request, call) =>
    // The barrier is the own log's alone: a read of a shared one takes its copy as it is.
    services.engine.read(() => {
      const project = projectOf(services, request, call);
      const log = logOfTask(services.engine, project, request.task);
      const found = findTask(log.state, request.task, project);
      call.reply(isTask(found) ? { ok: true, task: taskRow(log.state, found) } : found);
    }),
  task_claim: forward<"task_claim", Services & Needs<"calls">>({
    command: ({ task = null, labels }, { by: actor, project, wallMs }) => ({
      type: "task_claim",
      ...{ actor, task, labels: once(labels), project, cwd, wallMs },
    }),
    reply: (reply, { task }, { calls }, { project }) =>
      task === undefined || reply.ok ? reply : withClientList(calls.tasks, reply, task, project),
    line: (reply, { task }, { project }) => lineOf(reply, project, task),
  }),
  task_release: forward<"task_release">({
    command: ({ task }, stamp) => ({ type: "task_release", task, ...stamp }),
    line: (reply, { task }, { project }) => lineOf(reply, project, task),
  }),
  task_remove: forward<"task_remove">({
    command: ({ tasks }, { by, project }) => ({ type: "task_remove", by, tasks, project }),
    line: (reply, _, { project }) => lineOf(reply, project),
  }),
  task_approve: forward<"task_approve">({
    command: ({ task }, stamp) => ({ type: "task_approve", task, ...stamp }),
    line: (reply, { task }, { project }) => lineOf(reply, project, task),
  }),
};

/** Returns the log of the project, or of the task if it is named by a whole id that another log has. */
function logOfTask(logs: Logs, project: string, named: string): LogView {
  const own = logs.logOf(project);
  if (own.state.tasks.all.has(named)) return own;
  const isIn = (log: LogView) => {
    const task = log.state.tasks.all.get(named);
    return task !== undefined && hasRowsOf(logs, log, task.project);
  };
  return logs.logs.find(isIn) ?? own;
}

/** Tells with a success what the gates found missing although they let it pass. */
function withWarnings(warnings: readonly string[]): (reply: Reply) => Reply {
  return reply => (reply.ok && warnings.length > 0 ? { ...reply, warnings } : reply);
}

/** Says of an unknown task that a client's own list has one of this id, if so. */
function withClientList(tasks: ClientTasks, refusal: Refusal, task: string, project: string): Refusal {
  const [found] = refusal.code === "unknown_task" ? tasks.named(task, project) : [];
  if (found === undefined) return refusal;
  const { list, subject } = found;
  const error = `no task ${task} in the queue; ${quote(subject)} is task ${task} of the client's own list ${list}, which only the client gives out; to have it in the queue: kite task add`;
  return refuse("unknown_task", error, { task, nearest: null, list });
}

function newTask(task: Omit<NewTaskParams, "name"> & { readonly name?: string | undefined }): NewTask {
  return {
    name: task.name ?? null,
    description: task.description,
    priority: task.priority ?? "normal",
    labels: once(task.labels),
    dependsOn: once(task.dependsOn),
    ...(task.debate === undefined ? {} : { debate: task.debate }),
    ...(task.risk === undefined ? {} : { risk: task.risk }),
  };
}

function imported(task: ImportedTask, project: string, wallMs: number): TaskImport["tasks"][number] {
  const createdAt = task.createdAt ?? wallMs;
  return {
    id: task.id,
    project: task.project ?? project,
    createdAt,
    updatedAt: task.updatedAt ?? createdAt,
    description: task.description,
    priority: task.priority ?? "normal",
    labels: once(task.labels),
    dependsOn: once(task.dependsOn),
    attempts: task.attempts ?? 0,
    ...(task.debate ? { debate: task.debate } : {}),
    ...(typeof task.risk === "string" && task.risk !== "green" ? { risk: task.risk } : {}),
    state: importedState(task),
  };
}

function importedState({ status, result = null }: ImportedTask): TaskState {
  if (status === "done") return { status, result, by: null };
  if (status === "failed") return { status, reason: result, by: null };
  return { status: "pending" };
}

function once(values: readonly string[] | null | undefined): readonly string[] {
  return [...new Set(values)];
}

/** Returns what the trail says of a reply, without a task's text; `requested` is the task as the request named it. */
function lineOf(reply: Reply, project: string, requested?: string): Partial<TrailLine> {
  const task = taskIn(reply) ?? requested;
  return { rule: "task", task, project: projectOfTask(reply) ?? project, why: named(reply) };
}

/** Returns the project of the one task that a reply shows: a person has none, and an agent names others' tasks, too. */
function projectOfTask({ task }: Reply & { readonly task?: unknown }): string | undefined {
  return typeof task === "object" && task !== null && "project" in task ? String(task.project) : undefined;
}

/** Returns the id of the one task that a reply is about. */
function taskIn({ task }: Reply & { readonly task?: unknown }): string | undefined {
  return typeof task === "object" && task !== null && "id" in task ? String(task.id) : undefined;
}

/** Returns the ids of the tasks that a reply is about. */
function named(reply: Reply): string {
  const { task, tasks, removed } = reply as { task?: unknown; tasks?: unknown; removed?: unknown };
  const all = [task, ...(Array.isArray(tasks) ? tasks : []), ...(Array.isArray(removed) ? removed : [])];
  const ids = all.flatMap(one => (typeof one === "string" ? [one] : idOf(one)));
  const shown = ids.slice(0, limits.idsNamedMax).join(", ");
  return ids.length > limits.idsNamedMax ? `${shown} and ${ids.length - limits.idsNamedMax} more` : shown;
}

function idOf(row: unknown): string[] {
  if (typeof row !== "object" || row === null || !("id" in row)) return [];
  const status = "status" in row ? ` ${String(row.status)}` : "";
  return [`${String(row.id)}${status}`];
}
