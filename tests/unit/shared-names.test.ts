/** What goes into the shared log of a machine's names, and what comes back. */
import { expect, it } from "vitest";
import type { Command } from "../../daemon/core/commands.ts";
import { begin, MemoryStoreOfAll, machine, send } from "./shared-world.ts";

it("shows of a message that was sent what this machine calls its sessions and project", async () => {
  const all = new MemoryStoreOfAll();
  const laptop = await machine("laptop", all);
  expect(await laptop.store.open(10_000)).toBe(true);
  await begin(laptop, "alice");
  await begin(laptop, "bob");
  const sent = await laptop.log.submitAndWait(send(laptop, "alice", "bob", "hello"));
  expect(sent).toMatchObject({ ok: true, message: { to: [{ id: "bob", name: "bob" }] } });
});

it("imports tasks of projects that are shared and of others each into their log", async () => {
  const all = new MemoryStoreOfAll();
  const laptop = await machine("laptop", all);
  expect(await laptop.store.open(10_000)).toBe(true);
  const task = (id: string, project: string) => ({
    ...{ id, project, createdAt: 1, updatedAt: 1, description: id, priority: "normal", labels: [] },
    ...{ dependsOn: [], attempts: 0, state: { status: "pending" } },
  });
  const tasks = [task("t-1", "/laptop/app"), task("t-2", "/laptop/alone"), task("t-3", "/laptop/app")];
  const reply = await laptop.log.submitAndWait({
    type: "task_import",
    by: null,
    tasks,
  } as unknown as Command);
  expect(reply).toMatchObject({ ok: true, imported: 3, skipped: [], debatesDropped: [] });
  const idsAt = (project: string) => [...laptop.log.logOf(project).state.tasks.all.keys()];
  expect([idsAt("/laptop/app"), idsAt("/laptop/alone")]).toEqual([["t-1", "t-3"], ["t-2"]]);
  expect(JSON.stringify(all.entries)).not.toContain("/laptop");
});
