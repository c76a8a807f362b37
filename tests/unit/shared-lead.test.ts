/** Merges, spawned agents and roles over several machines. */
import { describe, expect, it } from "vitest";
import { elsewhereState } from "../../bin/view/session-notes.ts";
import { roleOf } from "../../daemon/core/lead/roles.ts";
import type { MergeOutcome } from "../../daemon/core/lead/tables/merges.ts";
import { partsLevel } from "../../daemon/core/nodes/parts.ts";
import { emptyState, readState, writeState } from "../../daemon/core/snapshot.ts";
import type { Command, CommandOf, Entry, Step } from "../../daemon/core/tables/entries.ts";
import { systemClock } from "../../daemon/engine/clock.ts";
import { sharedTasks, withDoersName } from "../../daemon/lead/merges.ts";
import { roleCommand, takesSentRoles } from "../../daemon/lead/roles.ts";
import { claimsSharedTasks, followsSharedTasks, sharedTask } from "../../daemon/lead/spawns.ts";
import { elsewhereRows } from "../../daemon/sharing/elsewhere.ts";
import { toldElsewhere } from "../../daemon/sharing/events.ts";
import { SharedNames } from "../../daemon/sharing/names.ts";
import type { MergeRow } from "../../protocol/lead/merge.ts";
import type { Role } from "../../protocol/lead/roles.ts";
import { isObject } from "../../protocol/wire.ts";
import { actor, World } from "./core-world.ts";
import { actorOf, begin, claim, create, type Machine, MemoryStoreOfAll, machine } from "./shared-world.ts";

describe("a spawned agent whose task is in the log that machines share", () => {
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
      ...{
        type: "spawn_create",
        by: null,
        project,
        name: "worker",
        role: null,
        task: id,
        isTaskShared: true,
      },
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
    expect(await laptop.log.submitAndWait({ ...spawn, name: "other" })).toMatchObject({
      code: "task_claimed",
    });
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
    await expect
      .poll(record, { timeout: 15_000 })
      .toMatchObject({ state: "done", result: "it went through" });
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
});

// A merge of a machine whose author's tasks are in the log that machines share.
describe("a merge", () => {
  const project = "/laptop/app";
  const runner = { name: "r", bound: { node: "local", epoch: 1, connection: 1 } };

  async function worked(on: Machine, session: string): Promise<string> {
    const made = await on.log.submitAndWait(create(on, session, "work"));
    const id = isObject(made) && isObject(made["task"]) ? String(made["task"]["id"]) : "";
    expect(await on.log.submitAndWait(claim(on, session, id))).toMatchObject({ ok: true });
    const none = { dependsOn: null, description: null, priority: null, labels: null };
    const place = { project: `/${on.name}/app`, cwd: "/", wallMs: 2 };
    const update = {
      type: "task_update",
      by: actorOf(session),
      task: id,
      status: "done",
      result: "x",
    } as const;
    expect(await on.log.submitAndWait({ ...update, ...none, ...place } as Command)).toMatchObject({
      ok: true,
    });
    return id;
  }

  /** Queues the branch of the author and runs its merge, as requests do; it comes back. */
  async function comesBack({ log }: Machine, session: string, tasks: readonly string[]): Promise<MergeRow> {
    const place = { project, base: "refs/heads/main", by: null, wallMs: 8 };
    const author = withDoersName(log, project, { session, agent: null }, tasks);
    const merges = [{ branch: "refs/heads/work", author, tasks, after: [] }];
    const how = { rebase: false, checkOnly: false };
    await log.submitAndWait({ type: "merge_queue", runner, ...place, ...how, merges });
    const taken = await log.submitAndWait({ type: "merge_take", runner, ...place, drain: false });
    const { id, runs } = (taken as unknown as { readonly merge: MergeRow }).merge;
    const reason = { code: "red_check", text: "red", files: [], more: 0, output: null } as const;
    const outcome: MergeOutcome = { is: "returned", reason };
    const shared = sharedTasks(log, id, outcome);
    const report = { type: "merge_report", by: null, runner, merge: id, run: runs, wallMs: 9 } as const;
    const reply = await log.submitAndWait({ ...report, outcome, ...shared });
    return (reply as unknown as { readonly merge: MergeRow }).merge;
  }

  it("names who did its task, and has the shared log give the task back once it is there", async () => {
    const all = new MemoryStoreOfAll();
    const [laptop, desk] = await Promise.all([machine("laptop", all), machine("desk", all)]);
    for (const { store } of [laptop, desk]) expect(await store.open(10_000)).toBe(true);
    await begin(laptop, "alice");
    await begin(laptop, "lead");
    await begin(desk, "bob");
    const [mine, others] = [await worked(laptop, "alice"), await worked(desk, "bob")];
    const { state } = desk.log.logOf("/desk/app");
    const statusOf = (id: string) => state.tasks.all.get(id)?.state.status;
    await laptop.log.submitAndWait({
      type: "session_end",
      session: "alice",
      incarnation: null,
      cause: "ended",
    });
    await laptop.log.submitAndWait({ type: "role_set", by: null, name: "lead", role: "lead", project });
    const own = await comesBack(laptop, "alice", [mine]);
    expect(own.author).toEqual({ id: "alice", agent: null, name: "alice" });
    await expect.poll(() => statusOf(mine)).toBe("pending");
    const [message] = laptop.own.state.messages.all.values();
    expect(message?.text).toContain(`Pending again as soon as the shared store has it: ${mine}.`);
    // While the store is away, the row waits.
    const bob = [...state.sessions.live.keys()].find(id => id.startsWith("bob@")) ?? "";
    all.awaySinceMs = Date.now();
    const away = await comesBack(laptop, bob, [others]);
    expect(away.author).toEqual({ id: bob, agent: null, name: "bob@desk" });
    expect(statusOf(others)).toBe("done");
    all.awaySinceMs = null;
    await expect.poll(() => statusOf(others), { timeout: 15_000 }).toBe("pending");
  });
});

