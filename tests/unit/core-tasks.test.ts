/** Tasks, their states and their numbers. */
import { beforeEach, describe, expect, it } from "vitest";
import { apply } from "../../daemon/core/apply.ts";
import { check } from "../../daemon/core/slices.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { Command, Reply } from "../../daemon/core/tables/entries.ts";
import { claimerOf, latestFinished, type TaskImport } from "../../daemon/core/tables/tasks.ts";
import { limits } from "../../protocol/limits.ts";
import type { TaskStatus } from "../../protocol/schemas/task.ts";
import { bounded } from "./core-world.ts";
import { claimOf, createOf, project, releaseOf, TaskWorld, updateOf } from "./task-world.ts";

describe("tasks", () => {
  let w: TaskWorld;

  beforeEach(() => {
    w = new TaskWorld();
    w.begin("ann");
    w.begin("bob");
  });

  /** Applies without looking at every invariant after it: for many, or for what is made up. */
  function run(command: Command): Reply | null {
    const seq = w.state.seq + 1;
    return apply(w.state, { seq, at: w.now, origin: w.origin(seq), command }).reply;
  }

  function set(who: string | null, task: string, status: TaskStatus, result: string | null = null) {
    return w.do(updateOf(who, w.id(task), { status, result }));
  }

  describe("to create", () => {
    it("answers one task with all that is known of it", () => {
      const reply = w.do(
        createOf([{ description: "write", priority: "high", labels: ["db"] }], "ann", 1_700_000_000_000),
      );
      expect(reply).toEqual({
        ok: true,
        task: {
          id: "t-loyw3v28-1",
          description: "write",
          project: "/p",
          priority: "high",
          status: "pending",
          assignee: null,
          assigneeAgent: null,
          assigneeName: null,
          labels: ["db"],
          dependsOn: [],
          blockedBy: [],
          createdBy: "ann",
          createdAt: 1_700_000_000_000,
          updatedAt: 1_700_000_000_000,
          result: null,
          attempts: 0,
          debate: null,
          risk: "green",
          approved: false,
          held: null,
          number: 1,
        },
      });
      expect(w.events).toEqual(["task_created write", "task_ready write"]);
    });

    it("takes several at once that depend on each other by name, in any order", () => {
      w.create(
        { description: "page", dependsOn: ["api"] },
        { description: "api", dependsOn: ["schema"] },
        "schema",
      );
      expect(w.board).toEqual({ page: "blocked", api: "blocked", schema: "ready" });
      expect(w.events).toEqual([
        "task_created page",
        "task_created api",
        "task_created schema",
        "task_ready schema",
      ]);
    });

    it("takes dependencies by the beginning of an id", () => {
      const [one = ""] = w.create("one");
      expect(w.do(createOf([{ description: "two", dependsOn: [one.slice(0, -1)] }]))).toMatchObject({
        ok: true,
        task: { dependsOn: [one], blockedBy: [{ task: one, status: "pending" }] },
      });
    });

    it.each([
      ["an unknown dependency", [{ description: "a", dependsOn: ["t-9-9"] }], "unknown_task"],
      [
        "two of one name",
        [
          { description: "a", name: "n" },
          { description: "b", name: "n" },
        ],
        "invalid_request",
      ],
      [
        "a cycle",
        [
          { description: "a", name: "a", dependsOn: ["b"] },
          { description: "b", name: "b", dependsOn: ["c"] },
          { description: "c", name: "c", dependsOn: ["a"] },
        ],
        "task_cycle",
      ],
      ["one that depends on itself", [{ description: "a", name: "a", dependsOn: ["a"] }], "task_cycle"],
    ])("refuses %s, and creates none of them", (_what, tasks, code) => {
      expect(w.do(createOf([{ description: "fine" }, ...tasks]))).toMatchObject({ ok: false, code });
      expect(w.state.tasks.all.size).toBe(0);
    });

    it("names the cycle by the path around it", () => {
      const cycle = ["a", "b", "c"].map((name, i, all) => {
        return { description: name, name, dependsOn: [all[(i + 1) % 3] ?? ""] };
      });
      expect(w.do(createOf(cycle))).toMatchObject({
        error: "a would depend on itself: a → b → c → a; leave one of these dependencies out",
        cycle: ["a", "b", "c", "a"],
      });
    });

    it("gives no id twice, whatever was imported", () => {
      const old = {
        id: "t-0-2",
        project: "/p",
        createdAt: 0,
        updatedAt: 0,
        priority: "low",
        labels: [],
      } as const;
      const rest = { description: "old", dependsOn: [], attempts: 0, state: { status: "pending" } } as const;
      w.do({ type: "task_import", by: null, tasks: [{ ...old, ...rest }] });
      expect(w.create("new", "newer", "newest")).toEqual(["t-0-3", "t-0-4", "t-0-5"]);
    });

    it("counts per project, and gives no id of one project to another", () => {
      const of = (project: string, wallMs: number) =>
        w.do({ ...createOf([{ description: `in ${project}` }], null, wallMs), project } as Command);
      const ids = [of("/p", 7), of("/q", 7), of("/q", 7), of("/r", 5), of("/p", 7), of("/r", 40)];
      expect(ids.map(reply => (reply as { task?: { id: string } }).task?.id)).toEqual([
        "t-7-1",
        "t-8-1",
        "t-8-2",
        "t-9-1",
        "t-9-2",
        "t-14-2",
      ]);
    });

    it("gives the number of a removed task to no other, also after a start", () => {
      w.create("one", "two");
      set(null, "two", "done");
      w.do({ type: "task_remove", by: null, tasks: ["2"], project: "/p" });
      expect(w.create("three")).toEqual(["t-0-3"]);
      const again = readState(writeState(w.state));
      const { reply } = apply(again, {
        seq: w.state.seq + 1,
        at: w.now,
        origin: w.origin(1),
        command: createOf([{ description: "four" }]),
      });
      expect(reply).toMatchObject({ task: { id: "t-0-4" } });
    });

    it("counts on behind all tasks if a snapshot does not say how far a project came", () => {
      w.create("one", "two");
      const [head = "", ...rest] = writeState(w.state).split("\n");
      const { taskNumbers: _a, taskNumbersFrom: _b, taskStamp: _c, ...old } = JSON.parse(head);
      const state = readState([JSON.stringify(old), ...rest].join("\n"));
      const command = createOf([{ description: "three" }]);
      const entry = { seq: w.state.seq + 1, at: w.now, origin: w.origin(1), command };
      expect(apply(state, entry).reply).toMatchObject({ task: { id: "t-0-3" } });
    });

    it("does once what is sent again under one requestId", () => {
      const command = createOf([{ description: "once" }]);
      const again = { ...command, retry: { by: "ann", requestId: "r", digest: "d" } };
      const first = w.do(again);
      w.pass(1000);
      expect(w.do(again)).toEqual(first);
      expect(w.state.tasks.all.size).toBe(1);
    });
  });

  describe("to find", () => {
    it("takes what begins one id alone, lists the matches of several, and guesses at none", () => {
      w.create("one", "two");
      expect(w.do(claimOf("ann", "t-0-1"))).toMatchObject({ ok: true, task: { description: "one" } });
      expect(w.do(claimOf("ann", "t-0"))).toMatchObject({
        code: "ambiguous_task",
        error: "several tasks begin with t-0: t-0-1, t-0-2; give more of the id",
        matches: ["t-0-1", "t-0-2"],
      });
      expect(w.do(claimOf("ann", "t-O-2"))).toMatchObject({
        code: "unknown_task",
        error: "no task t-O-2; did you mean t-0-2?",
        nearest: "t-0-2",
      });
      expect(w.do(claimOf("ann", "something else"))).toMatchObject({ code: "unknown_task", nearest: null });
    });

    it("takes less than a whole id within the project alone", () => {
      w.create("one", "two");
      const other = { ...createOf([{ description: "theirs" }]), project: "/q" } as Command;
      expect(w.do(other)).toMatchObject({ task: { id: "t-1-1" } });
      const elsewhere = { ...updateOf(null, "2", { status: "failed" }), project: "/q" } as Command;
      expect(w.do(elsewhere)).toMatchObject({
        code: "unknown_task",
        error:
          "no task 2 in this project; kite task list shows them; a task of another project needs its whole id",
      });
      expect(w.do({ ...elsewhere, task: "t-0" } as Command)).toMatchObject({ code: "unknown_task" });
      expect(w.do({ ...elsewhere, task: "1" } as Command)).toMatchObject({ task: { description: "theirs" } });
      expect(w.do({ ...elsewhere, task: "t-0-2" } as Command)).toMatchObject({
        task: { description: "two" },
      });
      expect(w.do(releaseOf(null, "1"))).toMatchObject({ code: "unknown_task" });
      expect(w.do(createOf([{ description: "needs", dependsOn: ["t-1-1"] }]))).toMatchObject({ ok: true });
    });

    it("takes the last part of an id alone, where that says which", () => {
      w.create("one", "two");
      expect(w.do(claimOf("ann", "2"))).toMatchObject({ ok: true, task: { description: "two" } });
      const old = {
        id: "t-lk0-1",
        project: "/p",
        createdAt: 0,
        updatedAt: 0,
        priority: "low",
        labels: [],
      } as const;
      const rest = { description: "old", dependsOn: [], attempts: 0, state: { status: "pending" } } as const;
      w.do({ type: "task_import", by: null, tasks: [{ ...old, ...rest }] });
      expect(w.do(claimOf("ann", "1"))).toMatchObject({
        error: "several tasks end with 1: t-0-1, t-lk0-1; give more of the id",
      });
      expect(w.do(claimOf("ann", "9"))).toMatchObject({ code: "unknown_task" });
    });

    it("takes a whole id although others begin with it", () => {
      w.create(...Array.from({ length: 40 }, (_, n) => `task ${n + 1}`));
      expect(w.do(claimOf("ann", "t-0-1"))).toMatchObject({ ok: true, task: { description: "task 1" } });
      expect(w.do(releaseOf("ann", "t-0-1"))).toMatchObject({ ok: true });
      expect(w.do(claimOf("ann", "t-0-"))).toMatchObject({ error: expect.stringContaining(" and more; ") });
    });
  });

  describe("a claim", () => {
    it("is of the best ready task: by priority, then by age", () => {
      w.create({ description: "low", priority: "low" }, "old", "young", {
        description: "high",
        priority: "high",
      });
      w.create({ description: "blocked", priority: "high", dependsOn: [w.id("low")] });
      const order = Array.from({ length: 4 }, () => w.do(claimOf("ann")));
      expect(order.map(reply => (reply.ok ? reply["task"] : null))).toMatchObject([
        { description: "high", status: "active", assignee: "ann", assigneeName: "ann" },
        { description: "old" },
        { description: "young" },
        { description: "low" },
      ]);
      expect(w.do(claimOf("bob"))).toMatchObject({
        code: "no_ready_task",
        error: "no task of /p is ready; 1 blocked and 4 active in all",
      });
    });

    it("takes those that have all labels", () => {
      w.create({ description: "a", labels: ["web"] }, { description: "b", labels: ["web", "db"] }, "c");
      expect(w.do(claimOf("ann", null, ["db", "web"]))).toMatchObject({ task: { description: "b" } });
      expect(w.do(claimOf("ann", null, ["db"]))).toMatchObject({ code: "no_ready_task" });
      expect(w.do(claimOf("ann", null, ["web"]))).toMatchObject({ task: { description: "a" } });
    });

    it("is one alone: a second one is refused, the same one again is fine", () => {
      const [id = ""] = w.create("it");
      expect(w.do(claimOf("ann", id))).toMatchObject({ ok: true });
      expect(w.do(claimOf("ann", id))).toMatchObject({ ok: true });
      expect(w.events).toEqual([]);
      const error = `ann works on ${id}; claim another one, or ask them`;
      expect(w.do(claimOf("bob", id))).toMatchObject({ code: "task_claimed", error, assignee: "ann" });
      expect(w.do(updateOf("bob", id, { status: "active" }))).toMatchObject({ code: "task_claimed" });
      const agent = { session: "ann", agent: "helper", incarnation: 0 };
      expect(w.do(claimOf(agent, id))).toMatchObject({ code: "task_claimed" });
    });

    it("of a blocked task is refused as published, by claim and by update", () => {
      const [one, two, three = ""] = w.create("one", "two", {
        description: "three",
        dependsOn: ["one", "two"],
      });
      const error = `blocked by unfinished dependencies: ${one}, ${two}`;
      expect(w.do(claimOf("ann", three))).toMatchObject({ code: "task_blocked", error });
      expect(w.do(updateOf("ann", three, { status: "active" }))).toMatchObject({ error });
      expect(w.do(updateOf("ann", three, { status: "done" }))).toMatchObject({ error });
    });

    it("by an id that nobody registered makes a session of it", () => {
      w.create("it");
      expect(w.do(claimOf("carl"))).toMatchObject({ ok: true, task: { assignee: "carl" } });
      expect(w.state.sessions.live.has("carl")).toBe(true);
    });

    it("by a session that has ended is refused", () => {
      w.create("it");
      w.do({ type: "session_end", session: "ann", incarnation: null, cause: "deregistered" });
      expect(w.do(claimOf("ann"))).toMatchObject({ code: "session_ended" });
    });

    it("is given back by who has it, or by a person; not by others", () => {
      const [id = ""] = w.create("it");
      expect(w.do(releaseOf("ann", id))).toMatchObject({ code: "task_state" });
      w.do(claimOf("ann"));
      expect(w.do(releaseOf("bob", id))).toMatchObject({ code: "task_claimed" });
      expect(w.do(releaseOf("ann", id))).toMatchObject({
        ok: true,
        task: { status: "pending", attempts: 0 },
      });
      expect(w.events).toEqual(["task_released it", "task_ready it"]);
      w.do(claimOf("bob"));
      expect(w.do(releaseOf(null, id))).toMatchObject({ ok: true });
    });
  });

  describe("the end of a session", () => {
    it("gives its tasks back, and after three attempts ends them", () => {
      w.create("it");
      for (const attempts of [1, 2]) {
        w.begin("cyd");
        w.do(claimOf("cyd"));
        w.do({ type: "session_end", session: "cyd", incarnation: null, cause: "anchor_gone" });
        expect(w.task("it")).toMatchObject({ attempts, state: { status: "pending" } });
        expect(w.events).toContain("task_released it");
      }
      w.begin("cyd");
      w.do(claimOf("cyd"));
      w.do({ type: "session_end", session: "cyd", incarnation: null, cause: "anchor_gone" });
      expect(w.task("it")).toMatchObject({ attempts: 3, state: { status: "failed", by: { id: "cyd" } } });
      expect(w.events).toContain("task_failed it");
      // A person looks at it: it has all its attempts again.
      set(null, "it", "pending");
      expect(w.task("it").attempts).toBe(0);
    });

    it("ends the claims of one terminal alone where another one goes on", () => {
      w.begin("cyd", { anchor: { pid: 1, startTime: "1" } });
      w.begin("cyd", { anchor: { pid: 2, startTime: "1" } });
      w.create("first", "second");
      w.do(claimOf({ session: "cyd", agent: null, incarnation: 0 }));
      w.do(claimOf({ session: "cyd", agent: null, incarnation: 1 }));
      w.do({ type: "session_end", session: "cyd", incarnation: 0, cause: "anchor_gone" });
      expect(w.board).toEqual({ first: "ready", second: "active" });
    });

    it("comes for a lost one after a day, no sooner", () => {
      w.create("it");
      w.do(claimOf("ann"));
      w.do({ type: "session_lost", session: "ann", begun: w.state.sessions.live.get("ann")?.begun ?? 0 });
      w.pass(limits.lostMs - 1);
      expect(w.board).toEqual({ it: "active" });
      w.pass(1);
      expect(w.board).toEqual({ it: "ready" });
    });

    it("leaves its tasks to the session that its process goes on under", () => {
      const anchor = { pid: 1, startTime: "1" };
      w.begin("cyd", { anchor });
      w.create("it");
      w.do(claimOf("cyd"));
      w.do({ type: "session_suspend", session: "cyd" });
      w.begin("dan", { anchor });
      expect(claimerOf(w.task("it"))).toEqual({ session: "dan", agent: null, incarnation: 0 });
      expect(w.task("it").attempts).toBe(0);
    });
  });

  describe("the way of a task", () => {
    const allowed: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
      pending: ["active", "done", "failed"],
      active: ["done", "failed", "pending"],
      done: ["pending"],
      failed: ["pending"],
    };
    const statuses = ["pending", "active", "done", "failed"] as const;
    const pairs = statuses.flatMap(from => statuses.map(to => [from, to] as const));

    it.each(pairs.filter(([from, to]) => from !== to))("from %s to %s", (from, to) => {
      w.create("it");
      if (from !== "pending") expect(set("ann", "it", from)).toMatchObject({ ok: true });
      const code = from === "active" ? "task_claimed" : "task_state";
      const expected = allowed[from].includes(to) ? { ok: true, task: { status: to } } : { ok: false, code };
      expect(set("ann", "it", to)).toMatchObject(expected);
    });

    it("ends once: who says it again hears so, others are refused", () => {
      w.create("it");
      w.do(claimOf("ann"));
      expect(set("ann", "it", "done", "all green")).toMatchObject({
        task: { result: "all green", assignee: "ann" },
      });
      expect(set("ann", "it", "done")).toMatchObject({ ok: true, task: { result: "all green" } });
      expect(set("bob", "it", "done", "mine")).toMatchObject({
        code: "task_state",
        error: expect.stringContaining("is done by ann; there is nothing left to do"),
      });
    });

    it("frees what waited for it when it is done, and not when it has failed", () => {
      w.create("a", "b", { description: "c", dependsOn: ["a", "b"] });
      set(null, "a", "done");
      expect(w.events).toEqual(["task_completed a"]);
      set(null, "b", "failed", "no");
      expect(w.board).toEqual({ a: "done", b: "failed", c: "blocked" });
      expect(w.do(claimOf("ann", w.id("c")))).toMatchObject({
        blockedBy: [{ task: w.id("b"), status: "failed" }],
      });
      set(null, "b", "pending");
      set(null, "b", "done");
      expect(w.events).toEqual(["task_completed b", "task_ready c"]);
      expect(w.board).toEqual({ a: "done", b: "done", c: "ready" });
    });

    it("is not gone back while somebody builds on it", () => {
      w.create("a", { description: "b", dependsOn: ["a"] });
      set(null, "a", "done");
      w.do(claimOf("ann"));
      expect(set(null, "a", "pending")).toMatchObject({
        code: "task_state",
        error: `${w.id("a")} is done; ${w.id("b")} depends on it and is active; release that first`,
      });
      set("ann", "b", "done");
      expect(set(null, "a", "pending")).toMatchObject({ ok: true });
      expect(w.board).toEqual({ a: "ready", b: "done" });
      set(null, "b", "pending");
      expect(w.board).toEqual({ a: "ready", b: "blocked" });
    });

    it("counts attempts that failed, and takes a result with an end alone", () => {
      w.create("it");
      expect(set("ann", "it", "active", "half")).toMatchObject({ code: "invalid_request" });
      expect(set("ann", "it", "failed", "broken")).toMatchObject({ task: { attempts: 1, result: "broken" } });
      expect(w.do(updateOf(null, w.id("it"), { result: "flaky" }))).toMatchObject({
        task: { result: "flaky" },
      });
    });
  });

  describe("other dependencies", () => {
    it("may not close a cycle, however long", () => {
      w.create(
        { description: "a" },
        { description: "b", dependsOn: ["a"] },
        { description: "c", dependsOn: ["b"] },
      );
      const [a, b, c] = ["a", "b", "c"].map(name => w.id(name));
      expect(w.do(updateOf(null, a ?? "", { dependsOn: [c ?? ""] }))).toMatchObject({
        code: "task_cycle",
        cycle: [a, c, b, a],
      });
      expect(w.do(updateOf(null, a ?? "", { dependsOn: [a ?? ""] }))).toMatchObject({ code: "task_cycle" });
    });

    it("block and free; an active task takes only what is done", () => {
      w.create("a", "b", "c");
      w.do(updateOf(null, w.id("a"), { dependsOn: [w.id("b")] }));
      expect(w.board).toEqual({ a: "blocked", b: "ready", c: "ready" });
      w.do(updateOf(null, w.id("a"), { dependsOn: [] }));
      expect(w.events).toEqual(["task_updated a", "task_ready a"]);
      w.do(claimOf("ann", w.id("a")));
      expect(w.do(updateOf(null, w.id("a"), { dependsOn: [w.id("c")] }))).toMatchObject({
        code: "task_blocked",
      });
    });

    it("come into force with the status of the same update", () => {
      w.create("a", "b");
      const both = { dependsOn: [w.id("b")], status: "active" } as const;
      expect(w.do(updateOf("ann", w.id("a"), both))).toMatchObject({ code: "task_blocked" });
      expect(w.task("a").dependsOn).toEqual([]);
    });
  });

  describe("to forget", () => {
    const remove = (...names: readonly string[]) =>
      w.do({ type: "task_remove", by: null, tasks: names.map(name => w.id(name)) });

    it("is for what is finished and needed no more", () => {
      w.create("a", { description: "b", dependsOn: ["a"] });
      expect(remove("a")).toMatchObject({ code: "task_state" });
      set(null, "a", "done");
      const needed = `${w.id("b")} depends on ${w.id("a")} and is pending; remove what depends on it first`;
      expect(remove("a")).toMatchObject({ code: "task_state", error: needed });
      set(null, "b", "failed");
      expect(remove("a")).toEqual({ ok: true, removed: ["t-0-1"] });
      expect(w.task("b").dependsOn).toEqual([]);
      expect(w.create("c")).toEqual(["t-0-3"]);
    });
  });

  it("a session works on so many tasks at most", () => {
    const max = 10;
    w = new TaskWorld(bounded({ claimsPerSessionMax: max }));
    for (const session of ["ann", "bob"]) w.begin(session);
    for (const count of [max, 1]) {
      expect(run(createOf(Array.from({ length: count }, () => ({ description: "it" }))))).toMatchObject({
        ok: true,
      });
    }
    for (let n = 0; n < max; n += 1) expect(run(claimOf("ann"))).toMatchObject({ ok: true });
    expect(run(claimOf("ann"))).toMatchObject({ code: "too_many_tasks" });
    expect(run(claimOf("bob"))).toMatchObject({ ok: true });
    expect(check(w.state)).toEqual([]);
  });

  it("all texts together have a bound", () => {
    w.create("it");
    // As if there were ten thousand long ones.
    w.state.tasks.chars = limits.tasksTextChars;
    expect(run(createOf([{ description: "more" }]))).toMatchObject({ code: "too_many_tasks" });
    expect(run(updateOf(null, w.id("it"), { description: "longer" }))).toMatchObject({
      code: "too_many_tasks",
    });
    expect(run(updateOf(null, w.id("it"), { status: "done" }))).toMatchObject({ ok: true });
  });

  it("a snapshot brings back every task, and everything derived from them", () => {
    w.create("a", { description: "b", dependsOn: ["a"], labels: ["x"] }, "c", "d");
    w.do(claimOf("ann", w.id("c")));
    set("bob", "d", "failed", "no");
    w.do(updateOf(null, w.id("a"), { dependsOn: [w.id("d")] }));
    const text = writeState(w.state);
    const back = readState(text);
    expect(writeState(back)).toBe(text);
    expect([...back.tasks.lists.keys()].sort()).toEqual([...w.state.tasks.lists.keys()].sort());
    expect(back.tasks.open).toEqual(w.state.tasks.open);
    expect(back.tasks.chars).toBe(w.state.tasks.chars);
  });

  describe("what was finished lately", () => {
    const finish = (task: string, wallMs: number) =>
      w.do(updateOf("ann", w.id(task), { status: "done" }, wallMs));
    const latest = (max = 9) =>
      latestFinished(w.state.tasks, "/p", max).map(({ description }) => description);

    it("is by the latest change, however old the task is, and of one project", () => {
      w.create("one", "two", "three", "four");
      finish("two", 2_000);
      finish("three", 10_000);
      finish("one", 30_000);
      expect(latest()).toEqual(["one", "three", "two"]);
      expect(latest(2)).toEqual(["one", "three"]);
      expect(latestFinished(w.state.tasks, "/q", 9)).toEqual([]);
    });

    it("is what is done now: neither what is tried again, nor what failed, nor what is gone", () => {
      w.create("one", "two", "three");
      finish("one", 1_000);
      finish("two", 2_000);
      finish("three", 3_000);
      set("ann", "three", "pending");
      set("ann", "two", "pending");
      set("ann", "two", "failed");
      expect(latest()).toEqual(["one"]);
      w.do(updateOf("ann", w.id("one"), { result: "better" }, 9_000));
      finish("three", 5_000);
      expect(latest()).toEqual(["one", "three"]);
      w.do({ type: "task_remove", by: null, tasks: [w.id("one")] });
      expect(latest()).toEqual(["three"]);
    });
  });
});

