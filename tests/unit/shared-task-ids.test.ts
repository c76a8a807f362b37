/** A task of a shared project by its whole id, for whoever does not know of which project it is. */
import { expect, it } from "vitest";
import { taskHandlers } from "../../daemon/requests/tasks.ts";
import { begin, create, type Machine, MemoryStoreOfAll, machine } from "./shared-world.ts";

function taskOf({ log }: Machine, request: { readonly task: string; readonly project?: string }) {
  return new Promise(resolve => {
    const call = { connection: { sessions: new Map() }, reply: resolve };
    const get = taskHandlers.task_get as unknown as (...given: readonly unknown[]) => unknown;
    get({ engine: log }, { type: "task_get", ...request }, call);
  });
}

it("finds it in the log that has it, and says its number", async () => {
  const all = new MemoryStoreOfAll();
  const laptop = await machine("laptop", all);
  expect(await laptop.store.open(10_000)).toBe(true);
  await begin(laptop, "alice");
  await begin(laptop, "bob", { cwd: "/laptop/alone", project: "/laptop/alone", worktree: "/laptop/alone" });
  const idOf = async (made: Promise<object>) => ((await made) as { task: { id: string } }).task.id;
  const there = { project: "/laptop/alone", wallMs: 2 };
  const shared = await idOf(laptop.log.submitAndWait(create(laptop, "alice", "together")));
  const own = await idOf(laptop.log.submitAndWait({ ...create(laptop, "bob", "alone"), ...there }));
  const [app, alone] = ["/laptop/app", "/laptop/alone"];
  for (const project of [app, alone, undefined]) {
    const from = project === undefined ? {} : { project };
    const found = { id: shared, number: 1, project: app };
    expect(await taskOf(laptop, { task: shared, ...from })).toMatchObject({ ok: true, task: found });
    expect(await taskOf(laptop, { task: own, ...from })).toMatchObject({
      ok: true,
      task: { project: alone },
    });
  }
  expect(await taskOf(laptop, { task: "t-1-zz", project: app })).toMatchObject({ code: "unknown_task" });
});
