/** Commands that show tasks: list, ready, show, graph. */
import { limits } from "../../protocol/limits.ts";
import type { TaskRow, TaskStatus } from "../../protocol/schemas/task.ts";
import { clientLists } from "../leading.ts";
import {
  type Client,
  type ProcessContext,
  print,
  printFramed,
  printJson,
  screenOf,
} from "../process-context.ts";
import { ownProject, projectOf } from "../project.ts";
import { graphView } from "../view/task-graph.ts";
import { mermaidView } from "../view/task-mermaid.ts";
import { tasksView, taskView } from "../view/tasks.ts";
import { counted, wrap } from "../view/text.ts";
import { ask, exitCodes, fail, knownRowsOf, printShown, rowsOf, withDaemon } from "../with-daemon.ts";
import { numbersIn } from "./numbering.ts";
import { numbersOf, taskNamed } from "./numbers.ts";

export interface ScopeFlags {
  readonly project?: string;
  readonly allProjects?: boolean;
  readonly json?: boolean;
}

export interface ListFlags extends ScopeFlags {
  readonly status?: TaskStatus | "ready" | "blocked";
  readonly all?: boolean;
  readonly label?: string;
  readonly assignee?: string;
  readonly text?: string;
  readonly blocked?: boolean;
}

/**
 * Lists tasks; without `--status` or `--all` it only counts the done ones. Without a filter the tasks of the clients' own lists
 * follow.
 */
export async function list(world: ProcessContext, flags: ListFlags): Promise<number> {
  const { label, assignee, text } = flags;
  const standing = flags.blocked === true ? "blocked" : flags.status;
  const target = standing === "ready" ? "task_ready" : standing === "blocked" ? "task_blocked" : "tasks";
  const status = standing === "ready" || standing === "blocked" ? undefined : standing;
  const wanted = Object.fromEntries(
    Object.entries({ status, label, assignee, text }).filter(([, value]) => value !== undefined),
  );
  const scope = await scopeOf(world, flags);
  if (flags.blocked === true && flags.status !== undefined && flags.status !== "blocked")
    return fail(
      world,
      flags.json === true,
      "usage",
      "give either --blocked or --status; --blocked is --status blocked",
    );
  return withDaemon(world, flags.json === true, async client => {
    const rows = await knownRowsOf(client, target, { ...scope, ...wanted });
    const isWhole = target === "tasks" && Object.keys(wanted).length === 0;
    const { clientTasksView, nativeTasks } = await clientLists();
    const clientTasks = isWhole ? await nativeTasks(client, scope) : [];
    const isShort = status === undefined && flags.all !== true;
    const shown = isShort ? rows.filter(row => row.status !== "done") : rows;
    if (flags.json === true) {
      printJson(world, { tasks: rows, ...(isWhole ? { clientTasks } : {}) });
      return exitCodes.done;
    }
    const screen = screenOf(world);
    const done = rows.length - shown.length;
    const isFiltered = target !== "tasks" || Object.keys(wanted).length > 0;
    const nothing = isFiltered
      ? "No task is like that. All tasks: kite task list --all"
      : "No tasks. To add one: kite task add DESCRIPTION";
    const none = done === 0 ? nothing : "All tasks are done.";
    const more = done === 0 ? [] : [`and ${counted(done, "done task")}: kite task list --all`];
    if (rows.length >= limits.rowsShownMax)
      more.push("and more, not fetched: narrow the list with --status, --label or --text");
    printFramed(world, [
      ...tasksView({ tasks: shown, none }, screen),
      ...more.flatMap(m => wrap(m, screen.width)),
      ...clientTasksView(clientTasks, screen),
    ]);
    return exitCodes.done;
  });
}

/** Lists the ready tasks, in the order in which `claim` takes them. */
export async function ready(
  world: ProcessContext,
  flags: ScopeFlags & { readonly label?: string },
): Promise<number> {
  const scope = await scopeOf(world, flags);
  const label = flags.label === undefined ? {} : { label: flags.label };
  return withDaemon(world, flags.json === true, async client => {
    const tasks = await knownRowsOf(client, "task_ready", { ...scope, ...label });
    return printShown(world, flags.json === true, { tasks }, screen =>
      tasksView({ tasks, none: "No task is ready." }, screen),
    );
  });
}

export async function show(world: ProcessContext, name: string, flags: ScopeFlags): Promise<number> {
  const json = flags.json === true;
  const scope = await scopeOf(world, flags);
  return withDaemon(world, json, async client => {
    const answer = await ask(client, "task_get", { task: taskNamed(name), ...scope });
    const { task } = answer;
    const own = json ? null : await ownProject(world);
    const others = `${task.dependsOn.join(" ")} ${task.held ?? ""}`;
    const numbers = new Map(
      own === null ? [] : [...(await numbersIn(client, own, others)), ...numbersOf([task], own)],
    );
    return printShown(world, json, answer, screen => taskView(task, numbers, screen));
  });
}

export interface GraphFlags extends ScopeFlags {
  readonly mermaid?: boolean;
  readonly open?: boolean;
}

export async function graph(world: ProcessContext, flags: GraphFlags): Promise<number> {
  const scope = await scopeOf(world, flags);
  return withDaemon(world, flags.json === true, async client => {
    const all = await knownRowsOf(client, "tasks", scope);
    const tasks = flags.open === true ? all.filter(task => task.status !== "done") : all;
    if (flags.json === true) printJson(world, { tasks });
    else if (flags.mermaid === true) print(world, mermaidView(tasks));
    else printFramed(world, graphView(tasks, screenOf(world)));
    return exitCodes.done;
  });
}

/** Returns every task, or those of one project, oldest first. */
export function everyTask(client: Client, scope: { readonly project?: string }): Promise<TaskRow[]> {
  return rowsOf(client, "tasks", scope, Number.POSITIVE_INFINITY);
}

/** Returns the project in `--project`, else that of the working directory; none with `--all-projects`. */
export async function scopeOf(
  world: ProcessContext,
  flags: ScopeFlags,
): Promise<{ readonly project?: string }> {
  if (flags.allProjects === true) return {};
  return { project: flags.project ?? (await projectOf(world.cwd)) };
}