describe("the numbers of tasks", () => {
  let w: TaskWorld;

  beforeEach(() => {
    w = new TaskWorld();
    w.begin("ann");
  });

  /** Imports tasks of these ids, each described by its id. */
  function bringIn(ids: readonly string[], of: string = project) {
    const plain = {
      createdAt: 0,
      updatedAt: 0,
      priority: "low",
      labels: [],
      dependsOn: [],
      attempts: 0,
    } as const;
    const tasks: TaskImport["tasks"] = ids.map(id => ({
      ...plain,
      id,
      project: of,
      description: id,
      state: { status: "pending" },
    }));
    return w.do({ type: "task_import", by: null, tasks });
  }

  /** The number in the row of the task that `name` finds, and its id. */
  function found(name: string): unknown {
    const reply = w.do(updateOf(null, name, {}));
    if (!reply.ok) return reply;
    const { task } = reply as unknown as { readonly task: { readonly id: string; readonly number: number } };
    return [task.number, task.id];
  }

  describe("the number of a task", () => {
    it("is decimal behind #, and the last part of an id counts as it did", () => {
      w.create(...Array.from({ length: 46 }, (_, n) => `task ${n + 1}`));
      expect(found("#10")).toEqual([10, "t-0-a"]);
      expect(found("#046")).toEqual([46, "t-0-1a"]);
      expect(found("a")).toEqual([10, "t-0-a"]);
      expect(found("10")).toEqual([36, "t-0-10"]);
      expect(found("#47")).toMatchObject({ code: "unknown_task", nearest: null });
      for (const name of ["#", "#a", "# 1", "#-1", "#1.0", "#1e1", "0-1"])
        expect(found(name), name).toMatchObject({ code: "unknown_task" });
    });

    it("counts in the project of the request alone", () => {
      w.create("ours");
      w.do({ ...createOf([{ description: "theirs" }]), project: "/q" } as Command);
      expect(found("#1")).toEqual([1, "t-0-1"]);
      expect(w.do({ type: "task_release", by: null, task: "#1", wallMs: 0 })).toMatchObject({
        code: "unknown_task",
      });
    });

    it("is also that of a needed task, in rows and refusals; a name in the same request comes first", () => {
      w.create("one", "two");
      const names = [
        { name: "#1", description: "named so", dependsOn: [] },
        { name: null, description: "last", dependsOn: ["#1", "#2"] },
      ];
      w.do(createOf(names));
      expect(w.task("last").dependsOn).toEqual([w.id("named so"), w.id("two")]);
      const blockedBy = [
        { task: "t-0-3", status: "pending", number: 3 },
        { task: "t-0-2", status: "pending", number: 2 },
      ];
      expect(w.do(updateOf(null, "#4", {}))).toMatchObject({ task: { blockedBy } });
      expect(w.do(claimOf("ann", "#4"))).toMatchObject({ code: "task_blocked", blockedBy });
      w.do({ ...createOf([{ description: "far", dependsOn: ["t-0-1"] }]), project: "/q" } as Command);
      const far = [{ task: "t-0-1", status: "pending", number: null }];
      expect(w.do(claimOf("ann", w.id("far")))).toMatchObject({ blockedBy: far });
    });
  });

  describe("an import", () => {
    it("takes the next free numbers, in order, and keeps the ids", () => {
      w.create("one", "two");
      bringIn(["t-x-1", "t-x-3", "t-y-zzzzzzzzzzzz"]);
      expect(["#1", "#2", "#3", "#4", "#5"].map(found)).toEqual([
        [1, "t-0-1"],
        [2, "t-0-2"],
        [3, "t-x-1"],
        [4, "t-x-3"],
        [5, "t-y-zzzzzzzzzzzz"],
      ]);
      expect(found("zzzzzzzzzzzz")).toEqual([5, "t-y-zzzzzzzzzzzz"]);
      expect(found("3")).toEqual([4, "t-x-3"]);
      expect(found("1")).toMatchObject({ code: "ambiguous_task" });
      w.create("next");
      expect(found("#6")).toEqual([6, w.id("next")]);
    });

    it("gives a number to no other task, also after a removal and a start", () => {
      bringIn(["t-x-9", "t-x-8"]);
      expect(found("#2")).toEqual([2, "t-x-8"]);
      w.do(updateOf(null, "#2", { status: "failed" }));
      expect(w.do({ type: "task_remove", by: null, tasks: ["#2"], project })).toMatchObject({ ok: true });
      expect(found("#2")).toMatchObject({ code: "unknown_task" });
      const again = readState(writeState(w.state));
      expect([...check(again)]).toEqual([]);
      expect(writeState(again)).toBe(writeState(w.state));
      bringIn(["t-x-2"]);
      expect(found("#3")).toEqual([3, "t-x-2"]);
    });

    it("makes no new task whose last part is that of an imported one", () => {
      bringIn(["t-x-3", "t-x-4"]);
      expect(w.create("a", "b")).toEqual(["t-0-5", "t-0-6"]);
      expect(found("4")).toEqual([2, "t-x-4"]);
      expect(found("#5")).toEqual([5, "t-0-5"]);
    });

    it("counts for each project, and not what was there already", () => {
      bringIn(["t-x-7"], "/q");
      bringIn(["t-x-7", "t-x-8"]);
      expect(found("t-x-7")).toEqual([1, "t-x-7"]);
      expect(found("#1")).toEqual([1, "t-x-8"]);
    });
  });

  it("rules of before knew no numbers: a journal of them gives what it gave", () => {
    w.state.rules = 1;
    bringIn(["t-x-1", "t-y-1"]);
    expect(w.create("one")).toEqual(["t-0-2"]);
    expect(w.do(claimOf("ann", "#2"))).toMatchObject({ code: "unknown_task" });
    expect(w.do(claimOf("ann", "2"))).not.toHaveProperty("task.number");
    expect(writeState(w.state)).not.toContain('"number"');
    w.state.rules = 2;
    expect(found("#2")).toEqual([2, "t-0-2"]);
    expect(found("#1")).toMatchObject({ code: "ambiguous_task", matches: ["t-x-1", "t-y-1"] });
  });
});
