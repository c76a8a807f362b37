/** What is copied when a project is shared, and when a machine leaves its store; also where the copy ends anywhere. */
import { expect, test } from "vitest";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { numberOf } from "../../daemon/core/tables/tasks.ts";
import { CopyRefused } from "../../daemon/sharing/copy.ts";
import { isSharedAs, moveRest, shareProject, takeBack, unmoved } from "../../daemon/sharing/share.ts";
import { project, Scene } from "./copy-world.ts";
import { actor, type World } from "./core-world.ts";
import { Local, shared } from "./nodes-world.ts";

/** A project with tasks in each state, values, and a session that works on one. */
function scene(): Scene {
  const made = new Scene();
  const { own, store } = made;
  own.begin("s1", { name: "alice" });
  const done = made.add("done");
  own.do({ type: "task_claim", actor: actor("s1"), task: done, labels: [], project, cwd: "", wallMs: 6 });
  const end = { result: "well", dependsOn: null, description: null, priority: null, labels: null } as const;
  const update = (task: string, status: "done" | "failed") =>
    own.do({ type: "task_update", by: null, task, status, ...end, project, cwd: "", wallMs: 7 });
  update(done, "done");
  const first = made.add("first", { dependsOn: [done] });
  made.add("second", { dependsOn: [first, done] });
  const lost = made.add("lost");
  update(lost, "failed");
  const working = made.add("working");
  const claim = own.do({
    ...{ type: "task_claim", actor: actor("s1"), task: working, labels: [], project, cwd: "", wallMs: 8 },
  });
  expect(claim.ok).toBe(true);
  const to = (command: Command) => own.do(command);
  // An older task depends on a younger one.
  own.do({
    ...{ type: "task_update", by: null, task: first, status: null, ...end, result: null },
    ...{ dependsOn: [done, made.add("late")], project, cwd: "", wallMs: 9 },
  });
  for (const [key, value] of Object.entries({ one: "1", same: "s", other: "mine" })) made.set(to, key, value);
  made.set(to, "passing", "p", project, false);
  for (const [key, value] of Object.entries({ same: "s", other: "theirs", far: "f" }))
    made.set(command => store.as("b", command), key, value, shared);
  store.add("b", null, "of b");
  return made;
}

const sharedTasks = [
  "of b pending",
  "late pending",
  "first pending on late",
  "second pending on first",
  "lost failed",
  "working active by s1",
];
const sharedContext = { same: "s", other: "theirs", far: "f", one: "1", "other@laptop": "mine" };

test("a project that is shared moves there, and what is there already stays", async () => {
  const { own, store, logs } = scene();
  const copied = await shareProject(logs, project, shared);
  expect(copied).toMatchObject({ tasks: 5, context: 3, released: [] });
  expect(copied.keys).toEqual([{ key: "other", as: "other@laptop" }]);
  const after = new Map([...store.state.tasks.all.values()].map(task => [task.id, numberOf(task)]));
  for (const { task, before, after: now } of copied.numbers) {
    expect(after.get(task)).toBe(now);
    expect(now).not.toBe(before);
  }
  expect(copied.numbers.length).toBeGreaterThan(0);
  expect(own.state.outbox.projects.get(project)).toBe(shared);
});

test("a project that is shared is in one log, with its claims", async () => {
  const made = scene();
  await shareProject(made.logs, project, shared);
  expect(made.tasks(made.store, shared)).toEqual(sharedTasks);
  expect(made.context(made.store, shared)).toEqual(sharedContext);
  expect(made.tasks(made.own, project)).toEqual([]);
  expect(made.context(made.own, project)).toEqual({ passing: "p" });
});

