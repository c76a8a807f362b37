import * as z from "zod";
/** Tools of the shared plan: kite_task_create, _list, _claim, _edit, _complete, _fail. */
import { limits } from "../../protocol/limits.ts";
import type { RequestOf } from "../../protocol/requests.ts";
import {
  type TaskRow,
  taskClaimSchema,
  taskCreateSchema,
  taskFilterShape,
  taskUpdateSchema,
} from "../../protocol/task.ts";
import { duration, frame, plain, quote } from "../../protocol/text.ts";
import { granted, rowsOf } from "../with-daemon.ts";
import { adds, type Call, looks, puts, type Tool, tool } from "./tool.ts";

const { description, priority, labels, dependsOn, debate, risk, tasks } = taskCreateSchema.shape;
const { task, result, ...changes } = taskUpdateSchema.shape;

const create = tool({
  name: "kite_task_create",
  title: "Add tasks",
  description:
    "Add a task to the project's shared list, or several at once with `tasks`, where `dependsOn` may use the `name` of " +
    "another one in the same call. A task becomes ready when all tasks that it depends on are done. Any agent may claim it.",
  input: z.object({
    description: description.describe("What the task is, complete enough for another agent to do it"),
    priority,
    labels: labels.describe("Words by which agents choose, such as an area of the code"),
    dependsOn: dependsOn.describe("Ids of tasks that must be done first"),
    debate: debate.describe("The id of a debate that the task requires (see kite_debate)"),
    risk: risk.describe(
      "green (the default), yellow, red (a lead looks after it) or critical (a person says yes first)",
    ),
    tasks: tasks.describe("Several tasks instead of one; Kite adds all or none"),
  }),
  annotations: adds,
  run: async ({ client, actor }, given) => {
    const answer = granted(await client.request("task_create", { ...actor, ...given }));
    const made = answer.task === undefined ? (answer.tasks ?? []) : [answer.task];
    const rows = made.map(row => ({ id: row.id, status: row.status, name: "name" in row ? row.name : null }));
    const ids = rows.map(({ id, name }) => (name === null ? id : `${id} (${quote(name)})`));
    const warned = (answer.warnings ?? []).map(one => `\n${plain(one)}`);
    return { text: `Added ${ids.join(", ")}.${warned.join("")}`, data: { added: rows } };
  },
});

const list = tool({
  name: "kite_task_list",
  title: "List tasks",
  description:
    "The project's shared tasks: those not finished, or only the ready, blocked, own or finished ones, or those with a " +
    "label or words in them.",
  input: z.object({
    which: z.enum(["open", "ready", "blocked", "mine", "finished"]).optional().describe("open by default"),
    label: taskFilterShape.label,
    text: taskFilterShape.text.describe("Part of the description or of the id"),
  }),
  annotations: looks,
  run: async (call, { which = "open", label, text }) => {
    const filter = { ...(label === undefined ? {} : { label }), ...(text === undefined ? {} : { text }) };
    const rows = await wantedRows(call, which, filter);
    const shown = rows.slice(0, limits.mcpRowsMax);
    const more = rows.length - shown.length;
    const lines = shown.map(row => `- ${taskLine(row)}`);
    const rest = more === 0 ? [] : [`- and more: name a label or words to see fewer`];
    const said = shown.length === 0 ? [`No ${which} tasks.`] : [frame, ...lines, ...rest];
    return { text: said.join("\n"), data: { note: frame, tasks: shown.map(taskData), more } };
  },
});

const claim = tool({
  name: "kite_task_claim",
  title: "Take a task",
  description:
    "Claim the most urgent ready task that your role may take, or the named one. No other agent gets it while your session lives. Finish it " +
    "with kite_task_complete or kite_task_fail before you take the next one.",
  input: z.object({
    task: taskClaimSchema.shape.task.describe("The id of the task to claim"),
    labels: taskClaimSchema.shape.labels.describe("Only a task with all of these labels"),
  }),
  annotations: adds,
  run: async ({ client, actor, acting: { project } }, given) => {
    const answer = granted(await client.request("task_claim", { ...actor, project, ...given }));
    const words = quote(answer.task.description, limits.taskTextChars);
    const text = `You have task ${answer.task.id}.\n${frame}\n${words}\nFinish it with kite_task_complete or kite_task_fail.`;
    return { text, data: { note: frame, task: taskData(answer.task) } };
  },
});

