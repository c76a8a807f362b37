/** Commands that show tasks: list, ready, show, graph. */

import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { limits } from "../../protocol/limits.ts";
import type { TaskRow, TaskStatus } from "../../protocol/schemas/task.ts";
import { actingSession } from "../context/actor.ts";
import {
  type Client,
  jsonLine,
  type ProcessContext,
  print,
  printFramed,
  printJson,
  screenOf,
} from "../context/process-context.ts";
import { ownProject, projectOf } from "../context/project.ts";
import { numbersIn } from "../context/task-numbers.ts";
import {
  ask,
  exitCodes,
  fail,
  knownRowsOf,
  printDone,
  printShown,
  rowsOf,
  withDaemon,
} from "../context/with-daemon.ts";
import { clientLists } from "../leading.ts";
import { numbersOf, taskNamed } from "../view/task-names.ts";
import { graphView, mermaidView, tasksView, taskView } from "../view/tasks.ts";
import { clean, counted, wrap } from "../view/text.ts";

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
function everyTask(client: Client, scope: { readonly project?: string }): Promise<TaskRow[]> {
  return rowsOf(client, "tasks", scope, Number.POSITIVE_INFINITY);
}

/** Returns the project in `--project`, else that of the working directory; none with `--all-projects`. */
async function scopeOf(world: ProcessContext, flags: ScopeFlags): Promise<{ readonly project?: string }> {
  if (flags.allProjects === true) return {};
  return { project: flags.project ?? (await projectOf(world.cwd)) };
}

// Commands for many tasks at once: export, rm.

/** Writes every task of the project, or of all projects with `--all-projects`, as a JSON list. */
export async function exportTasks(
  world: ProcessContext,
  file: string | undefined,
  flags: ScopeFlags,
): Promise<number> {
  const scope = await scopeOf(world, flags);
  return withDaemon(world, flags.json === true, async client => {
    const tasks = await everyTask(client, scope);
    const text = `[${tasks.map(task => `\n  ${jsonLine(task)}`).join(",")}\n]\n`;
    if (file === undefined || file === "-") {
      world.stdout.write(text);
      return exitCodes.done;
    }
    writeFileSync(resolve(world.cwd, file), text);
    return printDone(world, flags.json === true, { ok: true, exported: tasks.length }, () => [
      `exported ${counted(tasks.length, "task")} to ${clean(file)}`,
    ]);
  });
}

export interface RemoveFlags extends ScopeFlags {
  readonly finished?: boolean;
}

/** Deletes the named tasks, or with `--finished` every done or failed task that no unfinished task needs. */
export async function remove(
  world: ProcessContext,
  names: readonly string[],
  flags: RemoveFlags,
): Promise<number> {
  const json = flags.json === true;
  if ((names.length === 0) === (flags.finished !== true))
    return fail(world, json, "invalid_request", "name the tasks, or give --finished");
  const scope = await scopeOf(world, flags);
  return withDaemon(world, json, async client => {
    const wanted = names.length > 0 ? names : needless(await everyTask(client, scope));
    const removed: string[] = [];
    for (let at = 0; at < wanted.length; at += limits.tasksPerRequestMax) {
      removed.push(
        ...(await removeSome(world, client, scope, wanted.slice(at, at + limits.tasksPerRequestMax))),
      );
    }
    return printDone(world, json, { ok: true, removed }, () => [
      `removed ${counted(removed.length, "task")}`,
    ]);
  });
}

async function removeSome(
  world: ProcessContext,
  client: Client,
  scope: { readonly project?: string },
  tasks: readonly string[],
): Promise<readonly string[]> {
  const answer = await ask(client, "task_remove", {
    ...actingSession(world.env),
    ...scope,
    tasks: tasks.map(taskNamed),
  });
  return answer.removed;
}

/** Returns finished tasks that no unfinished task depends on. */
function needless(tasks: readonly TaskRow[]): string[] {
  const isOver = (task: TaskRow) => task.status === "done" || task.status === "failed";
  const needed = new Set(tasks.filter(task => !isOver(task)).flatMap(task => task.dependsOn));
  return tasks.filter(task => isOver(task) && !needed.has(task.id)).map(({ id }) => id);
}
