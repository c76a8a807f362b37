/** Commands for many tasks at once: import, export, rm. */
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { jsonProblem } from "../../protocol/json-position.ts";
import { limits } from "../../protocol/limits.ts";
import { errorText, isSystemError } from "../../protocol/system-error.ts";
import type { TaskRow } from "../../protocol/task.ts";
import { isObject } from "../../protocol/wire.ts";
import { actingSession } from "../actor.ts";
import { openTasksOf, type Stored } from "../lead/team/as-queue.ts";
import { teamsNamed } from "../lead/team/named.ts";
import { hiddenAgent } from "../person.ts";
import { type Client, jsonLine, type ProcessContext, print, printJson } from "../process-context.ts";
import { projectOf } from "../project.ts";
import { clean, counted, listed } from "../view/text.ts";
import { ask, exitCodes, fail, withDaemon } from "../with-daemon.ts";
import { everyTask, type ScopeFlags, scopeOf } from "./look.ts";

/** The file holds no tasks. */
class NoTasks extends Error {}

/**
 * Imports tasks as `export` writes them and as the published Kite stored them: a list, or an object with the tasks as
 * values, their ids as keys. Keeps tasks that already exist unchanged.
 */
export async function importTasks(
  world: ProcessContext,
  file: string,
  flags: { readonly project?: string; readonly json?: boolean },
): Promise<number> {
  const json = flags.json === true;
  let tasks: readonly Stored[];
  try {
    tasks = tasksIn(readFileSync(file === "-" ? 0 : resolve(world.cwd, file), "utf8"));
  } catch (error) {
    if (!(error instanceof NoTasks) && !isSystemError(error)) throw error;
    fail(world, json, "invalid_request", `${file}: ${errorText(error)}`);
    return exitCodes.failed;
  }
  const isAnyDone = tasks.some(({ status }) => status === "done");
  const hidden = isAnyDone ? await hiddenAgent(world, "imports tasks that are done") : null;
  if (hidden !== null) {
    fail(world, json, "not_a_person", hidden);
    return exitCodes.failed;
  }
  const project = flags.project ?? (await projectOf(world.cwd));
  return withDaemon(world, json, client => store(world, client, { project, json }, tasks));
}

/** Takes over the open tasks of a team's own list; those that were taken before stay as they are. */
export async function importTeam(
  world: ProcessContext,
  name: string | undefined,
  flags: { readonly project?: string; readonly json?: boolean },
): Promise<number> {
  const json = flags.json === true;
  const project = flags.project ?? (await projectOf(world.cwd));
  return withDaemon(world, json, async client => {
    const named = await teamsNamed(client, name, name === undefined ? { project } : {});
    const [team, ...others] = named;
    if (team === undefined || others.length > 0) {
      const which = named.map(row => row.team).join(", ");
      const error =
        team === undefined
          ? `no live team of Claude Code ${name === undefined ? "in this project" : `is called ${name}`}; kite team lists them`
          : `several teams fit: ${which}; name one of them`;
      fail(world, json, "invalid_request", error);
      return exitCodes.failed;
    }
    if (team.moreTasks > 0)
      world.stderr.write(`kite: ${counted(team.moreTasks, "task")} of ${clean(team.team)} were not read\n`);
    return store(world, client, { project, json }, openTasksOf(team));
  });
}