const edit = tool({
  name: "kite_task_edit",
  title: "Change a task",
  description:
    "Change what a task says, its priority, labels, dependencies or risk. Any agent may raise a risk; another agent that " +
    "leads, or a person, lowers it.",
  input: z.object({
    task: task.describe("Its id"),
    description: changes.description,
    priority: changes.priority,
    labels: changes.labels.describe("All of its labels"),
    dependsOn: changes.dependsOn.describe("All tasks that must be done first"),
    risk: changes.risk,
  }),
  annotations: puts,
  run: async ({ client, actor }, given) => {
    const { task: row } = granted(await client.request("task_update", { ...actor, ...given }));
    return { text: `Changed: ${taskLine(row)}`, data: { note: frame, task: taskData(row) } };
  },
});

const complete = tool({
  name: "kite_task_complete",
  title: "Finish a task",
  description:
    "Say that a task is done, with its result: what agents that build on it need to know. Tasks that waited for it " +
    "become ready.",
  input: z.object({
    task: task.describe("Its id"),
    result: result.describe("The result, in a few sentences"),
  }),
  annotations: puts,
  run: (call, given) => finish(call, { ...given, status: "done" }),
});

const fail = tool({
  name: "kite_task_fail",
  title: "Give a task up",
  description:
    "Say that a task cannot be done, and why. Tasks that depend on it stay blocked until an agent or a person sets it back to pending.",
  input: z.object({
    task: task.describe("Its id"),
    result: result.unwrap().describe("Why it cannot be done"),
  }),
  annotations: puts,
  run: (call, given) => finish(call, { ...given, status: "failed" }),
});

export const taskTools: readonly Tool[] = [create, list, claim, edit, complete, fail];

async function finish(
  { client, actor, acting: { cwd } }: Call,
  { task: id, status, result: came }: Pick<RequestOf<"task_update">, "task" | "status" | "result">,
) {
  const given = { task: id, status, cwd, ...(came === undefined ? {} : { result: came }) };
  const answer = granted(await client.request("task_update", { ...actor, ...given }));
  return { text: `Task ${answer.task.id} is ${answer.task.status}.`, data: { task: taskData(answer.task) } };
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
  if (which === "ready") return rowsOf(client, "task_ready", more, max);
  if (which === "blocked") return rowsOf(client, "task_blocked", more, max);
  const assignee = which === "mine" ? { assignee: id } : {};
  const statuses = which === "finished" ? (["done", "failed"] as const) : (["active", "pending"] as const);
  const pages = statuses.map(status => rowsOf(client, "tasks", { ...more, ...assignee, status }, max));
  return (await Promise.all(pages)).flat();
}

function taskLine({
  id,
  description: words,
  priority: rank,
  status,
  assigneeName,
  blockedBy,
  updatedAt,
  risk: care,
  held,
}: TaskRow): string {
  const who = status === "active" && assigneeName !== null ? ` by ${quote(assigneeName)}` : "";
  const waits =
    blockedBy.length === 0 || status !== "pending"
      ? ""
      : `, waits for ${blockedBy.map(b => b.task).join(", ")}`;
  const cares = care === "green" ? "" : `, ${care}${held === null ? "" : `, not now: ${plain(held)}`}`;
  const since = status === "active" ? `, for ${duration(Date.now() - updatedAt)}` : "";
  return `${id}: ${quote(words)}, ${status}${who}${since}${rank === "normal" ? "" : `, ${rank} priority`}${cares}${waits}`;
}

function taskData(row: TaskRow) {
  const {
    id,
    description: words,
    priority: rank,
    status,
    assigneeName,
    labels: names,
    blockedBy,
    result: came,
    debate: required,
    risk: care,
    held,
  } = row;
  const waitsFor = blockedBy.map(({ task: other, status: state }) => `${other} (${state})`);
  return {
    id,
    description: words,
    priority: rank,
    status,
    assignee: assigneeName,
    labels: names,
    waitsFor,
    result: came,
    debate: required,
    risk: care,
    held,
  };
}
