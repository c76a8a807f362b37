/** A spawned agent whose task is in the log that machines share. */
import { expect, it } from "vitest";
import type { Command, Entry } from "../../daemon/core/commands.ts";
import type { Step } from "../../daemon/core/outcome.ts";
import { systemClock } from "../../daemon/engine/clock.ts";
import { claimsSharedTasks, sharedTask } from "../../daemon/lead/spawns/shared-task.ts";
import { isObject } from "../../protocol/wire.ts";
import { begin, claim, create, MemoryStoreOfAll, machine } from "./shared-world.ts";

const project = "/laptop/app";

it("gets its task when its session is there, and no other machine has it then", async () => {
  const all = new MemoryStoreOfAll();
  const [laptop, desk] = await Promise.all([machine("laptop", all), machine("desk", all)]);
  for (const { store } of [laptop, desk]) expect(await store.open(10_000)).toBe(true);
  await begin(laptop, "lead");
  await begin(desk, "bob");
  const made = await laptop.log.submitAndWait(create(laptop, "lead", "for an agent"));
  const id = isObject(made) && isObject(made["task"]) ? String(made["task"]["id"]) : "";
  expect(sharedTask(laptop.log, "/elsewhere", id, null)).toBeNull();
  expect(sharedTask(laptop.log, project, "t-none", null)).toMatchObject({ code: "unknown_task" });
  expect(sharedTask(laptop.log, project, "1", null)).toBe(id);
  const spawn = {
    ...{ type: "spawn_create", by: null, project, name: "worker", role: null, task: id, isTaskShared: true },
    ...{
      backend: "background",
      client: "claude-code",
      base: null,
      prompt: null,
      model: null,
      replaces: null,
    },
    ...{ reportsEnd: true, liveMax: 8, depthMax: 1, wallMs: 1 },
  } as const satisfies Command;
  const created = await laptop.log.submitAndWait(spawn);
  expect(created).toMatchObject({ ok: true, spawn: { task: id } });
  expect(await laptop.log.submitAndWait({ ...spawn, name: "other" })).toMatchObject({ code: "task_claimed" });
  const agent = (created as unknown as { readonly spawn: { readonly id: string } }).spawn.id;
  const listener = claimsSharedTasks({ engine: laptop.log, clock: systemClock() });
  const changed = { event: { event: "spawn_changed", spawn: agent }, about: [], project };
  const hear = () => listener.stepped({} as Entry, { events: [changed] } as unknown as Step);
  // Its session is not there yet.
  hear();
  await begin(laptop, "worker-session", { spawn: agent });
  hear();
  const { tasks } = desk.log.logOf("/desk/app").state;
  await expect.poll(() => tasks.claims.size).toBe(1);
  expect(await desk.log.submitAndWait(claim(desk, "bob", id))).toMatchObject({ code: "task_claimed" });
  const before = all.entries.length;
  // It has the task: nothing more is entered.
  hear();
  await laptop.log.submitAndWait(create(laptop, "lead", "another"));
  expect(all.entries.length).toBe(before + 1);
});
