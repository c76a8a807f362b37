/** A project that is shared anew after work here, and sessions that end during a move. */
import { expect, test } from "vitest";
import type { Command, Reply } from "../../daemon/core/tables/entries.ts";
import type { TaskUpdate } from "../../daemon/core/tables/tasks.ts";
import { numberOf } from "../../daemon/core/tables/tasks.ts";
import { shareProject, takeBack } from "../../daemon/sharing/share.ts";
import type { LeftOutField } from "../../protocol/schemas/store.ts";
import { project, Scene } from "./copy-world.ts";
import { actor } from "./core-world.ts";
import { Local, shared } from "./nodes-world.ts";

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
  for (const { key, as } of keys) expect(values[as]).toBe(key === "port" ? "here" : `${key.slice(-2)} here`);
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
  const { made, here, there, again, of, ids, store, leave } = await left(["blocked", "why", "both", "moved"]);
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
