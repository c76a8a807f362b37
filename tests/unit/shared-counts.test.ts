/** Counts of tasks where this machine shares some of the store's projects. */
import { expect, it } from "vitest";
import { countAllTasks } from "../../daemon/requests/query.ts";
import { taskPage } from "../../daemon/views/tasks.ts";
import { begin, claim, create, MemoryStoreOfAll, machine, settled, shared } from "./shared-world.ts";

it("count tasks of projects that this machine has, once each", async () => {
  const all = new MemoryStoreOfAll();
  const more = [["/tower/app", shared] as const, ["/tower/more", `${shared}/more`] as const];
  const tower = await machine("tower", all, { projects: more });
  // Two clones of the project, and a project that stays.
  const clones = [["/laptop/app", shared] as const, ["/laptop/clone", shared] as const];
  const laptop = await machine("laptop", all, { projects: clones });
  for (const { store } of [tower, laptop]) expect(await store.open(10_000)).toBe(true);
  await begin(tower, "bob");
  for (const text of ["one", "two"]) await tower.log.submitAndWait(create(tower, "bob", text));
  await tower.log.submitAndWait(claim(tower, "bob"));
  const elsewhere = create(tower, "bob", "of a project that laptop does not share");
  await tower.log.submitAndWait({ ...elsewhere, project: "/tower/more" } as typeof elsewhere);
  const other = { cwd: "/laptop/other", project: "/laptop/other", worktree: "/laptop/other" };
  await begin(laptop, "carol", other);
  const here = create(laptop, "carol", "here");
  await laptop.log.submitAndWait({ ...here, project: "/laptop/other" } as typeof here);
  await settled(tower, laptop);
  const counts = { failed: 0, blocked: 0, done: 0 };
  expect(countAllTasks(laptop.log)).toEqual({ ...counts, active: 1, ready: 2 });
  expect(countAllTasks(tower.log)).toEqual({ ...counts, active: 1, ready: 2 });
  const page = taskPage(laptop.log, { target: "tasks" });
  let step = page.next();
  while (step.done !== true) step = page.next();
  const projects = JSON.stringify(step.value).match(/\/laptop\/\w+|example.com\/team\/app\/more/g);
  expect(projects?.sort()).toEqual(["/laptop/app", "/laptop/app", "/laptop/other"]);
});