test("no task can be claimed here and on another machine while a project is shared", async () => {
  const made = scene();
  const { own, store } = made;
  const desk = new Local("b");
  desk.begin("s9", { name: "bob" });
  store.take("b", desk);
  const twice = new Set<string>();
  made.meanwhile = () => {
    for (const { id, description } of store.state.tasks.all.values()) {
      const mine = own.state.tasks.all.get(id);
      const isOpenHere = mine !== undefined && !own.state.outbox.projects.has(project);
      if (store.claim("b", desk.idOf("s9"), id).ok && isOpenHere) twice.add(description);
    }
  };
  const { released } = await shareProject(made.logs, project, shared);
  expect([...twice]).toEqual([]);
  expect(released).toEqual([]);
  expect(made.tasks(store, shared)).toContain("working active by s1");
});

test("a task whose id another one has there is not lost", async () => {
  const made = scene();
  const id = made.add("of here");
  const other = { ...task(made.own, id), project: shared, createdAt: 7, description: "of there" };
  expect(made.store.as("b", { type: "task_import", by: null, tasks: [other] }).ok).toBe(true);
  await expect(shareProject(made.logs, project, shared)).rejects.toMatchObject({
    refusal: { code: "task_state", task: id },
  });
  expect(made.tasks(made.own, project)).toContain("of here pending");
});

test("a machine that leaves has back what is open, with its claims, and the store keeps it", async () => {
  const made = scene();
  await shareProject(made.logs, project, shared);
  const copied = await takeBack(made.logs, made.outward);
  expect(copied).toMatchObject({ tasks: 6, context: 5, released: [], keys: [] });
  expect(made.tasks(made.own, project)).toEqual(sharedTasks);
  expect(made.context(made.own, project)).toEqual({ ...sharedContext, passing: "p" });
  expect(made.own.state.outbox.node).toBe("");
  made.store.as("a", { type: "node_leave" });
  expect(made.tasks(made.store, shared)).toEqual(
    sharedTasks.map(task => task.replace("active by s1", "pending")),
  );
});

test("messages that agents of a machine have not read come along when it leaves, each once", async () => {
  const made = scene();
  const { own, store } = made;
  await shareProject(made.logs, project, shared);
  const desk = new Local("b");
  desk.begin("s9", { name: "bob" });
  store.take("b", desk);
  const send = (node: string, by: string, to: string, text: string) => {
    const posted = { actor: actor(by), project: shared, text, bytes: text.length, wallMs: 9 };
    const reply = store.as(node, { type: "message_send", ...posted, to, replyTo: null, urgent: true });
    expect(reply.ok).toBe(true);
  };
  const alice = own.idOf("s1");
  send("b", desk.idOf("s9"), alice, "read");
  const [first = ""] = store.state.messages.all.keys();
  const read = { type: "message_ack", actor: actor(alice), messages: [first], read: true } as const;
  expect(store.as("a", read).ok).toBe(true);
  send("b", desk.idOf("s9"), alice, "not read");
  send("a", alice, desk.idOf("s9"), "of another machine");
  const mine = () =>
    [...own.state.messages.all.values()].flatMap(({ from, text, letters }) => {
      const whose = [...letters.values()].map(({ to, state }) => `${to.id} ${state}`);
      return from?.id === "kite" ? [] : [[from?.name, text, ...whose]];
    });
  // One run after the other breaks off, until one has brought the message, and does not hear so.
  for (let at = 1; mine().length === 0; at += 1) {
    made.breakAt({ at, how: "lost" });
    await takeBack(made.logs, made.outward).catch(refused);
  }
  made.breakAt({ at: 0, how: "lost" });
  await takeBack(made.logs, made.outward);
  expect(mine()).toEqual([["bob@desk", "not read", "s1 unread"]]);
  expect(store.as("a", { type: "node_leave" }).ok).toBe(true);
  // The sender does not hear that it reached nobody.
  const bobs = [...store.state.messages.all.values()].filter(({ letters }) =>
    [...letters.values()].some(({ to, undelivered }) => to.id === desk.idOf("s9") && undelivered !== null),
  );
  expect(bobs).toEqual([]);
});

