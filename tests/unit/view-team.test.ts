/** Teams and tasks of the clients' own lists for people. */
import { describe, expect, it, test } from "vitest";
import { teamsView } from "../../bin/lead/team.ts";
import { clientTasksView, openTasksOf } from "../../bin/lead/team-tasks.ts";
import { widthOf } from "../../bin/view/text.ts";
import type { TeamRow } from "../../protocol/lead/team.ts";
import type { ClientTaskRow } from "../../protocol/schemas/task.ts";

const screen = { width: 80, color: false, home: "/home/ana", now: 0 };
const task = { description: "", owner: null, waitsFor: [] } as const;
const row: TeamRow = {
  ...{
    team: "session-65bca144",
    kind: "team",
    project: "/home/ana/shop",
    lead: "65bca144-cf",
    leadName: "main",
  },
  members: [
    { name: "team-lead", shownAs: "main", backend: "lead", state: "idle", does: null },
    {
      name: "alice",
      shownAs: "main/alice",
      backend: "in_process",
      state: "waits",
      does: "for src/prices.ts",
    },
    {
      name: "bob",
      shownAs: "bob",
      backend: "pane",
      state: "active",
      does: 'task 2 "page the list of items"',
    },
    { name: "cyd", shownAs: null, backend: "pane", state: "died", does: null },
  ],
  tasks: [
    { ...task, task: "1", subject: "double the prices", status: "completed", owner: "alice" },
    { ...task, task: "2", subject: "page the list of items", status: "in_progress", owner: "bob" },
    { ...task, task: "3", subject: "write all of it down", status: "pending", waitsFor: ["2"] },
  ],
  moreTasks: 0,
  idleNotices: 3,
  problems: [
    {
      what: "dead_owner",
      text: "task 4 is in progress and owned by cyd, which has ended: give it to a member (TaskUpdate with owner)",
    },
  ],
};

describe("a team", () => {
  test("is readable in 80 columns", () => {
    expect(teamsView([row], screen)).toEqual([
      "shop: session-65bca144, led by main",
      "  team-lead (main)    lead        idle",
      "  alice (main/alice)  in process  waits   for src/prices.ts",
      '  bob                 pane        active  task 2 "page the list of items"',
      "  cyd                 pane        died",
      "  2 open tasks, 1 completed",
      "    1  completed    alice  double the prices",
      "    2  in progress  bob    page the list of items",
      "    3  pending             write all of it down    after 2",
      "  ! task 4 is in progress and owned by cyd, which has ended: give it to a member",
      "    (TaskUpdate with owner)",
      "  3 notices of idle members; the lead answers each",
    ]);
    expect(teamsView([], screen)).toEqual(["No team of Claude Code is at work."]);
  });

  test("keeps within narrow columns, and strips what a name may hide", () => {
    const [first] = row.members;
    const long = {
      ...row,
      members: first === undefined ? [] : [{ ...first, does: "\u001b[31m".concat("x".repeat(200)) }],
    };
    const lines = teamsView([long], { ...screen, width: 50 });
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(50);
    expect(lines.join("\n")).not.toContain("\u001b");
  });
});

describe("its open tasks", () => {
  test("have the same ids in the queue each time, and those of no other team", () => {
    const ids = openTasksOf(row).map(({ id }) => id);
    expect(ids).toHaveLength(2);
    for (const id of ids) expect(id).toMatch(/^t-[0-9a-z]{1,12}-[0-9a-z]{1,12}$/);
    expect(openTasksOf(row).map(({ id }) => id)).toEqual(ids);
    expect(openTasksOf({ ...row, lead: "other" }).map(({ id }) => id)).not.toEqual(ids);
    expect(openTasksOf(row)[1]?.dependsOn).toEqual([ids[0]]);
  });
});

// Tasks of the clients' own lists for people.
describe("tasks of the clients' own lists", () => {
  const screen = { width: 80, color: false, now: 1_763_700_000_000, home: "/home/ana" };

  function row(task: string, subject: string, more: Partial<ClientTaskRow> = {}): ClientTaskRow {
    const where = { list: "session-6de28969", project: "/home/ana/shop" };
    return { ...where, task, subject, owner: null, state: "open", resting: false, updatedAt: 1, ...more };
  }

  const shop = [
    row("1", "Write the schema", { owner: "alice", state: "completed" }),
    row("2", "Build the API", { owner: "bob", resting: true }),
    row("3", "Show the page"),
    row("1", "Grind\u001b[2J", { list: "session-0a1b2c3d", project: "/home/ana/mill" }),
  ];

  it("shows each list with what is completed, what rests and who has it, as nobody's to claim", () => {
    expect(clientTasksView(shop, screen)).toEqual([
      "shop: 2 open, 1 completed, in Claude Code's own list session-6de28969; not",
      "claimable",
      "  1  completed   Write the schema  by alice",
      "  2  owner idle  Build the API     bob",
      "  3  open        Show the page",
      "mill: 1 open, 0 completed, in Claude Code's own list session-0a1b2c3d; not",
      "claimable",
      "  1  open        Grind [2J",
    ]);
  });

  it("says nothing where there are none", () => {
    expect(clientTasksView([], screen)).toEqual([]);
  });

  it("keeps to the width, whatever a subject holds", () => {
    const long = [
      row("12", "word ".repeat(60), { owner: "a-teammate-with-a-long-name", state: "completed" }),
    ];
    for (const line of clientTasksView(long, screen)) expect(widthOf(line)).toBeLessThanOrEqual(80);
  });
});
