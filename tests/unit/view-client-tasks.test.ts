/** Tasks of the clients' own lists for people. */
import { expect, it } from "vitest";
import { clientTasksView } from "../../bin/lead/team-tasks.ts";
import { widthOf } from "../../bin/view/text.ts";
import type { ClientTaskRow } from "../../protocol/schemas/task.ts";

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
  const long = [row("12", "word ".repeat(60), { owner: "a-teammate-with-a-long-name", state: "completed" })];
  for (const line of clientTasksView(long, screen)) expect(widthOf(line)).toBeLessThanOrEqual(80);
});
