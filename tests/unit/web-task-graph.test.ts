import { describe, expect, it } from "vitest";
import { boxBeside, graphOf, layoutsOf, packed } from "../../bin/web/views/tasks/graph.ts";
import { criticalPath, openTasks } from "../../bin/web/views/tasks/needs.tsx";
import type { TaskRow, TaskStatus } from "../../protocol/schemas/task.ts";

function task(id: string, dependsOn: readonly string[] = [], status: TaskStatus = "pending"): TaskRow {
  return {
    ...{ id, description: id, project: "p", number: 1, priority: "normal", status, dependsOn },
    ...{
      assignee: null,
      assigneeAgent: null,
      assigneeName: null,
      labels: [],
      blockedBy: [],
      createdBy: null,
    },
    ...{ createdAt: 0, updatedAt: 0, result: null, attempts: 0, debate: null, risk: "green" },
    ...{ approved: false, held: null },
  };
}

const idsOf = (tasks: readonly TaskRow[]) => tasks.map(({ id }) => id);

describe("open tasks", () => {
  it("are those that are not finished, and the failed ones that such a task needs, however far", () => {
    const all = [
      task("a", [], "failed"),
      task("b", ["a"], "failed"),
      task("c", ["b"]),
      task("d", [], "done"),
      task("e", ["d"], "active"),
      task("f", ["c"], "failed"),
    ];
    expect(idsOf(openTasks(all))).toEqual(["a", "b", "c", "e"]);
  });
});

describe("the critical path", () => {
  it("is the longest chain, from its first task, also where a shorter way leads to its end", () => {
    const all = [
      task("a"),
      task("b", ["a"]),
      task("c", ["b"]),
      task("d", ["a", "c"]),
      task("e"),
      task("f", ["e"]),
    ];
    expect(criticalPath(all)).toEqual(["a", "b", "c", "d"]);
  });

  it("counts the first of equal chains, and no single task", () => {
    expect(criticalPath([task("a"), task("b", ["a"]), task("c"), task("d", ["c"])])).toEqual(["a", "b"]);
    expect(criticalPath([task("a"), task("b", ["gone"])])).toEqual([]);
    expect(criticalPath([])).toEqual([]);
  });

  it("takes a chain of ten thousand in any order", () => {
    const chain = Array.from({ length: 10_000 }, (_, n) =>
      task(`t${n}`, n === 0 ? [] : [`t${n - 1}`]),
    ).reverse();
    expect(criticalPath(chain)).toHaveLength(10_000);
  });
});

describe("the graph", () => {
  it("has what is wanted and what that needs, part by part, and counts tasks that stand alone", () => {
    const [a, b, c, d, e, alone] = [
      task("a"),
      task("b", ["a"]),
      task("c", ["b"]),
      task("d"),
      task("e", ["d"]),
      task("x"),
    ];
    const { parts, ...rest } = graphOf([b, e, alone], [a, b, c, d, e, alone], []);
    expect(parts.map(part => idsOf(part.tasks))).toEqual([
      ["a", "b"],
      ["d", "e"],
    ]);
    expect(parts.map(part => part.needs)).toEqual([[["b", "a"]], [["e", "d"]]]);
    expect(rest).toEqual({ alone: 1, leftOut: 0 });
  });

  it("leaves out what is farthest from the critical path, and says how many", () => {
    const far = [task("x"), task("y", ["x"])];
    const near = [task("a"), task("b", ["a"]), task("c", ["b"]), task("d", ["b"])];
    const all = [...far, ...near];
    const { parts, leftOut } = graphOf(all, all, criticalPath(all), 4);
    expect(parts.map(part => idsOf(part.tasks))).toEqual([["a", "b", "c", "d"]]);
    expect(leftOut).toBe(2);
    expect(graphOf(all, all, criticalPath(all), 3).parts.map(part => idsOf(part.tasks))).toEqual([
      ["a", "b", "c"],
    ]);
  });
});

describe("the layout", () => {
  const all = [task("a"), task("b", ["a"]), task("c"), task("d", ["c"])];
  const partsOf = (tasks: readonly TaskRow[]) => graphOf(tasks, tasks, []).parts;
  const before = layoutsOf(partsOf(all), new Map());

  it("stays when the state of tasks changes, and of a part that another one's change leaves alone", () => {
    const begun = all.map(one => ({ ...one, status: "active" as const, description: "other" }));
    const same = layoutsOf(partsOf(begun), before);
    expect([...same]).toEqual([...before]);
    for (const [key, layout] of same) expect(layout).toBe(before.get(key));
    const grown = [...layoutsOf(partsOf([...all, task("e", ["d"])]), before).values()];
    expect(grown[0]).toBe([...before.values()][0]);
    expect(grown[1]).not.toBe([...before.values()][1]);
  });

  it("has needs to the left, parts apart, and every box inside", () => {
    const { places, width, height } = packed(before);
    const at = (id: string) => places.get(id) ?? { x: Number.NaN, y: Number.NaN };
    expect(at("a").x).toBeLessThan(at("b").x);
    expect(at("c").x).toBeLessThan(at("d").x);
    expect(at("c").x - at("b").x).toBeGreaterThan(216);
    for (const { x, y } of places.values()) {
      expect(x).toBeGreaterThanOrEqual(108);
      expect(x).toBeLessThanOrEqual(width - 108);
      expect(y).toBeGreaterThanOrEqual(23);
      expect(y).toBeLessThanOrEqual(height - 23);
    }
  });

  it("leads arrows from the right side of a need to the left side of what needs it", () => {
    const { places, arrows } = packed(before);
    expect(arrows).toHaveLength(2);
    for (const { from, to, points } of arrows) {
      const [start, end] = [places.get(from), places.get(to)];
      expect(points[0]).toEqual({ x: (start?.x ?? 0) + 108, y: start?.y });
      expect(points.at(-1)).toEqual({ x: (end?.x ?? 0) - 108, y: end?.y });
    }
  });

  it("leads arrow keys to the next box, and nowhere at the edge", () => {
    const { places } = packed(before);
    expect(boxBeside(places, "a", 1, 0)).toBe("b");
    expect(boxBeside(places, "b", -1, 0)).toBe("a");
    expect(boxBeside(places, "a", -1, 0)).toBeNull();
    expect(boxBeside(places, "gone", 1, 0)).toBeNull();
  });
});
