/** task_create, task_update, task_get, task_claim, task_release, task_remove, task_import, task_approve. */

import { type Refusal, refuse } from "../../protocol/codes.ts";
import type { GateFinding } from "../../protocol/lead/gates.ts";
import { limits } from "../../protocol/limits.ts";
import type { RequestOf } from "../../protocol/requests.ts";
import type { ImportedTask, NewTaskParams } from "../../protocol/task.ts";
import { quote } from "../../protocol/text.ts";
import type { Actor } from "../core/actor.ts";
import type { Command } from "../core/commands.ts";
import type { Reply } from "../core/outcome.ts";
import type { NewTask, TaskImport } from "../core/tasks/commands.ts";
import { findTask, isTask, taskRow } from "../core/tasks/replies.ts";
import type { TaskState } from "../core/tasks/table.ts";
import type { HookServices } from "../hooks/hook-services.ts";
import { completionFindings, fieldsOf } from "../lead/gates/quality.ts";
import { creationFindings } from "../lead/roles/facts.ts";
import { type Call, retryOf } from "../server/call.ts";
import type { Services } from "../services.ts";
import type { ClientTasks } from "../sessions/client-tasks.ts";
import { signOfLife } from "../sessions/commands.ts";
import { decidedBy, noteReply } from "../trail/decisions.ts";
import { type Asking, actorOfId, callerOf, projectOf } from "./caller.ts";
import type { RequestHandler } from "./handler.ts";

/** An agent creates tasks if its role lets it; a person always. */
export const taskCreate: RequestHandler<"task_create", HookServices> = (services, request, call) => {
  const { description } = request;
  const many = request.tasks !== undefined;
  const asked = request.tasks ?? (description === undefined ? [] : [{ ...request, description }]);
  const project = projectOf(services, request, call);
  const by = callerOf(services, request, call);
  return creating(services, request, call, by, warnings => {
    const wallMs = services.clock.wall();
    const tasks = asked.map(newTask);
    const command = { type: "task_create", by, tasks, many, project, wallMs } as const;
    return propose(services, request, call, by, { ...command, ...retryOf(request, call) }, warnings);
  });
};

/** Calls `create` with what the gate of roles lets pass with a warning, or refuses. */
function creating(
  services: HookServices,
  request: Asking,
  call: Call,
  by: Actor | null,
  create: (warnings: readonly string[]) => Promise<undefined> | undefined,
): Promise<undefined> | undefined {
  const asked = by === null ? null : creationFindings(services, by);
  if (asked === null) return create([]);
  return asked.then(findings => {
    const missing = missingOf(findings, "enforce");
    if (missing.length === 0) return create(missingOf(findings, "warn"));
    if (request.id !== undefined) signOfLife(services, request.id, request.agent ?? null);
    const refusal = refuse("role_limit", missing.join("; "));
    noteReply(services, call.type, by, { ...refusal, error: roleForbids }, { rule: "role" });
    call.reply(refusal);
    return undefined;
  });
}

const roleForbids = "the agent's role does not allow it";

/** An agent brings tasks in if its role lets it, and new ones that are done if it could finish one now; a person always. */
export const taskImport: RequestHandler<"task_import", HookServices> = (services, request, call) => {
  const by = callerOf(services, request, call);
  return creating(services, request, call, by, warnings => {
    const { all } = services.engine.state.tasks;
    const done = request.tasks.find(({ id, status }) => status === "done" && !all.has(id));
    if (by === null || done === undefined) return bringIn(services, request, call, by, warnings);
    const what = `${done.id} is not imported as done; it needs`;
    return ifComplete(services, { by, task: null, cwd: request.cwd }, call, what, more =>
      bringIn(services, request, call, by, [...warnings, ...more]),
    );
  });
};

function bringIn(
  services: Services,
  request: RequestOf<"task_import">,
  call: Call,
  by: Actor | null,
  warnings: readonly string[],
): undefined {
  const project = projectOf(services, request, call);
  const wallMs = services.clock.wall();
  const tasks = request.tasks.map(task => imported(task, project, wallMs));
  const command = { type: "task_import", by, tasks, ...retryOf(request, call) } as const;
  return propose(services, request, call, by, command, warnings);
}

/** An agent's task is done if the quality gate lets it pass; a person's always. */
export const taskUpdate: RequestHandler<"task_update", HookServices> = (services, request, call) => {
  const by = callerOf(services, request, call);
  if (by === null || request.status !== "done") return update(services, request, call, by);
  const { task, cwd } = request;
  return ifComplete(services, { by, task, cwd }, call, "the task is not done yet; it needs", warnings =>
    update(services, request, call, by, warnings),
  );
};

interface Completion {
  readonly by: Actor;
  /** Null: a task that the queue does not have yet. */
  readonly task: string | null;
  readonly cwd: string | undefined;
}

/** Asks the quality gate: goes on with its warnings, or refuses with `what` and all that is missing. */
async function ifComplete(
  services: HookServices,
  { by, task, cwd }: Completion,
  call: Call,
  what: string,
  goOn: (warnings: readonly string[]) => undefined,
): Promise<undefined> {
  const findings = await completionFindings(services, by, task, cwd ?? null);
  const missing = missingOf(findings, "enforce");
  if (missing.length === 0) {
    const warnings = missingOf(findings, "warn");
    if (warnings.length > 0) noteWarnings(services, call.type, by, task, warnings);
    return goOn(warnings);
  }
  const refusal = refuse("not_complete", `${what}: ${missing.join("; ")}`, { missing });
  const told = { ...refusal, error: `missing: ${fieldsOf(missing)}` };
  noteReply(services, call.type, by, told, { rule: "quality", ...(task === null ? {} : { task }) });
  call.reply(refusal);
  return undefined;
}

