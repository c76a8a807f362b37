/** Projects that are copied to a store and back. */
import { describe, expect, test } from "vitest";
import type { Command, Reply } from "../../daemon/core/tables/entries.ts";
import { numberOf, type TaskUpdate } from "../../daemon/core/tables/tasks.ts";
import { CopyRefused } from "../../daemon/sharing/copy.ts";
import {
  isSharedAs,
  moveAll,
  moveRest,
  shareProject,
  takeBack,
  unmoved,
} from "../../daemon/sharing/share.ts";
import type { LeftOutField } from "../../protocol/schemas/store.ts";
import { project, Scene } from "./copy-world.ts";
import { actor, type World } from "./core-world.ts";
import { Local, shared } from "./nodes-world.ts";

// What is copied when a project is shared, and when a machine leaves its store; also where the copy ends anywhere.
describe("what is copied", () => {
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
    for (const [key, value] of Object.entries({ one: "1", same: "s", other: "mine" }))
      made.set(to, key, value);
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
    const set = {
      type: "context_set",
      actor: null,
      ...huge,
      ifVersion: null,
      ttlMs: null,
      wallMs: 5,
    } as const;
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
});

// A project that is shared anew after work here, and sessions that end during a move.
describe("a project that is shared anew", () => {
  test("what happened here between a leave and the next share goes along, with its claims", async () => {
    const made = new Scene();
    const { own, store } = made;
    own.begin("s1", { name: "alice" });
    const ids = ["claimed", "kept", "edited", "cancelled", "ended", "taken"].map(name => made.add(name));
    const [claimed = "", kept = "", edited = "", cancelled = "", ended = "", taken = ""] = ids;
    const claim = (task: string) => {
      const command = { actor: actor("s1"), task, labels: [], project, cwd: "", wallMs: 6_000 } as const;
      expect(own.do({ type: "task_claim", ...command }).ok).toBe(true);
    };
    claim(kept);
    await shareProject(made.logs, project, shared);
    await takeBack(made.logs, made.outward);
    expect(store.as("a", { type: "node_leave" }).ok).toBe(true);
    const change = { by: null, dependsOn: null, description: null, priority: null, labels: null } as const;
    const update = (task: string, what: object) =>
      own.do({
        ...{ type: "task_update", task, ...change, status: null, result: null },
        ...{ project, cwd: "", wallMs: 7_000, ...what },
      });
    claim(claimed);
    claim(taken);
    update(edited, { description: "edited here" });
    update(cancelled, { status: "failed", result: "not needed" });
    update(ended, { status: "done", result: "well" });
    made.add("after it", { dependsOn: [ended] });
    const desk = new Local("b");
    desk.begin("s9", { name: "bob" });
    store.take("b", desk);
    expect(store.claim("b", desk.idOf("s9"), taken).ok).toBe(true);
    store.join("a", "laptop");
    const { released, tasks } = await shareProject(made.logs, project, shared);
    expect(released).toEqual([taken]);
    expect(tasks).toBe(1);
    expect(made.tasks(store, shared)).toEqual([
      ...["claimed active by s1", "kept active by s1", "edited here pending", "cancelled failed"],
      ...["taken active by s9", "after it pending on ended"],
    ]);
    expect(store.state.tasks.all.get(ended)?.state).toMatchObject({ status: "done", result: "well" });
    expect(made.tasks(own, project)).toEqual([]);
  });

  /** Two machines that shared tasks of these names, of which the first has left. */
  async function left(names: readonly string[]) {
    const made = new Scene();
    const { own, store, logs } = made;
    own.begin("s1", { name: "alice" });
    const ids = names.map(name => made.add(name));
    for (const [key, value] of Object.entries({ same: "0", mine: "0", theirs: "0", both: "0" }))
      made.set(command => own.do(command), key, value);
    await shareProject(logs, project, shared);
    await takeBack(logs, made.outward);
    expect(store.as("a", { type: "node_leave" }).ok).toBe(true);
    const desk = new Local("b");
    desk.begin("s9", { name: "bob" });
    store.take("b", desk);
    const change = { by: null, dependsOn: null, description: null, priority: null, labels: null } as const;
    const none = { ...change, type: "task_update", status: null, result: null, cwd: "" } as const;
    return {
      ...{ made, own, store, ids, desk },
      here(task: string, what: Partial<TaskUpdate>, wallMs = 7_000) {
        expect(own.do({ ...none, task, project, wallMs, ...what })).toMatchObject({ ok: true });
      },
      there(task: string, what: Partial<TaskUpdate>, wallMs = 8_000) {
        const update = { ...none, task, project: shared, wallMs, ...what };
        expect(store.as("b", update)).toMatchObject({ ok: true });
      },
      again() {
        store.join("a", "laptop");
        return shareProject(logs, project, shared);
      },
      /** What another machine does with a task that nobody needs. */
      remove(task: string) {
        const end = { status: "failed", result: "not needed" } as const;
        expect(store.as("b", { ...none, task, project: shared, wallMs: 8_000, ...end })).toMatchObject({
          ok: true,
        });
        expect(store.as("b", { type: "task_remove", by: null, tasks: [task] })).toMatchObject({ ok: true });
      },
      /** Leaves once more. */
      async leave() {
        await takeBack(logs, made.outward);
        expect(store.as("a", { type: "node_leave" })).toMatchObject({ ok: true });
      },
      of(task: string) {
        const found = store.state.tasks.all.get(task);
        if (found === undefined) throw new Error(`no task ${task}`);
        return found;
      },
    };
  }

  test("of a task that changed here and there each field counts that one side changed", async () => {
    const { made, here, there, again, of, ids, store, desk } = await left([
      "claimed",
      "edited",
      "sets",
      "need",
    ]);
    const [claimed = "", edited = "", sets = "", need = ""] = ids;
    here(claimed, { description: "claimed there, written here" });
    expect(store.claim("b", desk.idOf("s9"), claimed).ok).toBe(true);
    here(edited, { description: "written here", labels: ["x", "here"] });
    there(edited, { priority: "high", labels: ["there", "x"] });
    here(sets, { labels: ["y"], dependsOn: [need], status: "failed", result: "not so" });
    there(sets, { description: "written there", labels: ["x", "z"] });
    const { leftOut, released } = await again();
    expect([leftOut, released]).toEqual([[], []]);
    expect(of(claimed)).toMatchObject({
      description: "claimed there, written here",
      state: { status: "active" },
    });
    expect(of(edited)).toMatchObject({ description: "written here", priority: "high" });
    expect(of(edited).labels).toEqual(["there", "x", "here"]);
    const ended = { status: "failed", reason: "not so" };
    expect(of(sets)).toMatchObject({ description: "written there", dependsOn: [need], state: ended });
    expect(of(sets).labels).toEqual(["z", "y"]);
    expect(made.tasks(made.own, project)).toEqual([]);
  });

  test("what both sides changed stays as it is in the store, and is named", async () => {
    const { here, there, again, of, ids, store, desk, own, made } = await left(["a", "b", "c", "d", "e"]);
    const [text = "", busy = "", done = "", twice = "", mine = ""] = ids;
    here(text, { description: "of here", priority: "low" }, 9_000);
    there(text, { description: "of there", labels: [] });
    here(busy, { status: "done", result: "done here" });
    expect(store.claim("b", desk.idOf("s9"), busy).ok).toBe(true);
    here(done, { status: "failed", result: "not needed" });
    there(done, { status: "done", result: "done there" });
    here(twice, { status: "done", result: "one way" });
    there(twice, { status: "done", result: "another way" });
    const claim = { actor: actor("s1"), task: mine, labels: [], project, cwd: "", wallMs: 7_000 } as const;
    expect(own.do({ type: "task_claim", ...claim }).ok).toBe(true);
    there(mine, { status: "done", result: "done there" });
    const { leftOut, released } = await again();
    const row = (task: string, field: LeftOutField, text: string) => {
      const number = numberOf(of(task));
      return { task, number, fields: [field], kept: [`task/${number}/${text}@laptop`] };
    };
    expect([...leftOut].sort((a, b) => a.number - b.number)).toEqual([
      row(text, "description", "description"),
      row(busy, "status", "result"),
      row(done, "status", "result"),
      row(twice, "result", "result"),
    ]);
    // No text that was here is lost.
    expect([...made.texts()].sort()).toEqual(["done here", "not needed", "of here", "one way"]);
    expect(released).toEqual([mine]);
    expect(of(text)).toMatchObject({ description: "of there", priority: "low", labels: [] });
    expect(of(busy).state).toMatchObject({ status: "active" });
    expect(of(done).state).toMatchObject({ status: "done", result: "done there" });
    expect(made.tasks(own, project)).toEqual([]);
  });

  test("a task that had failed, and is done here, is done", async () => {
    const { here, again, of, there, ids, made } = await left(["one", "two"]);
    const [one = "", two = ""] = ids;
    // They fail while they are shared, and come along at a second leave.
    await again();
    for (const task of ids) there(task, { status: "failed", result: "no" });
    await takeBack(made.logs, made.outward);
    expect(made.store.as("a", { type: "node_leave" }).ok).toBe(true);
    here(one, { status: "pending" });
    here(one, { status: "done", result: "at last" });
    here(two, { status: "pending" });
    const { leftOut } = await again();
    expect(leftOut).toEqual([]);
    expect(of(one).state).toMatchObject({ status: "done", result: "at last" });
    expect(of(two).state.status).toBe("pending");
  });

  test("a task that was done here and is open in the store is back after the next leave", async () => {
    const { here, again, of, there, ids, made, own } = await left(["one"]);
    const [one = ""] = ids;
    here(one, { status: "done", result: "well" });
    await again();
    there(one, { status: "pending" }, 9_000);
    expect(of(one).state.status).toBe("pending");
    await takeBack(made.logs, made.outward);
    expect(made.tasks(own, project)).toEqual(["one pending"]);
  });

  test("a value that one side changed counts, and of both that of here is kept aside", async () => {
    const { made, again, own, store } = await left([]);
    for (const key of ["mine", "both"]) made.set(command => own.do(command), key, "here");
    for (const key of ["theirs", "both"]) made.set(command => store.as("b", command), key, "there", shared);
    const { keys } = await again();
    expect(keys).toEqual([{ key: "both", as: "both@laptop" }]);
    expect(made.context(store, shared)).toEqual({
      ...{ same: "0", mine: "here", theirs: "there", both: "there", "both@laptop": "here" },
    });
  });

  test("a value that both sides changed is kept also under the longest key, and never removed for want of one", async () => {
    const { made, again, own, store } = await left([]);
    const [long, other] = [`${"é".repeat(99)}ab`, `${"é".repeat(99)}cd`];
    const full = Array.from({ length: 20 }, (_, i) => `port@laptop${i === 0 ? "" : `-${i + 1}`}`);
    const here = (key: string, value: string) => made.set(command => own.do(command), key, value);
    const there = (key: string, value: string) =>
      made.set(command => store.as("b", command), key, value, shared);
    for (const key of [long, other]) here(key, `${key.slice(-2)} here`);
    for (const key of [long, other, ...full]) there(key, "there");
    for (const set of [here, there]) set("port", set === here ? "here" : "there");
    await expect(again()).rejects.toThrow("port@laptop and all like it are taken; a person deletes");
    expect(made.context(own, project)).toMatchObject({ port: "here", [long]: "ab here" });
    const rm = { actor: null, project: shared, key: "port@laptop-7", ifVersion: null } as const;
    expect(store.as("b", { type: "context_delete", ...rm })).toMatchObject({ ok: true });
    const { keys } = await again();
    const asides = [`${"é".repeat(96)}@laptop`, `${"é".repeat(95)}@laptop-2`, "port@laptop-7"];
    expect(new Set(keys.map(({ as }) => as))).toEqual(new Set(asides));
    const values = made.context(store, shared);
    for (const { key, as } of keys)
      expect(values[as]).toBe(key === "port" ? "here" : `${key.slice(-2)} here`);
    expect(made.context(own, project)).toEqual({});
  });

  test("a task of which nobody knows how it was keeps what the store has, and says so", async () => {
    const { made, here, there, again, of, ids, own } = await left(["imported", "ended"]);
    const [imported = "", ended = ""] = ids;
    // As if this machine had them from a file of exported tasks.
    made.records.put(project, null);
    here(imported, { description: "of here", labels: ["x", "more"] });
    here(ended, { status: "done", result: "well" });
    there(imported, { priority: "low" });
    const { leftOut } = await again();
    expect(leftOut).toEqual([
      {
        ...{ task: imported, number: numberOf(of(imported)), fields: ["description", "priority"] },
        kept: [expect.stringMatching(/^task\/\d+\/description@laptop$/)],
      },
    ]);
    expect(made.texts()).toEqual(["of here"]);
    expect(of(imported)).toMatchObject({ description: "imported", priority: "low", labels: ["x", "more"] });
    expect(of(ended).state).toMatchObject({ status: "done", result: "well" });
    expect(made.tasks(own, project)).toEqual([]);
  });

  test("the result of a task that the store refuses is kept, and a result is brought that changed here alone", async () => {
    const { made, here, there, again, of, ids, store, leave } = await left([
      "blocked",
      "why",
      "both",
      "moved",
    ]);
    const [blocked = "", why = "", both = "", moved = ""] = ids;
    await again();
    for (const task of [why, both, moved]) there(task, { status: "failed", result: "no" });
    await leave();
    const need = store.add("b", null, "need");
    there(blocked, { dependsOn: [need] });
    here(blocked, { status: "done", result: "well, here" });
    here(why, { result: "no, since it rains" });
    here(both, { result: "no, of here" });
    there(both, { result: "no, of there" });
    here(moved, { result: "moved, of here" });
    there(moved, { status: "pending" });
    const { leftOut } = await again();
    const named = new Map(leftOut.map(({ task, fields }) => [task, fields]));
    expect(named).toEqual(
      new Map([
        [blocked, ["status"]],
        [both, ["result"]],
        [moved, ["result"]],
      ]),
    );
    expect(made.texts()).toEqual(["well, here", "no, of here", "moved, of here"]);
    expect(of(why).state).toMatchObject({ status: "failed", reason: "no, since it rains" });
    expect(of(both).state).toMatchObject({ status: "failed", reason: "no, of there" });
    expect(of(moved).state.status).toBe("pending");
  });

  test("a reason that the store has anew stays, and what is done here meanwhile is kept", async () => {
    const { made, here, there, again, of, ids, leave } = await left(["one"]);
    const [one = ""] = ids;
    await again();
    there(one, { status: "failed", result: "no" });
    await leave();
    here(one, { status: "pending" });
    here(one, { status: "done", result: "at last" });
    there(one, { result: "no, and here is why" });
    const { leftOut } = await again();
    expect(leftOut).toMatchObject([{ task: one, fields: ["status"] }]);
    expect(of(one).state).toMatchObject({ status: "failed", reason: "no, and here is why" });
    expect(made.texts()).toEqual(["at last"]);
  });

  test("what was done before a machine left, and is open in the store since, stays open", async () => {
    const { made, here, there, again, of, ids, leave } = await left(["one", "two", "twice"]);
    const [one = "", two = "", twice = ""] = ids;
    for (const task of ids) here(task, { status: "done", result: "well" });
    there(twice, { status: "done", result: "another way" });
    expect((await again()).leftOut).toMatchObject([{ task: twice, fields: ["result"] }]);
    await leave();
    there(one, { status: "pending" });
    there(two, { result: "well, and of there" });
    const { leftOut } = await again();
    // What was left out once is not named at each share.
    expect([leftOut, made.texts()]).toEqual([[], ["well"]]);
    expect(of(twice).state).toMatchObject({ status: "done", result: "another way" });
    expect(of(one).state.status).toBe("pending");
    expect(of(two).state).toMatchObject({ status: "done", result: "well, and of there" });
  });

  test("a text that is kept has a key of its own, and one that finds none ends the share before anything goes", async () => {
    const { made, here, there, again, of, ids, store, own, leave } = await left(["one"]);
    const [one = ""] = ids;
    const key = `task/${numberOf(of(one))}/description@laptop`;
    const taken = Array.from({ length: 19 }, (_, i) => `${key}${i === 0 ? "" : `-${i + 1}`}`);
    for (const one of taken) made.set(command => store.as("b", command), one, "of somebody", shared);
    here(one, { description: "of here" });
    there(one, { description: "of there" });
    const { leftOut } = await again();
    expect(leftOut).toMatchObject([{ kept: [`${key}-20`] }]);
    await leave();
    here(one, { description: "of here again" });
    there(one, { description: "of there again" });
    await expect(again()).rejects.toThrow(`${key} and all like it are taken`);
    expect(made.tasks(own, project)).toEqual(["of here again pending"]);
    const rm = { actor: null, project: shared, key, ifVersion: null } as const;
    expect(store.as("b", { type: "context_delete", ...rm })).toMatchObject({ ok: true });
    expect((await again()).leftOut).toMatchObject([{ kept: [key] }]);
    expect(made.texts()).toContain("of here again");
  });

  test("what the store does not have any more comes back, and is named if it had it as this machine left", async () => {
    const { made, again, ids, store, own, remove, of, here } = await left(["gone", "ended", "changed"]);
    const [gone = "", ended = "", changed = ""] = ids;
    const fresh = made.add("made here");
    made.set(command => own.do(command), "fresh", "0");
    for (const task of ids) remove(task);
    here(changed, { description: "changed here" });
    here(ended, { status: "done", result: "well" });
    for (const key of ["same", "mine"]) {
      const rm = { actor: null, project: shared, key, ifVersion: null } as const;
      expect(store.as("b", { type: "context_delete", ...rm })).toMatchObject({ ok: true });
    }
    made.set(command => own.do(command), "mine", "here");
    const { returns, tasks } = await again();
    expect(returns).toEqual([
      { task: gone, number: numberOf(of(gone)) },
      { task: changed, number: numberOf(of(changed)) },
      { key: "mine" },
      { key: "same" },
    ]);
    expect(tasks).toBe(3);
    expect(store.state.tasks.all.has(fresh)).toBe(true);
    expect(made.context(store, shared)).toMatchObject({ same: "0", mine: "here", fresh: "0" });
  });

  test("a session that ends during a move gives back its own task alone", async () => {
    for (const isKnownHere of [true, false]) {
      const made = new Scene();
      const { own, store } = made;
      const [one = "", two = ""] = ["one", "two"].map(name => made.add(name));
      for (const [id, name, task] of [
        ["s1", "alice", one],
        ["s2", "carl", two],
      ] as const) {
        own.begin(id, { name });
        const claim = { actor: actor(id), task, labels: [], project, cwd: "", wallMs: 6_000 } as const;
        expect(own.do({ type: "task_claim", ...claim }).ok).toBe(true);
      }
      const { logs } = made;
      const ended: Reply = { ok: false, code: "session_ended", error: "the session has ended" };
      const submitAndWait = async (command: Command): Promise<Reply> => {
        if (isKnownHere) {
          own.do({ type: "session_end", session: "s2", incarnation: null, cause: "ended" });
          store.take("a", own);
        } else if (JSON.stringify(command).includes(own.idOf("s2"))) return ended;
        return logs.shared.submitAndWait(command);
      };
      const both = { ...logs, shared: { ...logs.shared, submitAndWait } };
      const { released } = await shareProject(both, project, shared);
      expect(made.tasks(store, shared)).toEqual(["one active by s1", "two pending"]);
      expect(released).toEqual([two]);
    }
  });
});