// Roles that a person gives to agents of another machine.
describe("roles", () => {
  /** Two machines whose daemons take roles as they do; bob and his agent Explore are on the desk. */
  async function twoMachines() {
    const all = new MemoryStoreOfAll();
    const [laptop, desk] = await Promise.all([machine("laptop", all), machine("desk", all)]);
    for (const one of [laptop, desk]) {
      expect(await one.store.open(10_000)).toBe(true);
      const { own, shared } = takesSentRoles({ engine: one.log });
      one.listeners.own.add(own);
      one.listeners.shared.add(shared);
    }
    await begin(laptop, "alice");
    await begin(desk, "bob");
    await desk.log.submitAndWait({ type: "agent_begin", session: "bob", agent: "ex-1", name: "Explore" });
    await expect.poll(() => there(laptop, "bob@desk")?.agents.size).toBe(1);
    return { all, laptop, desk };
  }

  function there({ log, name: machine }: Machine, name: string) {
    const { sessions } = log.logOf(`/${machine}/app`).state;
    return [...sessions.live.values()].find(one => one.name === name);
  }

  async function give({ log, name: machine }: Machine, name: string, role: Role | null, by = false) {
    const who = by ? actorOf("alice") : null;
    const command = roleCommand(log, { by: who, project: `/${machine}/app`, name, role });
    return "code" in command ? command : log.submitAndWait(command);
  }

  function roleAt({ own }: Machine, session: string, agent: string | null = null): string {
    const { role, by } = roleOf(own.state, { session, agent });
    return `${role} by ${by}`;
  }

  function roleSeen(one: Machine, name: string): string {
    const { state } = one.log.logOf(`/${one.name}/app`);
    const { role, by } = roleOf(state, { session: there(one, name)?.id ?? "", agent: null });
    return `${role} by ${by}`;
  }

  it("are given by the agent's own machine, told to it, and then known to all", async () => {
    const { all, laptop, desk } = await twoMachines();
    const given = await give(laptop, "bob@desk", "reviewer");
    expect(given).toMatchObject({
      ok: true,
      name: "bob@desk",
      role: "reviewer",
      by: "person",
      machine: "desk",
    });
    await expect.poll(() => roleAt(desk, "bob")).toBe("reviewer by person");
    await expect.poll(() => roleSeen(laptop, "bob@desk")).toBe("reviewer by person");
    expect(desk.own.state.notes.pending.get("bob")?.notes).toMatchObject([{ note: { what: "role" } }]);
    // Nothing waits any more, on either side.
    const { state } = laptop.log.logOf("/laptop/app");
    await expect.poll(() => state.rolesSent.size).toBe(0);
    // Who looks on hears that a role waits, and that it does no more.
    const { node } = laptop.store;
    const names = new SharedNames({ node, own: () => laptop.own.state, shared: () => state });
    const [bob = ""] = state.sessions.byNode.get(desk.store.node) ?? [];
    const told = { event: "elsewhere_changed", session: bob, project: "/laptop/app" };
    const isOfRoles = ({ command }: Entry) =>
      command.type === "role_send" || (command.type === "relayed" && command.command.type === "role_taken");
    const entries = all.entries.filter(isOfRoles);
    expect(entries).toHaveLength(2);
    for (const entry of entries) {
      expect(toldElsewhere(entry, names, node, state)).toEqual([told]);
      expect(toldElsewhere(entry, names, desk.store.node, state)).toEqual([]);
    }
    await expect.poll(() => desk.own.state.outbox.rows.size).toBe(0);
    await give(laptop, "Explore", "tester");
    await expect.poll(() => roleAt(desk, "bob", "ex-1")).toBe("tester by person");
    expect(await give(laptop, "bob@desk", null)).toMatchObject({ ok: true, role: "implementer" });
    await expect.poll(() => roleAt(desk, "bob")).toBe("implementer by default");
  });

  it("wait for a machine that is away, and the latest one is given", async () => {
    const { all, laptop, desk } = await twoMachines();
    await desk.store.close();
    await give(laptop, "bob@desk", "tester");
    expect(await give(laptop, "bob@desk", "reviewer")).toMatchObject({ ok: true });
    const { state } = laptop.log.logOf("/laptop/app");
    expect([...state.rolesSent.values()].map(sent => [...sent])).toMatchObject([
      [[null, { role: "reviewer" }]],
    ]);
    expect(writeState(readState(writeState(state)))).toBe(writeState(state));
    expect(roleAt(desk, "bob")).toBe("implementer by default");
    // Both are shown as long as they wait.
    await give(laptop, "Explore", null);
    const [row] = [...elsewhereRows(laptop.log, "/laptop/app")].map(one => one.row());
    expect(row).toMatchObject({
      rolesWaiting: [
        { agent: null, role: "reviewer" },
        { agent: "Explore", role: null },
      ],
    });
    expect(row && elsewhereState(row)).toBe("the role reviewer waits, the end of the role of Explore waits");
    const back = await machine("desk", all, { node: desk.store.node });
    await begin(back, "bob");
    const { own, shared } = takesSentRoles({ engine: back.log });
    back.listeners.own.add(own);
    back.listeners.shared.add(shared);
    expect(await back.store.open(10_000)).toBe(true);
    await expect.poll(() => state.rolesSent.size, { timeout: 10_000 }).toBe(0);
    expect(roleAt(back, "bob")).toBe("reviewer by person");
    for (const one of elsewhereRows(laptop.log, "/laptop/app"))
      expect(one.row()).not.toHaveProperty("rolesWaiting");
  });

  it("go to an agent of this machine first, and are refused to agents, and where nobody is called so", async () => {
    const { laptop, desk } = await twoMachines();
    await begin(desk, "alice");
    await expect.poll(() => there(laptop, "alice@desk")).toBeDefined();
    await give(laptop, "alice", "tester");
    expect([roleAt(laptop, "alice"), roleAt(desk, "alice")]).toEqual([
      "tester by person",
      "implementer by default",
    ]);
    expect(await give(desk, "alice@desk", "reviewer")).toMatchObject({ ok: true, id: "alice" });
    expect(await give(laptop, "bob@desk", "lead", true)).toMatchObject({ code: "person_only" });
    expect(await give(laptop, "nobody", "tester")).toMatchObject({ code: "recipient_gone" });
    await begin(laptop, "carol", { cwd: "/laptop/own", project: "/laptop/own", worktree: "/laptop/own" });
    const own = roleCommand(laptop.log, {
      by: null,
      project: "/laptop/own",
      name: "bob@desk",
      role: "tester",
    });
    expect(own).toMatchObject({ type: "role_set" });
  });

  it("are given once the store that was away answers, though a person changed the role meanwhile", async () => {
    const { all, laptop, desk } = await twoMachines();
    expect(await give(laptop, "bob@desk", "tester")).toMatchObject({ ok: true });
    await expect.poll(() => roleAt(desk, "bob")).toBe("tester by person");
    await expect.poll(() => desk.own.state.outbox.rows.size).toBe(0);
    expect(await give(desk, "bob", "architect")).toMatchObject({ ok: true });
    // An opening compares: what was given is not given again.
    await desk.store.tellAnew();
    await desk.store.relayed(10_000);
    expect(roleAt(desk, "bob")).toBe("architect by person");
    all.awaySinceMs = Date.now();
    expect(await give(laptop, "bob@desk", "reviewer")).toMatchObject({ code: "store_away" });
  });

  it("are given once the machine's own log says that they are, though the shared one could already", async () => {
    const { laptop, desk } = await twoMachines();
    const { node, projects } = desk.own.state.outbox;
    const told = { type: "sharing_set", node, projects: [...projects] } as const;
    await desk.own.submitAndWait({ ...told, level: partsLevel - 1 });
    expect(await give(laptop, "bob@desk", "tester")).toMatchObject({ ok: true });
    const { rolesSent } = desk.store.state ?? {};
    await expect.poll(() => rolesSent?.size).toBe(1);
    // What the daemon would enter is in its log before this is.
    await begin(desk, "carol");
    expect(roleAt(desk, "bob")).toBe("implementer by default");
    await desk.own.submitAndWait({ ...told, level: partsLevel });
    await expect.poll(() => roleAt(desk, "bob")).toBe("tester by person");
    await expect.poll(() => rolesSent?.size).toBe(0);
  });
});
