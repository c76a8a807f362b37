/** A spawned agent whose task is in the log that machines share. */
import { expect, it } from "vitest";
import { emptyState } from "../../daemon/core/snapshot.ts";
import type { Command, CommandOf, Entry, Step } from "../../daemon/core/tables/entries.ts";
import { systemClock } from "../../daemon/engine/clock.ts";
import { claimsSharedTasks, followsSharedTasks, sharedTask } from "../../daemon/lead/spawns.ts";
import { isObject } from "../../protocol/wire.ts";
import { actor, World } from "./core-world.ts";
import { actorOf, begin, claim, create, MemoryStoreOfAll, machine } from "./shared-world.ts";

const project = "/laptop/app";
const one = { name: null, description: "one", priority: "normal", labels: [], dependsOn: [] } as const;
const oneTask = { tasks: [one], many: false, project, wallMs: 1 } as const;

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

/** An agent that works on a shared task of the laptop, whose daemon hears of both logs as it does. */
async function spawned() {
  const all = new MemoryStoreOfAll();
  const laptop = await machine("laptop", all);
  expect(await laptop.store.open(10_000)).toBe(true);
  await begin(laptop, "lead");
  const made = await laptop.log.submitAndWait(create(laptop, "lead", "for an agent"));
  const task = isObject(made) && isObject(made["task"]) ? String(made["task"]["id"]) : "";
  const reply = await laptop.log.submitAndWait(spawnOf(task));
  const { spawn } = reply as unknown as { readonly spawn: { readonly id: string } };
  await begin(laptop, "agent", { spawn: spawn.id });
  expect(await laptop.log.submitAndWait(claim(laptop, "agent", task))).toMatchObject({ ok: true });
  const { own, shared } = followsSharedTasks({ engine: laptop.log, clock: systemClock() });
  laptop.listeners.shared.add(shared);
  laptop.listeners.own.add(own);
  const record = () => laptop.own.state.spawns.all.get(spawn.id);
  const finish = (status: "done" | "failed", result: string) =>
    laptop.log.submitAndWait({
      ...{
        type: "task_update",
        by: actorOf("agent"),
        task,
        status,
        result,
        dependsOn: null,
        description: null,
      },
      ...{ priority: null, labels: null, project, cwd: "/", wallMs: 2 },
    });
  const end = (cause: CommandOf<"session_end">["cause"]) =>
    laptop.log.submitAndWait({ type: "session_end", session: "agent", incarnation: null, cause });
  return { all, laptop, task, record, finish, end };
}

function spawnOf(task: string) {
  const place = { type: "spawn_create", by: null, project, name: "worker", role: null, task } as const;
  const client = { isTaskShared: true, backend: "background", client: "claude-code", base: null } as const;
  const bounds = { prompt: null, model: null, replaces: null, reportsEnd: true, liveMax: 8, depthMax: 1 };
  return { ...place, ...client, ...bounds, wallMs: 1 };
}

it("has done its work if its shared task is done, however its process ended", async () => {
  const { record, finish, end } = await spawned();
  expect(await finish("done", "all of it")).toMatchObject({ ok: true });
  await end("anchor_gone");
  expect(record()).toMatchObject({ state: "done", result: "all of it", reason: null });
});

it("failed if its shared task did, or is not done at its end", async () => {
  const failed = await spawned();
  await failed.finish("failed", "no network");
  await failed.end("ended");
  expect(failed.record()).toMatchObject({ state: "failed", reason: `${failed.task} failed: no network` });
  const open = await spawned();
  await open.end("ended");
  const reason = `its session ended, and ${open.task} is not done`;
  expect(open.record()).toMatchObject({ state: "failed", reason });
});

it("is no failure if the store tells only after its end that its task is done", async () => {
  const { all, laptop, record, finish, end } = await spawned();
  all.holds = true;
  const late = finish("done", "it went through");
  await expect.poll(() => all.kept).toBeGreaterThan(0);
  await end("anchor_gone");
  expect(record()).toMatchObject({ state: "failed" });
  // What the store kept comes with another opening.
  all.awaySinceMs = Date.now();
  all.end();
  expect(await late).toMatchObject({ code: "outcome_unknown" });
  await expect.poll(() => laptop.conditions).toContain("opening");
  all.holds = false;
  all.release();
  all.awaySinceMs = null;
  await expect.poll(record, { timeout: 15_000 }).toMatchObject({ state: "done", result: "it went through" });
});

it.each([2, 3])("has done its work if its task is done in this log, by rules of level %i", level => {
  const world = new World(emptyState(level));
  const made = world.do({ type: "task_create", by: null, ...oneTask });
  const task = isObject(made) && isObject(made["task"]) ? String(made["task"]["id"]) : "";
  const reply = world.do(spawnOf(task));
  const spawn = isObject(reply) && isObject(reply["spawn"]) ? String(reply["spawn"]["id"]) : "";
  world.begin("agent", { spawn });
  const place = { project, cwd: "", wallMs: 6 };
  world.do({ type: "task_claim", actor: actor("agent"), task, labels: [], ...place });
  const none = { dependsOn: null, description: null, priority: null, labels: null };
  world.do({
    type: "task_update",
    by: actor("agent"),
    task,
    status: "done",
    result: "well",
    ...none,
    ...place,
  });
  world.do({ type: "session_end", session: "agent", incarnation: null, cause: "ended" });
  expect(world.state.spawns.all.get(spawn)).toMatchObject({ state: "done", result: "well" });
});

it.each([
  [2, "done"],
  [3, "failed"],
] as const)("by rules of level %i it is %s if this log has no such task", (level, state) => {
  const world = new World(emptyState(level));
  const reply = world.do(spawnOf("t-elsewhere"));
  const spawn = isObject(reply) && isObject(reply["spawn"]) ? String(reply["spawn"]["id"]) : "";
  world.begin("agent", { spawn });
  world.do({ type: "session_end", session: "agent", incarnation: null, cause: "ended" });
  expect(world.state.spawns.all.get(spawn)).toMatchObject({ state });
});
