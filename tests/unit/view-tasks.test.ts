/** Tasks for people, and their names. */
import { describe, expect, it } from "vitest";
import { approve, edit, release } from "../../bin/tasks/change.ts";
import { remove } from "../../bin/tasks/look.ts";
import { inNumbers, numbersOf, taskNamed } from "../../bin/view/task-names.ts";
import { graphView, mermaidView, tasksView, taskView } from "../../bin/view/tasks.ts";
import { unpainted, widthOf } from "../../bin/view/text.ts";
import type { TaskRow, TaskStatus } from "../../protocol/schemas/task.ts";
import { Random } from "../simulation/random.ts";
import { fakeDaemon, fakeWorld } from "./command-world.ts";
import { needed, task } from "./view-rows.ts";

// Tasks for people: lists, one in full, graphs as text and in Mermaid.

const now = 1_763_700_000_000;
const screen = { width: 80, color: false, now, home: "/home/ana" };
const idOf = (n: number) => `t-mhx3k2p1-${n.toString(36)}`;

interface Drawn {
  readonly n: number;
  readonly words: string;
  readonly needs?: readonly number[];
  readonly status?: TaskStatus;
}

/** Tasks that know of each other what is in the way. */
function rowsOf(tasks: readonly Drawn[], more: Partial<TaskRow> = {}): TaskRow[] {
  const statusOf = new Map(tasks.map(({ n, status = "pending" }) => [n, status]));
  return tasks.map(({ n, words, needs = [], status = "pending" }) =>
    task(idOf(n), words, {
      project: "/home/ana/shop",
      status,
      ...(status === "active" ? { assignee: "s", assigneeName: "alice" } : {}),
      dependsOn: needs.map(idOf),
      blockedBy: needs
        .filter(need => statusOf.get(need) !== "done")
        .map(need => needed(idOf(need), statusOf.get(need) ?? "pending")),
      createdBy: "ana",
      createdAt: now - 3_600_000,
      updatedAt: now - 125_000,
      ...(status === "failed" ? { result: "no server", attempts: 1 } : {}),
      ...more,
    }),
  );
}

const shop = rowsOf([
  { n: 1, words: "Write the schema", status: "done" },
  { n: 2, words: "Build the API", needs: [1], status: "active" },
  { n: 3, words: "Choose a queue" },
  { n: 4, words: "Show the page", needs: [2] },
  { n: 5, words: "Send mail", needs: [2, 3] },
  { n: 6, words: "Announce it", needs: [4, 5] },
  { n: 7, words: "Draw a logo", status: "failed" },
]);

