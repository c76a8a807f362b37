/** Commands for many tasks at once: export, rm. */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { limits } from "../../protocol/limits.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import { actingSession } from "../actor.ts";
import { type Client, jsonLine, type ProcessContext } from "../process-context.ts";
import { clean, counted } from "../view/text.ts";
import { ask, exitCodes, fail, printDone, withDaemon } from "../with-daemon.ts";
import { everyTask, type ScopeFlags, scopeOf } from "./look.ts";
import { taskNamed } from "./numbers.ts";

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