/** The trail keeps that the gate let a task pass with a warning. */
function noteWarnings(
  services: Services,
  type: string,
  by: Actor,
  task: string | null,
  warnings: readonly string[],
) {
  const why = `passed with a warning: ${fieldsOf(warnings)}`;
  const about = task === null ? {} : { task };
  const line = { ...about, ...decidedBy(services, by), event: type, type, file: null, rule: "quality", why };
  services.recorder.note({ ...line, decision: "note" });
}

function missingOf(findings: readonly GateFinding[], mode: GateFinding["mode"]): string[] {
  return findings.filter(found => found.mode === mode).flatMap(({ missing }) => missing);
}

function update(
  services: Services,
  request: RequestOf<"task_update">,
  call: Call,
  by: Actor | null,
  warnings: readonly string[] = [],
): undefined {
  const command = {
    type: "task_update",
    by,
    task: request.task,
    status: request.status ?? null,
    result: request.result ?? null,
    dependsOn: request.dependsOn ?? null,
    description: request.description ?? null,
    priority: request.priority ?? null,
    labels: request.labels === undefined ? null : once(request.labels),
    ...(request.debate === undefined ? {} : { debate: request.debate }),
    ...(request.risk === undefined ? {} : { risk: request.risk }),
    ...placeOf(services, request, call),
    ...retryOf(request, call),
  } as const;
  return propose(services, request, call, by, command, warnings);
}

export const taskGet: RequestHandler<"task_get"> = (services, request, call) =>
  services.engine.read(state => {
    const found = findTask(state.tasks, request.task, projectOf(services, request, call));
    call.reply(isTask(found) ? { ok: true, task: taskRow(state, found) } : found);
  });

export const taskClaim: RequestHandler<"task_claim", HookServices> = (services, request, call) => {
  const actor = actorOfId(services, request.id, request.agent, call);
  const place = placeOf(services, request, call);
  const command = {
    type: "task_claim",
    actor,
    task: request.task ?? null,
    labels: once(request.labels),
    ...place,
    ...retryOf(request, call),
  } as const;
  const { task } = request;
  const worded = (reply: Reply) =>
    task === undefined || reply.ok ? reply : withClientList(services.clientTasks, reply, task, place.project);
  return propose(services, request, call, actor, command, [], worded);
};

/** Says of an unknown task that a client's own list has one of this id, if so. */
function withClientList(tasks: ClientTasks, refusal: Refusal, task: string, project: string): Refusal {
  const [found] = refusal.code === "unknown_task" ? tasks.named(task, project) : [];
  if (found === undefined) return refusal;
  const { list, subject } = found;
  const error = `no task ${task} in the queue; ${quote(subject)} is task ${task} of the client's own list ${list}, which only the client gives out; to have it in the queue: kite task add`;
  return refuse("unknown_task", error, { task, nearest: null, list });
}

export const taskRelease: RequestHandler<"task_release"> = (services, request, call) => {
  const by = callerOf(services, request, call);
  const wallMs = services.clock.wall();
  const { task } = request;
  return propose(services, request, call, by, {
    type: "task_release",
    by,
    task,
    project: projectOf(services, request, call),
    wallMs,
    ...retryOf(request, call),
  });
};

export const taskRemove: RequestHandler<"task_remove"> = (services, request, call) => {
  const by = callerOf(services, request, call);
  const { tasks } = request;
  const project = projectOf(services, request, call);
  const command = { type: "task_remove", by, tasks, project, ...retryOf(request, call) } as const;
  return propose(services, request, call, by, command);
};

export const taskApprove: RequestHandler<"task_approve"> = (services, request, call) => {
  const by = callerOf(services, request, call);
  const wallMs = services.clock.wall();
  const { task } = request;
  return propose(services, request, call, by, {
    type: "task_approve",
    by,
    task,
    project: projectOf(services, request, call),
    wallMs,
    ...retryOf(request, call),
  });
};

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

/** Returns where an unregistered session would begin. */
function placeOf(services: Services, request: Asking, call: Call) {
  const project = projectOf(services, request, call);
  return { project, cwd: "/", wallMs: services.clock.wall() };
}

/** Proposes, and writes actor and task to the trail, without the task's text. */
function propose(
  services: Services,
  request: Asking,
  call: Call,
  by: Actor | null,
  command: Command,
  warnings: readonly string[] = [],
  worded: (reply: Reply) => Reply = reply => reply,
): undefined {
  if (request.id !== undefined) signOfLife(services, request.id, request.agent ?? null);
  call.propose(command, made => {
    const reply = worded(made);
    const moved = command.type === "task_update" ? command.status : null;
    const type = moved === null ? call.type : moved;
    const task = taskIn(command, reply);
    const project = projectOfTask(reply) ?? projectOf(services, request, call);
    noteReply(services, call.type, by, reply, { rule: "task", type, task, project, why: named(reply) });
    return reply.ok && warnings.length > 0 ? { ...reply, warnings } : reply;
  });
  return undefined;
}

/** Returns the project of the one task that a reply shows: a person has none, and an agent names others' tasks, too. */
function projectOfTask({ task }: Reply & { readonly task?: unknown }): string | undefined {
  return typeof task === "object" && task !== null && "project" in task ? String(task.project) : undefined;
}

/** Returns the id of the one task that a reply is about; of a refusal, the task as the request named it. */
function taskIn(command: Command, { task }: Reply & { readonly task?: unknown }): string | undefined {
  if (typeof task === "object" && task !== null && "id" in task) return String(task.id);
  return "task" in command && command.task !== null ? command.task : undefined;
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
