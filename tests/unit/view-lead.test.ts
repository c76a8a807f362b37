import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import {
  criticalPath,
  isLead,
  type LeadData,
  leadView,
  membersOf,
  suggestionFor,
} from "../../bin/lead/screen.ts";
import { widthOf } from "../../bin/view/text.ts";
import type { HealthRow } from "../../protocol/lead/team.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import type { AgentRow, SessionRow } from "../../protocol/session-rows.ts";
import type { ElsewhereRow } from "../../protocol/work.ts";
import { lock, needed, now, task as rowOfTask, screen, session } from "./view-rows.ts";

const min = 60_000;
const project = "/home/ana/code/shop/.git";

function health(state: HealthRow["state"], minutes: number, more: Partial<HealthRow> = {}) {
  return { health: { state, forMs: minutes * min, ...more } };
}

function task(id: string, description: string, more: Partial<TaskRow> = {}): TaskRow {
  return rowOfTask(id, description, { createdAt: now - 90 * min, updatedAt: now - 80 * min, ...more });
}

/** A task behind others, which are not done. */
function behind(id: string, description: string, ...needs: readonly TaskRow[]): TaskRow {
  const blockedBy = needs.map(({ id: need, status }) => needed(need, status));
  return task(id, description, { dependsOn: needs.map(need => need.id), blockedBy });
}

function claimed(by: SessionRow, id: string, description: string, more: Partial<TaskRow> = {}): TaskRow {
  return task(id, description, { status: "active", assignee: by.id, assigneeName: by.name, ...more });
}

const lead = session("lead", {
  declared: { role: "team lead", task: "Ship the orders page" },
  ...health("working", 9),
});

function data(sessions: readonly SessionRow[], more: Partial<LeadData> = {}): LeadData {
  const reader = { id: lead.id, agent: null };
  return {
    project,
    reader,
    sessions: [lead, ...sessions],
    locks: [],
    tasks: [],
    sinceMs: now - 15 * min,
    ...more,
  };
}

const far = (name: string, more: Partial<ElsewhereRow> = {}): ElsewhereRow => ({
  ...{ id: name, name, machine: name.slice(name.indexOf("@") + 1), project, branch: null },
  ...{ state: "there", tasks: [] },
  ...more,
});

const helper = (name: string, more: Partial<AgentRow>): AgentRow => ({
  agent: `a${name}-5d0b10a1332e636f`,
  name,
  status: "active",
  locks: 0,
  waitingFor: null,
  waitingForPath: null,
  ...more,
});

const bob = session("bob", {
  declared: { role: "implementer", task: "Page the list" },
  ...health("working", 12),
});
const parser = claimed(bob, "t-1", "Build the parser");
const api = behind("t-2", "Serve the parsed orders over the API", parser);
const page = behind("t-3", "Show them on the page", api);

const cyd = session("cyd", {
  ...health("waiting", 3, { on: "lock", why: "/home/ana/code/shop/src/a.ts" }),
  waitingFor: "src/a.ts",
});
const dan = session("dan", { declared: { role: "tester", task: "" }, ...health("idle", 22), status: "idle" });
const eve = session("eve", health("stalled", 18));
const fay = session("fay", {
  ...health("waiting", 40, { on: "person", why: "permission for Bash" }),
  attention: "permission for Bash",
});

const screens: readonly (readonly [string, LeadData])[] = [
  ["0", data([])],
  ["1", data([bob], { tasks: [parser, api, page] })],
  [
    "5",
    data([bob, cyd, dan, eve, session("gus", { ...health("quiet", 6), registeredAt: now - 2 * min })], {
      locks: [
        lock("src/a.ts", "bob", {
          waiters: [{ id: cyd.id, agent: null, name: "cyd", waitedMs: 3 * min, attached: true }],
        }),
      ],
      tasks: [
        parser,
        api,
        page,
        claimed(eve, "t-4", "Mend the importer"),
        task("t-5", "Write tests of the parser", { labels: ["tests"] }),
        task("t-6", "Draw the icons", {
          status: "done",
          assigneeName: "gus",
          updatedAt: now - 4 * min,
          result: "six icons in assets/",
        }),
        task("t-7", "Translate the texts", { createdAt: now - 5 * min, updatedAt: now - 5 * min }),
      ],
    }),
  ],
  [
    "12",
    data(
      [
        fay,
        eve,
        cyd,
        dan,
        session("a name that is much longer than anybody would choose", health("working", 1)),
        session("team", {
          ...health("idle", 1),
          agents: [
            helper("alice", health("working", 2)),
            helper("bert", health("stalled", 30)),
            helper("carl", { status: "idle", ...health("idle", 5) }),
          ],
        }),
        ...["h1", "h2", "h3"].map(name => session(name, health("working", 5))),
      ],
      {
        tasks: [
          parser,
          api,
          page,
          behind("t-8", "Measure it", page),
          behind("t-9", "Announce it", page),
          behind("t-10", "Celebrate", task("t-9", "")),
        ].map((one, i) => ({ ...one, id: `t-${i + 1}` })),
      },
    ),
  ],
];

