import { beforeEach, describe, expect, it } from "vitest";
import { check } from "../../daemon/core/slices.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import type { TaskImport } from "../../daemon/core/tables/tasks.ts";
import { claimOf, createOf, project, TaskWorld, updateOf } from "./task-world.ts";

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
