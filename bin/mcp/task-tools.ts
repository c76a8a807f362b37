/** The tools for tasks: create, list, claim, change, complete, fail and release. */

import * as z from "zod";
import { limits } from "../../protocol/limits.ts";
import type { RequestOf } from "../../protocol/schemas/requests.ts";
import {
  type TaskRow,
  taskClaimSchema,
  taskCreateSchema,
  taskFilterShape,
  taskGetSchema,
  taskUpdateSchema,
} from "../../protocol/schemas/task.ts";
import { duration, frame, plain, quote } from "../../protocol/text.ts";
import type { ToolAnswer } from "../agents/verb.ts";
import { granted, knownRowsOf } from "../context/with-daemon.ts";
import { defined } from "../entry.ts";
import { inNumbers, numbersOf, taskNamed } from "../view/task-names.ts";
import { type Call, inWords, looks, type Tool, tool } from "./tool.ts";

/** Tools of the shared plan: kite_task_create, _list, _claim, _edit, _complete, _fail, _release. */

const { description, priority, labels, dependsOn, debate, risk, tasks } = taskCreateSchema.shape;
const { task, result, ...edits } = taskUpdateSchema.shape;

const create = tool({
  name: "kite_task_create",
  title: "Add tasks",
  description:
    "Add a task to the project's list, or several with `tasks`: ready when those it depends on are done.",
  input: z.object({
    description: description.describe("Complete enough for any agent"),
    priority,
    labels,
    dependsOn,
    debate: debate.describe("That must close first"),
    risk: risk.describe("critical: a person must say yes"),
    tasks: tasks.meta(inWords("[{name, description, ...}]; dependsOn may have names")),
  }),
  run: async ({ client, actor }, input) => {
    const names = new Set(input.tasks?.map(({ name }) => name));
    const needs = (task: { readonly dependsOn?: readonly string[] | undefined }) =>
      task.dependsOn === undefined
        ? {}
        : { dependsOn: task.dependsOn.map(one => (names.has(one) ? one : taskNamed(one))) };
    const several = input.tasks?.map(task => ({ ...task, ...needs(task) }));
    const params = { ...actor, ...input, ...needs(input), ...defined({ tasks: several }) };
    const answer = granted(await client.request("task_create", params));
    const made = answer.task === undefined ? (answer.tasks ?? []) : [answer.task];
    const rows = made.map(row => ({
      id: row.id,
      number: row.number,
      status: row.status,
      name: "name" in row ? row.name : null,
    }));
    const ids = rows.map(({ number, name }) => `task ${number}${name === null ? "" : ` (${quote(name)})`}`);
    const warned = (answer.warnings ?? []).map(one => `\n${plain(one)}`);
    return { text: `Added ${ids.join(", ")}.${warned.join("")}`, data: { added: rows } };
  },
});

const list = tool({
  name: "kite_task_list",
  title: "List tasks",
  description: "The project's tasks, or one with its result (`task`).",
  input: z.object({
    which: z.enum(["open", "ready", "blocked", "mine", "finished"]).optional(),
    task: taskGetSchema.shape.task.optional(),
    label: taskFilterShape.label,
    text: taskFilterShape.text,
  }),
  annotations: looks,
  run: async (call, { which = "open", task: id, label, text }) => {
    if (id !== undefined) return oneTask(call, id);
    const rows = await wantedRows(call, which, defined({ label, text }));
    const shown = rows.slice(0, limits.mcpRowsMax);
    const more = rows.length - shown.length;
    const lines = shown.map(row => `- ${taskLine(row, call.acting.project)}`);
    const rest = more === 0 ? [] : [`- and more: name a label or words to see fewer`];
    const shownLines = shown.length === 0 ? [`No ${which} tasks.`] : [frame, ...lines, ...rest];
    return { text: shownLines.join("\n"), data: { note: frame, tasks: shown.map(taskData), more } };
  },
});

const claim = tool({
  name: "kite_task_claim",
  title: "Take a task",
  description: "Claim the most urgent ready task, or the named one. End it with kite_task_complete or _fail.",
  input: z.object({
    task: taskClaimSchema.shape.task,
    labels: taskClaimSchema.shape.labels.describe("With all of these"),
  }),
  run: async ({ client, actor, acting: { project } }, input) => {
    const answer = granted(await client.request("task_claim", { ...actor, project, ...inRequest(input) }));
    const words = quote(answer.task.description, limits.taskTextChars);
    const text = `You have task ${nameOf(answer.task, project)}.\n${frame}\n${words}\nEnd it with kite_task_complete or kite_task_fail.`;
    return { text, data: { note: frame, task: taskData(answer.task) } };
  },
});

const edit = tool({
  name: "kite_task_edit",
  title: "Change a task",
  description: "Change a task. You may raise its risk; a lead or person lowers it.",
  input: z.object({
    task,
    description: edits.description,
    priority: edits.priority,
    labels: edits.labels,
    dependsOn: edits.dependsOn,
    risk: edits.risk,
  }),
  run: async ({ client, actor, acting }, input) => {
    const { dependsOn: needed } = input;
    const needs = defined({ dependsOn: needed?.map(taskNamed) });
    const params = { ...actor, ...input, task: taskNamed(input.task), ...needs };
    const { task: row } = granted(await client.request("task_update", params));
    return { text: `Changed: ${taskLine(row, acting.project)}`, data: { note: frame, task: taskData(row) } };
  },
});