async function store(
  world: ProcessContext,
  client: Client,
  { project, json }: { readonly project: string; readonly json: boolean },
  tasks: readonly Stored[],
): Promise<number> {
  const skipped: string[] = [];
  const debatesDropped: string[] = [];
  let imported = 0;
  for (const batch of batches(inOrder(tasks))) {
    const params = { ...actingSession(world.env), project, cwd: world.cwd, tasks: batch };
    const answer = await ask(client, "task_import", params);
    imported += answer.imported;
    skipped.push(...answer.skipped);
    debatesDropped.push(...answer.debatesDropped);
  }
  if (json) printJson(world, { ok: true, imported, skipped, debatesDropped });
  else {
    const before = skipped.length === 0 ? "" : `; ${skipped.length} already existed`;
    const of = debatesDropped.slice(0, limits.idsNamedMax);
    const lost = `required debates that are not here, and were imported without: ${listed(of, debatesDropped.length - of.length)}`;
    const dropped = of.length === 0 ? [] : [`${counted(debatesDropped.length, "task")} ${lost}`];
    print(world, [`imported ${counted(imported, "task")}${before}`, ...dropped]);
  }
  return exitCodes.done;
}

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
    if (flags.json === true) printJson(world, { ok: true, exported: tasks.length });
    else print(world, [`exported ${counted(tasks.length, "task")} to ${clean(file)}`]);
    return exitCodes.done;
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
  if ((names.length === 0) === (flags.finished !== true)) {
    fail(world, json, "invalid_request", "name the tasks, or give --finished");
    return exitCodes.failed;
  }
  const scope = await scopeOf(world, flags);
  return withDaemon(world, json, async client => {
    const wanted = names.length > 0 ? names : needless(await everyTask(client, scope));
    const removed: string[] = [];
    for (let at = 0; at < wanted.length; at += limits.tasksPerRequestMax) {
      removed.push(
        ...(await removeSome(world, client, scope, wanted.slice(at, at + limits.tasksPerRequestMax))),
      );
    }
    if (json) printJson(world, { ok: true, removed });
    else print(world, [`removed ${counted(removed.length, "task")}`]);
    return exitCodes.done;
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
    tasks: [...tasks],
  });
  return answer.removed;
}

/** Returns finished tasks that no unfinished task depends on. */
function needless(tasks: readonly TaskRow[]): string[] {
  const isOver = (task: TaskRow) => task.status === "done" || task.status === "failed";
  const needed = new Set(tasks.filter(task => !isOver(task)).flatMap(task => task.dependsOn));
  return tasks.filter(task => isOver(task) && !needed.has(task.id)).map(({ id }) => id);
}

function tasksIn(text: string): readonly Stored[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const place = jsonProblem(text) ?? "";
    throw new NoTasks(`this is not JSON (${place}); expected a list of tasks, or an object with tasks by id`);
  }
  const inner =
    isObject(value) && "tasks" in value && typeof value["tasks"] === "object" ? value["tasks"] : value;
  if (Array.isArray(inner)) return inner.map(asTask);
  if (!isObject(inner)) throw new NoTasks("expected a list of tasks, or an object with tasks by id");
  return Object.entries(inner).map(([id, task]) => asTask(isObject(task) ? { id, ...task } : task));
}

/** Converts times that are dates in words; the daemon checks the other fields. */
function asTask(value: unknown): Stored {
  if (!isObject(value)) throw new NoTasks("a task in it is no object");
  const times = ["createdAt", "updatedAt"].flatMap(name => {
    const time = value[name];
    const at = typeof time === "string" ? Date.parse(time) : time;
    return time === undefined ? [] : [[name, typeof at === "number" && at >= 0 ? Math.floor(at) : null]];
  });
  // The daemon checks every field.
  return { ...value, ...Object.fromEntries(times) } as Stored;
}

/** Sorts needed tasks first, so that no batch depends on a later one; the daemon refuses cycles. */
function inOrder(tasks: readonly Stored[]): Stored[] {
  const byId = new Map(tasks.map(task => [task.id, task]));
  const order = new Set<Stored>();
  const entered = new Set<string>();
  for (const first of byId.values()) {
    const stack: { readonly task: Stored; left: readonly string[] }[] = [];
    const enter = (task: Stored) => {
      if (entered.has(task.id)) return;
      entered.add(task.id);
      stack.push({ task, left: Array.isArray(task.dependsOn) ? task.dependsOn : [] });
    };
    enter(first);
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const [next, ...left] = top.left;
      top.left = left;
      const needed = next === undefined ? undefined : byId.get(next);
      if (needed !== undefined) enter(needed);
      else if (next === undefined) {
        order.add(top.task);
        stack.pop();
      }
    }
  }
  return [...order];
}

/** Splits tasks into batches within the bounds of one request and one line. */
function* batches(tasks: readonly Stored[]): Generator<Stored[], void> {
  let batch: Stored[] = [];
  let size = 0;
  for (const task of tasks) {
    const length = Buffer.byteLength(JSON.stringify(task));
    if (batch.length === limits.tasksPerRequestMax || size + length > limits.lineBytes / 2) {
      yield batch;
      batch = [];
      size = 0;
    }
    batch.push(task);
    size += length;
  }
  if (batch.length > 0) yield batch;
}