describe("the screen of a lead", () => {
  it.each(screens)("with %s agents", (count, rows) => {
    const file = fileURLToPath(new URL(`../fixtures/lead/${count}.txt`, import.meta.url));
    const text = `${leadView(rows, screen(80)).join("\n")}\n`;
    if (process.env["UPDATE"] === "1") writeFileSync(file, text);
    expect(text).toBe(readFileSync(file, "utf8"));
  });

  it("is one screen, and no line is wider than it, whatever it holds", () => {
    const many = Array.from({ length: 200 }, (_, n) => session(`agent ${n}`, health("working", n)));
    const tasks = Array.from({ length: 500 }, (_, n) =>
      task(`t-${n}`, "x\u001b[31m".repeat(50), { updatedAt: now, dependsOn: n === 0 ? [] : [`t-${n - 1}`] }),
    );
    const elsewhere = many.map(({ name }) => far(`${name}\u001b@desk`));
    for (const width of [30, 80, 120]) {
      const lines = leadView(data(many, { tasks }), screen(width));
      expect(lines.length).toBeLessThanOrEqual(40);
      const shared = leadView(data(many, { tasks, elsewhere }), screen(width));
      expect(shared.length).toBe(lines.length + 7);
      lines.push(...shared);
      for (const line of lines) {
        expect(widthOf(line)).toBeLessThanOrEqual(width);
        expect(line).not.toContain("\u001b");
      }
    }
  });
});

describe("agents of other machines", () => {
  it("are shown with their role, task and state, at most five", () => {
    const claims = { id: "t-1", description: "Build the parser" };
    const elsewhere = [
      far("ann@desk", { role: "reviewer", tasks: [claims], state: "away" }),
      far("ben@desk", { rolesWaiting: [{ agent: null, role: "tester" }] }),
      far("cy@desk", { declared: { role: "", task: "Page the list" } }),
      far("di@tower"),
    ];
    const lines = leadView(data([], { tasks: [parser], elsewhere }), screen(80));
    const from = lines.indexOf("On 2 other machines");
    expect(lines.slice(from - 1, from + 5)).toEqual([
      "",
      "On 2 other machines",
      '  ann@desk: reviewer, #1 "Build the parser", its machine is silent',
      "  ben@desk: the role tester waits",
      '  cy@desk: on "Page the list"',
      "  di@tower",
    ]);
    expect(lines[0]).toContain("no other agents on this machine");
    const many = Array.from({ length: 9 }, (_, n) => far(`a${n}@desk`));
    expect(leadView(data([], { elsewhere: many }), screen(80))).toContain("  and 5 more");
    expect(leadView(data([], { elsewhere: [] }), screen(80)).join()).not.toContain("machine");
  });
});

describe("the critical path", () => {
  it("is the longest chain of unfinished tasks", () => {
    const ids = (tasks: readonly TaskRow[]) => criticalPath(tasks).map(({ id }) => id);
    expect(ids([])).toEqual([]);
    expect(ids([page, parser, api])).toEqual(["t-1", "t-2", "t-3"]);
    const done = { ...parser, status: "done" as const };
    expect(ids([done, api, page])).toEqual(["t-2", "t-3"]);
    expect(ids([task("a", ""), { ...task("b", ""), dependsOn: ["a", "none"] }, task("c", "")])).toEqual([
      "a",
      "b",
    ]);
  });

  it("is as long as there are tasks, costs what they are, and a cycle ends it", () => {
    const long = Array.from({ length: 20_000 }, (_, n) =>
      task(`t-${n}`, "", { dependsOn: n === 0 ? [] : [`t-${n - 1}`] }),
    );
    expect(criticalPath(long.toReversed())).toHaveLength(20_000);
    const circle = ["a", "b", "c"].map((id, n) => task(id, "", { dependsOn: [["c", "a", "b"][n] ?? ""] }));
    expect(criticalPath(circle).length).toBeGreaterThan(0);
  });
});

describe("the suggestion", () => {
  const members = (...sessions: SessionRow[]) => membersOf(sessions, null);
  it("is who waits for a person, then who stalled, then an idle agent with a task for its role", () => {
    const tests = task("t-5", "Write tests", { labels: ["tests"] });
    const code = task("t-6", "Write code");
    expect(suggestionFor(members(fay, eve, dan), [tests])).toMatchObject({
      what: "ask_person",
      member: { name: "fay" },
    });
    expect(suggestionFor(members(eve, dan), [tests])).toMatchObject({
      what: "look",
      member: { name: "eve" },
    });
    expect(suggestionFor(members(dan), [code, tests])).toMatchObject({ what: "give", task: { id: "t-5" } });
    expect(suggestionFor(members(dan), [code])).toBeNull();
    const gus = session("gus", { ...health("idle", 1) });
    expect(suggestionFor(members(gus), [tests, code])).toMatchObject({ what: "give", task: { id: "t-6" } });
    expect(suggestionFor(members(gus), [code, claimed(gus, "t-9", "its own")])).toBeNull();
    expect(suggestionFor(members(gus), [api])).toBeNull();
    expect(suggestionFor(members(gus), [task("t-8", "", { risk: "red" })])).toBeNull();
    expect(suggestionFor(members(bob), [code])).toBeNull();
    const ivy = session("ivy", { ...health("idle", 1), role: { role: "researcher", by: "person" } });
    expect(suggestionFor(members(ivy), [task("t-7", "look", { risk: "yellow" })])).toBeNull();
  });
});

it("a lead declared it, or has agents in its session", () => {
  const team = session("team", { agents: [helper("alice", {})] });
  const all = [lead, bob, team];
  const spawned = { parent: { id: "sue", agent: null, name: "sue" }, endedAt: null };
  const of = (id: string, agent: string | null = null) => isLead(all, [spawned], { id, agent });
  expect([of("sue"), of("sue", "x")]).toEqual([true, false]);
  expect([
    of(lead.id),
    of(bob.id),
    of(team.id),
    of(team.id, team.agents[0]?.agent ?? ""),
    of("none"),
  ]).toEqual([true, false, true, false, false]);
});