// What an agent hears of a task that it works on when its project moves between the logs, also where the daemon is killed.
describe("a task that gets another number", () => {
  /** An agent that works on task 1 of a project; in the store another machine has a task of this number. */
  class Claimed extends Scene {
    readonly desk = new Local("b");
    readonly task: string;

    constructor() {
      super();
      const { own, store, desk } = this;
      own.begin("s1", { name: "alice" });
      this.task = this.add("beta");
      this.add("gamma");
      expect(this.claim()).toMatchObject({ ok: true });
      desk.begin("s9", { name: "bob" });
      store.take("b", desk);
      store.add("b", null, "alpha");
    }

    claim() {
      const where = { task: this.task, labels: [], project, cwd: "", wallMs: 7_000 };
      return this.own.do({ type: "task_claim", actor: actor("s1"), ...where });
    }

    numberIn({ state }: World): number {
      const task = state.tasks.all.get(this.task);
      return task === undefined ? 0 : numberOf(task);
    }

    get letters(): readonly string[] {
      return [...this.own.state.messages.all.values()].map(({ text, letters }) => {
        expect([...letters.values()].map(({ to }) => to.id)).toEqual(["s1"]);
        return text;
      });
    }
  }

  const isShared = 'Kite: task #1 "beta" of yours is #2 now: this project is shared with other machines now.';

  test("its number in the store, once, wherever the daemon is killed", async () => {
    let isOver = false;
    for (let at = 1; !isOver; at += 1) {
      const made = new Claimed();
      made.breakAt({ at, how: "lost", isKill: true });
      await shareProject(made.logs, project, shared).catch(refused);
      isOver = !made.isDead;
      made.revive();
      if (!isSharedAs(made.own, project, shared)) continue;
      await moveAll(made.logs, () => {});
      expect(made.numberIn(made.store)).toBe(2);
      expect([at, made.letters]).toEqual([at, [`${isShared} Use #2 from now on.`]]);
    }
  });

  test("its number here when the machine leaves, and when it shares again", async () => {
    const made = new Claimed();
    await shareProject(made.logs, project, shared);
    made.store.as("a", claimOf(made));
    await takeBack(made.logs, made.outward);
    const back = made.numberIn(made.own);
    const gone = `Kite: task #2 "beta" of yours is #${back} now: this project is no longer shared with other machines.`;
    expect(made.letters.slice(1)).toEqual(back === 2 ? [] : [`${gone} Use #${back} from now on.`]);
    expect(made.letters).toHaveLength(back === 2 ? 1 : 2);
    const before = made.letters.length;
    await shareProject(made.logs, project, shared);
    expect(made.letters).toHaveLength(back === 2 ? before : before + 1);
  });

  test("nothing of a leave that did not come to its end", async () => {
    for (let at = 1; ; at += 1) {
      const made = new Claimed();
      await shareProject(made.logs, project, shared);
      made.breakAt({ at, how: "lost", isKill: true });
      await takeBack(made.logs, made.outward).catch(refused);
      if (!isSharedAs(made.own, project, shared)) break;
      expect([at, made.letters]).toEqual([at, [`${isShared} Use #2 from now on.`]]);
    }
  });

  test("of the end of a leave in one batch with it", async () => {
    const made = new Claimed();
    await shareProject(made.logs, project, shared);
    const { own } = made.logs;
    let isWaiting = false;
    const during: string[] = [];
    const slow = {
      ...own,
      submitAndWait: async (command: Command) => {
        if (isWaiting) during.push(command.type);
        if (command.type !== "sharing_set") return own.submitAndWait(command);
        isWaiting = true;
        const reply = await own.submitAndWait(command);
        await new Promise(resolve => setImmediate(resolve));
        isWaiting = false;
        return reply;
      },
    };
    await takeBack({ ...made.logs, own: slow }, made.outward);
    const back = made.numberIn(made.own);
    expect(during).toEqual(back === 2 ? [] : ["message_import"]);
  });

  test("that another machine has it, where both claimed it while this one had left", async () => {
    const made = new Claimed();
    await shareProject(made.logs, project, shared);
    await takeBack(made.logs, made.outward);
    made.store.as("a", { type: "node_leave" });
    expect(made.store.claim("b", made.desk.idOf("s9"), made.task)).toMatchObject({ ok: true });
    made.store.join("a", "laptop");
    const before = made.letters.length;
    const { released } = await shareProject(made.logs, project, shared);
    expect(released).toEqual([made.task]);
    const took = "is no longer yours: bob@desk took it in the store that this project is shared through now.";
    expect(made.letters.slice(before)).toEqual([
      `Kite: task #2 "beta" ${took} Look at it again before you go on with it.`,
    ]);
  });

  function claimOf(made: Claimed): Command {
    const where = { task: made.task, labels: [], project: shared, cwd: "", wallMs: 7_000 };
    return { type: "task_claim", actor: actor(made.own.idOf("s1")), ...where };
  }

  function refused(error: unknown): void {
    expect(error).toBeInstanceOf(CopyRefused);
  }
});
