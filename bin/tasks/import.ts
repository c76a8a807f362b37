/** `kite task import`. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { errorText, isSystemError, jsonProblem } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { ParamsOf } from "../../protocol/schemas/requests.ts";
import { isObject } from "../../protocol/wire.ts";
import { actingSession } from "../context/actor.ts";
import { refuseAgent } from "../context/person.ts";
import { type Client, type ProcessContext, print, printJson } from "../context/process-context.ts";
import { projectOf } from "../context/project.ts";
import { numbering } from "../context/task-numbers.ts";
import { ask, exitCodes, fail, withDaemon } from "../context/with-daemon.ts";
import { counted, listed } from "../view/text.ts";

/** A task as `task_import` takes it. */
export type Stored = ParamsOf<"task_import">["tasks"][number];

/** The file holds no tasks. */
class NoTasks extends Error {}

/**
 * Imports tasks as `export` writes them and as the published Kite stored them. They are a list, or an object with the
 * tasks as values, their ids as keys. Keeps tasks that already exist unchanged.
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
    return fail(world, json, "invalid_request", unreadable(file, error));
  }
  const isAnyDone = tasks.some(({ status }) => status === "done");
  const refused = isAnyDone ? await refuseAgent(world, json, "import") : null;
  if (refused !== null) return refused;
  const project = flags.project ?? (await projectOf(world.cwd));
  return withDaemon(world, json, client => store(world, client, { project, json }, tasks));
}

function unreadable(file: string, error: unknown): string {
  const code = isSystemError(error) ? error.code : null;
  if (code === "ENOENT") return `${file} does not exist; name a file that kite task export wrote`;
  if (code === "EISDIR") return `${file} is a folder; name a file that kite task export wrote`;
  return `${file}: ${errorText(error)}`;
}

/** Stores the tasks in the daemon, and says how many were new. Returns the exit code. */
export async function store(
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
    const first = debatesDropped.slice(0, limits.idsNamedMax);
    const worded = await numbering(world, client, first.join(" "));
    const of = first.map(worded);
    const lost = `required debates that are not here, and were imported without: ${listed(of, debatesDropped.length - of.length)}`;
    const dropped = of.length === 0 ? [] : [`${counted(debatesDropped.length, "task")} ${lost}`];
    print(world, [`imported ${counted(imported, "task")}${before}`, ...dropped]);
  }
  return exitCodes.done;
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