test("what happened in the store between a move that broke off and the next one stays", async () => {
  const made = scene();
  // The first run moves the tasks, and does not hear so.
  made.breakAt({ at: 2, how: "lost" });
  await expect(shareProject(made.logs, project, shared)).rejects.toMatchObject({
    refusal: { error: expect.stringContaining("Kite goes on moving it by itself") },
  });
  expect(made.tasks(made.store, shared)).toEqual(sharedTasks);
  const { id } = [...made.store.state.tasks.all.values()].find(one => one.description === "late") ?? {
    id: "",
  };
  const change = { by: null, dependsOn: null, description: null, priority: null, labels: null } as const;
  const done = {
    ...change,
    status: "done",
    result: "by b",
    project: shared,
    cwd: "",
    wallMs: 2_000,
  } as const;
  expect(made.store.as("b", { type: "task_update", task: id, ...done }).ok).toBe(true);
  made.store.add("b", null, "made since");
  // Who worked on one of them ends: the store hears of it.
  made.own.do({ type: "session_end", session: "s1", incarnation: null, cause: "ended" });
  expect(unmoved(made.logs)).toEqual([[project, shared]]);
  await moveRest(made.logs, project, shared);
  expect(unmoved(made.logs)).toEqual([]);
  expect(made.tasks(made.store, shared)).toEqual([
    ...["of b pending", "first pending on late", "second pending on first", "lost failed"],
    ...["working pending", "made since pending"],
  ]);
  expect(task(made.store, id).state).toMatchObject({ status: "done", result: "by b" });
  expect(made.tasks(made.own, project)).toEqual([]);
});

test("a project for which the store has no room is not shared", async () => {
  const made = scene();
  const { contextBytes } = made.store.state.limits;
  const huge = { project: shared, key: "huge", value: "1", bytes: contextBytes - 1_000, durable: true };
  const set = { type: "context_set", actor: null, ...huge, ifVersion: null, ttlMs: null, wallMs: 5 } as const;
  expect(made.store.as("b", set).ok).toBe(true);
  made.set(command => made.own.do(command), "large", "x".repeat(1_000));
  await expect(shareProject(made.logs, project, shared)).rejects.toMatchObject({
    refusal: { code: "context_full" },
  });
  expect(isSharedAs(made.logs.own, project, shared)).toBe(false);
  expect(made.tasks(made.own, project)).toHaveLength(5);
});

test("a copy that breaks off at any entry runs again to the same end", async () => {
  const whole = scene();
  await shareProject(whole.logs, project, shared);
  const shareCount = whole.count;
  await takeBack(whole.logs, whole.outward);
  const leaveCount = whole.count - shareCount;
  expect([shareCount, leaveCount]).toEqual([expect.any(Number), expect.any(Number)]);
  for (const how of ["refused", "lost"] as const) {
    for (let at = 1; at <= shareCount; at += 1) {
      const made = scene();
      made.breakAt({ at, how });
      await shareProject(made.logs, project, shared).catch(refused);
      const { released } = await shareProject(made.logs, project, shared);
      expect([how, at, made.tasks(made.store, shared)]).toEqual([how, at, sharedTasks]);
      expect(released).toEqual([]);
      expect([how, at, made.context(made.store, shared)]).toEqual([how, at, sharedContext]);
      expect(made.tasks(made.own, project)).toEqual([]);
      expect(made.context(made.own, project)).toEqual({ passing: "p" });
    }
    for (let at = 1; at <= leaveCount; at += 1) {
      const made = scene();
      await shareProject(made.logs, project, shared);
      made.breakAt({ at, how });
      await takeBack(made.logs, made.outward).catch(refused);
      await takeBack(made.logs, made.outward);
      expect([how, at, made.tasks(made.own, project)]).toEqual([how, at, sharedTasks]);
      expect([how, at, made.context(made.own, project)]).toEqual([
        how,
        at,
        { ...sharedContext, passing: "p" },
      ]);
      expect(made.own.state.outbox.node).toBe("");
    }
  }
});

function task(world: World, id: string) {
  const found = world.state.tasks.all.get(id);
  if (found === undefined) throw new Error(`no task ${id}`);
  return found;
}

function refused(error: unknown): void {
  expect(error).toBeInstanceOf(CopyRefused);
}
