/**
 * Engine and core over a memory journal with `COUNT` tasks: a third each ready, blocked and done. On a message it works
 * on some more, and answers with the processor time, in microseconds, that each kind of work takes for one task.
 */

import type { Actor } from "../../../daemon/core/frame/actors.ts";
import type { Command } from "../../../daemon/core/tables/entries.ts";
import type { NewTask } from "../../../daemon/core/tables/tasks.ts";
import { taskOf } from "../../../daemon/core/tables/tasks.ts";
import { findTask, isTask } from "../../../daemon/core/tasks/replies.ts";
import { systemClock } from "../../../daemon/engine/clock.ts";
import { Engine } from "../../../daemon/engine/engine.ts";
import { taskPage } from "../../../daemon/views/tasks.ts";
import { MemoryJournal } from "../../journal/memory-journal.ts";
import { sessionId } from "../wire-words.ts";

const tasksPerRun = 4_000;
const project = "/home/someone/project";
/** Claims of one session are bounded. */
const claimers = 8;

const clock = systemClock();
const journal = new MemoryJournal();
const engine = await Engine.start({
  journal,
  clock,
  node: "local",
  storeId: "bench",
  // What the journal keeps is thrown away after each run instead.
  snapshotEntries: Number.POSITIVE_INFINITY,
  onStep: () => {},
  onTrouble: (message, error) => console.error(message, error),
  onFatal: error => {
    throw error;
  },
});

function task(n: number, more: Partial<NewTask> = {}): NewTask {
  const description = `Task ${n}: write the migration for the table of orders`;
  return { name: null, description, priority: "normal", labels: [], dependsOn: [], ...more };
}

function create(tasks: readonly NewTask[]): Command {
  return { type: "task_create", by: null, tasks, many: true, project, wallMs: clock.wall() };
}

function actor(n: number): Actor {
  return { session: sessionId(n % claimers), agent: null, incarnation: 0 };
}

const place = { project, cwd: project, wallMs: clock.wall() };
const none = { result: null, dependsOn: null, description: null, priority: null, labels: null };

function claim(n: number): Command {
  return { type: "task_claim", actor: actor(n), task: null, labels: [], ...place };
}

function done(id: string): Command {
  return { type: "task_update", by: null, task: id, status: "done", ...none, ...place };
}

async function all(commands: readonly Command[]): Promise<readonly { readonly [field: string]: unknown }[]> {
  const replies = await Promise.all(commands.map(command => engine.submitAndWait(command)));
  for (const reply of replies) if (!reply.ok) throw new Error(reply.error);
  await journal.saveSnapshot(engine.state.seq, [Buffer.alloc(0)]);
  return replies;
}

/** Threes: one that is done, one that is ready, one that waits for it. */
async function fill(count: number): Promise<void> {
  for (let from = 0; from < count; from += 300) {
    const some = Array.from({ length: 100 }, (_, n) => n);
    const tasks = some.flatMap(n => [
      task(from + n, { name: `done-${n}` }),
      task(from + n, { name: `ready-${n}` }),
      task(from + n, { dependsOn: [`ready-${n}`, `done-${n}`] }),
    ]);
    const [reply] = await all([create(tasks)]);
    const rows = reply?.["tasks"] as readonly { readonly id: string; readonly name: string | null }[];
    await all(rows.filter(({ name }) => name?.startsWith("done")).map(({ id }) => done(id)));
  }
}

/** Microseconds of processor time each, over as many as it takes: what else runs here does not count. */
async function timed(count: number, work: () => Promise<unknown> | unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

async function run(): Promise<Readonly<Record<string, number>>> {
  const numbers = Array.from({ length: tasksPerRun }, (_, n) => n);
  const ids = () => [...engine.state.tasks.all.keys()].slice(-tasksPerRun);
  const us: Record<string, number> = {};
  us["create"] = await timed(tasksPerRun, () =>
    all(numbers.map(n => create([task(n, { priority: "high" })]))),
  );
  const made = ids();
  us["claim"] = await timed(tasksPerRun, () => all(numbers.map(claim)));
  us["complete"] = await timed(tasksPerRun, () => all(made.map(done)));
  us["ready"] = await timed(tasksPerRun / 10, () => {
    for (let n = 0; n < tasksPerRun / 10; n += 1) {
      const steps = taskPage(engine, {
        type: "query",
        target: "task_ready",
        project,
        limit: 20,
      } as never);
      let step = steps.next();
      while (step.done !== true) step = steps.next();
      if (JSON.parse(String(step.value)).rows.length !== 20) throw new Error("the page is not full");
    }
  });
  const some = [...engine.state.tasks.all.keys()];
  us["prefix"] = await timed(tasksPerRun, () => {
    for (let n = 0; n < tasksPerRun; n += 1) {
      const id = some[(n * 7919) % some.length] ?? "";
      const found = findTask(engine.state, id.slice(0, -1), project);
      const isFine = isTask(found) ? id.startsWith(found.id.slice(0, 5)) : found.code === "ambiguous_task";
      if (!isFine) throw new Error(`${id} was not found`);
    }
  });
  for (let at = 0; at < made.length; at += 1_000)
    await all([{ type: "task_remove", by: null, tasks: made.slice(at, at + 1_000) }]);
  taskOf(engine.state.tasks, some[0] ?? "");
  return us;
}

await fill(Number(process.argv[2]));
process.on("message", () => void run().then(us => process.send?.(us)));
process.on("disconnect", () => process.exit());
process.on("SIGINT", () => process.exit());
process.send?.({ rss: process.memoryUsage.rss() });