const complete = tool({
  name: "kite_task_complete",
  title: "Finish a task",
  description: "Say that a task is done.",
  input: z.object({ task, result: result.describe("What dependents must know") }),
  run: (call, input) => finish(call, { ...input, status: "done" }),
});

const fail = tool({
  name: "kite_task_fail",
  title: "Give a task up",
  description: "Say that a task cannot be done; its dependents stay blocked.",
  input: z.object({ task, result: result.unwrap().describe("Why") }),
  run: (call, input) => finish(call, { ...input, status: "failed" }),
});

const release = tool({
  name: "kite_task_release",
  title: "Give a task back",
  description: "Give back a task you claimed, unfinished.",
  input: z.object({ task }),
  run: async ({ client, actor, acting }, input) => {
    const params = { ...actor, task: taskNamed(input.task) };
    const { task: row } = granted(await client.request("task_release", params));
    return {
      text: `Task ${nameOf(row, acting.project)} is ${row.status} again.`,
      data: { task: taskData(row) },
    };
  },
});

export const taskTools: readonly Tool[] = [create, list, claim, edit, complete, fail, release];

async function oneTask({ client, actor, acting }: Call, id: string): Promise<ToolAnswer> {
  const { task: row } = granted(await client.request("task_get", { ...actor, task: taskNamed(id) }));
  const { labels: names, debate: required, result: came } = row;
  const text = [
    frame,
    taskLine(row, acting.project),
    quote(row.description, limits.taskTextChars),
    ...(names.length === 0 ? [] : [`labels: ${names.map(name => quote(name)).join(", ")}`]),
    ...(required === null ? [] : [`requires the debate ${required}`]),
    ...(came === null ? [] : [`result: ${quote(came, limits.taskTextChars)}`]),
  ].join("\n");
  return { text, data: { note: frame, task: taskData(row) } };
}

async function finish(
  { client, actor, acting: { cwd, project } }: Call,
  { task: id, status, result: came }: Pick<RequestOf<"task_update">, "task" | "status" | "result">,
) {
  const params = { task: taskNamed(id), status, cwd, ...(came === undefined ? {} : { result: came }) };
  const answer = granted(await client.request("task_update", { ...actor, ...params }));
  return {
    text: `Task ${nameOf(answer.task, project)} is ${answer.task.status}.`,
    data: { task: taskData(answer.task) },
  };
}

/** Returns a request's fields with the task as the wire names it. */
function inRequest<T extends { readonly task?: string | undefined }>(input: T): T {
  return input.task === undefined ? input : { ...input, task: taskNamed(input.task) };
}

type Filter = { readonly label?: string; readonly text?: string };

/** Fetches one row more than are shown, to know whether there are more. */
async function wantedRows(
  { client, acting: { id, project } }: Call,
  which: string,
  filter: Filter,
): Promise<TaskRow[]> {
  const more = { project, ...filter };
  const max = limits.mcpRowsMax + 1;
  if (which === "ready") return knownRowsOf(client, "task_ready", more, max);
  if (which === "blocked") return knownRowsOf(client, "task_blocked", more, max);
  const assignee = which === "mine" ? { assignee: id } : {};
  const statuses = which === "finished" ? (["done", "failed"] as const) : (["active", "pending"] as const);
  const pages = statuses.map(status => knownRowsOf(client, "tasks", { ...more, ...assignee, status }, max));
  return (await Promise.all(pages)).flat();
}

/** Returns what names the task for an agent of `project`. */
function nameOf({ id, number, project: its }: TaskRow, project: string): string {
  return its === project ? `${number}` : id;
}

function taskLine(row: TaskRow, project: string): string {
  const numbers = numbersOf([row], project);
  const { status, assigneeName, blockedBy, risk: care, held, priority: rank } = row;
  const who =
    status === "active" && assigneeName !== null
      ? ` by ${quote(assigneeName)}${row.assigneeLost === undefined ? "" : ", which is lost"}`
      : "";
  const waits =
    blockedBy.length === 0 || status !== "pending"
      ? ""
      : `, waits for ${blockedBy.map(b => numbers.get(b.task) ?? b.task).join(", ")}`;
  const cares =
    care === "green"
      ? ""
      : `, ${care}${held === null ? "" : `, not now: ${plain(inNumbers(held, numbers))}`}`;
  const since = status === "active" ? `, for ${duration(Date.now() - row.updatedAt)}` : "";
  return `${nameOf(row, project)}: ${quote(row.description)}, ${status}${who}${since}${rank === "normal" ? "" : `, ${rank} priority`}${cares}${waits}`;
}

function taskData(row: TaskRow) {
  return {
    id: row.id,
    number: row.number,
    description: row.description,
    priority: row.priority,
    status: row.status,
    assignee: row.assigneeName,
    labels: row.labels,
    waitsFor: row.blockedBy.map(({ task: other, status }) => `${other} (${status})`),
    result: row.result,
    debate: row.debate,
    risk: row.risk,
    held: row.held,
  };
}