describe("a list of tasks", () => {
  it("has what is worked on first and what is done last, with who and why", () => {
    expect(tasksView({ tasks: shop, none: "" }, screen)).toEqual([
      "shop: 1 active, 1 ready, 3 blocked, 1 failed, 1 done",
      "  2  active   Build the API     alice 2m",
      "  3  ready    Choose a queue",
      "  4  blocked  Show the page     after 2",
      "  5  blocked  Send mail         after 2, 3",
      "  6  blocked  Announce it       after 4, 5",
      "  7  failed   Draw a logo       no server",
      "  1  done     Write the schema",
    ]);
  });

  it("says what it is told to where there are none", () => {
    expect(tasksView({ tasks: [], none: "No tasks." }, screen)).toEqual(["No tasks."]);
  });

  it("names tasks by decimal numbers, also those that hold one back, and of several projects by whole ids", () => {
    const tasks = [
      task("t-mhx3k2p1-a", "Drop the table", {
        risk: "red",
        held: "t-mhx3k2p1-b (red) runs; ask your user: kite task approve t-mhx3k2p1-a",
      }),
      task("t-mhx3k2p1-b", "Rename it", { risk: "red", status: "active" }),
    ];
    const text = tasksView({ tasks, none: "" }, { ...screen, width: 200 }).join("\n");
    expect(text).toMatch(/^ {2}11 +active +red +Rename it *$/m);
    expect(text).toMatch(/^ {2}10 +ready .*#11 \(red\) runs; ask your user: kite task approve 10$/m);
    const far = task("t-mhx3k2p1-b", "Far", { project: "/q" });
    expect(tasksView({ tasks: [...tasks.slice(0, 1), far], none: "" }, screen).join("\n")).toMatch(
      /^ {2}t-mhx3k2p1-a +ready/m,
    );
  });

  it("gives whole ids where two of them have one number", () => {
    const [one] = rowsOf([{ n: 1, words: "one" }]);
    const alike = { ...rowsOf([{ n: 1, words: "other" }])[0], id: "t-lk0-1" };
    const lines = tasksView({ tasks: [one, alike] as TaskRow[], none: "" }, screen);
    expect(lines.slice(1).map(line => line.trim().split(" ")[0])).toEqual(["t-mhx3k2p1-1", "t-lk0-1"]);
  });
});

it("of a lost agent say how to free them", () => {
  const [task] = rowsOf([{ n: 2, words: "Build it", status: "active" }], { assigneeLost: true });
  if (task === undefined) throw new Error("no task");
  const [, line] = tasksView({ tasks: [task], none: "" }, screen);
  expect(line).toBe("  2  active  Build it  alice 2m, lost, to free it: kite task release 2");
  const one = taskView(task, numbersOf([task], "/home/ana/shop"), screen);
  expect(one).toContainEqual(
    expect.stringMatching(/to free it .*nothing is heard of that agent: kite task release 2$/),
  );
});

describe("one task", () => {
  it("is shown with all that is known of it", () => {
    const [task] = rowsOf([{ n: 5, words: "Send mail\nto everybody", needs: [2], status: "active" }], {
      labels: ["web", "mail"],
      priority: "high",
      debate: "d-mhx3k2p1-1",
    });
    expect(task === undefined ? [] : taskView(task, numbersOf([task], "/home/ana/shop"), screen)).toEqual([
      "task 5  active",
      "  │ Send mail",
      "  │ to everybody",
      "",
      "  id            t-mhx3k2p1-5",
      "  project       /home/ana/shop",
      "  priority      high",
      "  labels        web, mail",
      "  needs         2 (pending)",
      "  debate        d-mhx3k2p1-1",
      "  worked on by  alice",
      expect.stringMatching(/^ {2}created {7}.*, 1h ago, by ana$/),
      expect.stringMatching(/^ {2}changed {7}.*, 2m ago$/),
    ]);
  });
});

describe("the graph as text", () => {
  it("draws chains straight down, branches to the right, and says what else is needed", () => {
    expect(graphView(shop, screen)).toEqual([
      "1 active, 1 ready, 3 blocked, 1 failed, 1 done",
      "1  ✓ Write the schema",
      "2  ↓ ▶ Build the API   alice",
      "4  ├─· Show the page",
      "5  └─· Send mail       also after 3",
      "6    ↓ · Announce it   also after 4",
      "3  ○ Choose a queue",
      "7  ✗ Draw a logo",
      "▶ active  ○ ready  · blocked  ✗ failed  ✓ done  ↓├└ needs the task above",
    ]);
  });

  it("names what is in the way and not in the drawing", () => {
    const some = shop.filter(({ description }) => description === "Send mail");
    expect(graphView(some, screen).slice(1)).toEqual(["5  · Send mail  after 2, 3", "· blocked"]);
  });

  it.each([1, 2, 3, 4, 5])(
    "fits 80 columns for 30 tasks and has each once, below what it needs (seed %i)",
    seed => {
      const random = new Random(seed);
      const tasks = rowsOf(
        Array.from({ length: 30 }, (_, i) => ({
          n: i + 1,
          words: `Task ${i + 1}: ${"long words ".repeat(random.int(0, 8))}`,
          needs: i === 0 || random.chance(0.2) ? [] : [...new Set([random.int(1, i), random.int(1, i)])],
          status: random.pick(["pending", "active", "done", "failed"] as const),
        })),
      );
      const lines = graphView(tasks, screen);
      for (const line of lines) expect(widthOf(line), line).toBeLessThanOrEqual(80);
      const order = lines.slice(1, -1).map(line => Number.parseInt(line.trim().split(/\s/)[0] ?? "", 10));
      expect([...order].sort((a, b) => a - b)).toEqual(tasks.map((_, i) => i + 1));
      for (const line of lines.slice(1, -1)) {
        const n = Number.parseInt(line.trim().split(/\s/)[0] ?? "", 10);
        const row = tasks[n - 1];
        const needs = row?.dependsOn ?? [];
        // One is drawn above it, the others are named beside it, as far as there is room.
        const above = needs.filter(
          id => order.indexOf(tasks.findIndex(t => t.id === id) + 1) < order.indexOf(n),
        );
        expect(needs.length === 0 || above.length > 0, line).toBe(true);
      }
    },
  );

  it("draws a chain of ten thousand, and lets nothing of a description out of its line", () => {
    const chain = Array.from({ length: 10_000 }, (_, i) => ({
      n: i + 1,
      words: i === 5000 ? "\u001b[31mred\n\u202eabc" : `${i}`,
      needs: i === 0 ? [] : [i],
    }));
    const lines = graphView(rowsOf(chain), screen);
    expect(lines).toHaveLength(10_002);
    expect(lines.join("")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  it("is the same with colours, but for the colours", () => {
    const colored = graphView(shop, { ...screen, color: true });
    expect(colored.map(unpainted)).toEqual(graphView(shop, screen));
    expect(colored).not.toEqual(graphView(shop, screen));
  });
});

describe("the graph in Mermaid", () => {
  it("has a node a task, an arrow a dependency, and a class a status", () => {
    expect(mermaidView(shop.slice(0, 3))).toEqual([
      "graph TD",
      '  t_mhx3k2p1_1["1: Write the schema"]:::done',
      '  t_mhx3k2p1_2["2: Build the API (alice)"]:::active',
      '  t_mhx3k2p1_3["3: Choose a queue"]:::ready',
      "  t_mhx3k2p1_1 --> t_mhx3k2p1_2",
      "  classDef active fill:#fff3bf,stroke:#e67700",
      "  classDef ready fill:#d3f9d8,stroke:#2b8a3e",
      "  classDef done fill:#dbe4ff,stroke:#364fc7",
    ]);
  });

  it("lets no description end its node", () => {
    const [, node = ""] = mermaidView(rowsOf([{ n: 1, words: 'a"]; click x "javascript:y" <b>&' }]));
    expect(node).toBe(
      '  t_mhx3k2p1_1["1: a#34;#93;#59; click x #34;javascript:y#34; #8249;b#8250;#38;"]:::ready',
    );
  });
});

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
