import { describe, expect, it } from "vitest";
import { approve, edit, release } from "../../bin/tasks/change.ts";
import { remove } from "../../bin/tasks/look.ts";
import { inNumbers, numbersOf, taskNamed } from "../../bin/view/task-names.ts";
import { fakeDaemon, fakeWorld } from "./command-world.ts";
import { needed, task } from "./view-rows.ts";

const project = "/home/ana/code/shop/.git";

describe("a task's name", () => {
  it.each([
    ["3", "#3"],
    ["#3", "#3"],
    ["010", "#10"],
    ["#0", "#0"],
    ["1a", "1a"],
    ["t-mhx3k2p1-10", "t-mhx3k2p1-10"],
    ["t-10", "t-10"],
    ["#a", "#a"],
    ["-3", "-3"],
    ["", ""],
  ])("%j is %j on the wire", (name, wire) => {
    expect(taskNamed(name)).toBe(wire);
  });

  it("is a number in what commands send", async () => {
    const daemon = fakeDaemon({
      task_update: { ok: true, task: task("t-1-a", "Ten") },
      task_release: { ok: true, task: task("t-1-a", "Ten") },
      task_remove: { ok: true, removed: ["t-1-a"] },
      task_approve: { ok: true, task: task("t-1-a", "Ten") },
      "query sessions": { ok: true, rows: [] },
    });
    const world = () => fakeWorld({ daemon, env: { KITE_SESSION: "s1" } });
    const person = { isAgent: async () => false };
    await edit(world(), "10", { label: [], needs: ["3", "#4", "1a"], project });
    await release(world(), "#10", { project });
    await remove(world(), ["10", "t-1-b"], { project });
    await approve(fakeWorld({ daemon }), "10", { project }, person);
    const named = daemon.asked.flatMap(({ type, task: one, tasks, dependsOn }) =>
      String(type).startsWith("task_") ? [[type, one ?? tasks, dependsOn]] : [],
    );
    expect(named).toEqual([
      ["task_update", "#10", ["#3", "#4", "1a"]],
      ["task_release", "#10", undefined],
      ["task_remove", ["#10", "t-1-b"], undefined],
      ["task_approve", "#10", undefined],
    ]);
  });
});

describe("a sentence", () => {
  const rows = [
    task("t-1-a", "Ten", { blockedBy: [needed("t-1-b", "active")] }),
    task("t-2-3", "Far", { project: "/q" }),
  ];
  const numbers = numbersOf(rows, project);

  it("names tasks of the reader's project by numbers, in words and in commands", () => {
    expect(inNumbers("t-1-a waits for t-1-b; see kite task show t-1-b, task t-1-a", numbers)).toBe(
      "#10 waits for #11; see kite task show 11, task 10",
    );
  });

  it("keeps ids of other projects, of tasks that are gone, and of other things", () => {
    const said = "t-2-3 and t-9-9, d-1-a, at-1-a; kite task approve t-2-3";
    expect(inNumbers(said, numbers)).toBe(said);
  });

  it("keeps the ids of two tasks with one number", () => {
    const old = { ...task("t-x-a", "Imported once") };
    expect(inNumbers("t-1-a or t-x-a", numbersOf([...rows, old], project))).toBe("t-1-a or t-x-a");
  });
});
