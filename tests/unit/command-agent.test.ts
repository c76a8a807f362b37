/** kite agent: one agent on one screen, and its history. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { agent } from "../../bin/agents/agents.ts";
import { unpainted, widthOf } from "../../bin/view/text.ts";
import { encode, type TrailLine } from "../../daemon/trail/line.ts";
import type { DeclarationRow } from "../../protocol/schemas/declaration.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import type { AgentRow } from "../../protocol/session-rows.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { type Asked, fakeDaemon, fakeWorld } from "./command-world.ts";
import { declaration, lock, now, session, task } from "./view-rows.ts";

const shop = "/home/ana/code/shop";
const explore: AgentRow = {
  agent: "a0954b2b04fdf61ec",
  name: "Explore",
  status: "active",
  locks: 0,
  waitingFor: "src/b.ts",
  waitingForPath: `${shop}/src/b.ts`,
};
const project = "/home/ana/code/shop/.git";
const alice = session("alice", { agents: [explore], lastSeenMs: 3_000, attention: "Bash: npm publish" });
const bob = session("bob", { agents: [{ ...explore, agent: "a1111222233334444", locks: 1 }] });

function trail(at: number, more: Partial<TrailLine>): TrailLine {
  const who = { id: alice.id, agent: null, name: "alice", project };
  return { at, event: "PreToolUse", ...who, type: "Edit", file: null, decision: "allow", ...more };
}

const page = task("t-mhx3k2p1-1a", "Page the list", {
  status: "active",
  assignee: alice.id,
  assigneeName: "alice",
  createdAt: now - 900_000,
  updatedAt: now - 120_000,
});

const declared = declaration("alice", {
  role: "implementer",
  team: "orders",
  task: "Page the list of orders by a cursor, as the other lists are, and keep the old links alive",
  confidence: 0.7,
  reason: "I read it",
  plan: ["write", "test"],
  files: [{ path: `${shop}/src/a.ts`, dir: false, sees: "one query", will: "a cursor", touched: true }],
  uncertainties: [{ question: "is it stable?", settledBy: "a test", evidence: "", resolved: false }],
  mismatches: ["identity.team: declared orders, but the client says its team is session-7f4090af"],
});

let folder: string;

beforeEach(() => {
  folder = temporaryFolder("kite-agent-");
});

function world(
  rows: Partial<Record<string, readonly object[]>>,
  lines: readonly TrailLine[] = [],
  env: Record<string, string> = { COLUMNS: "80" },
) {
  mkdirSync(join(folder, "trail"), { recursive: true });
  writeFileSync(join(folder, "trail", "trail-1.ndjson"), lines.map(encode).join(""));
  const all = new Map<string, readonly object[]>(Object.entries({ "query sessions": [alice, bob], ...rows }));
  const targets = ["sessions", "locks", "declarations", "declarations_ended", "tasks", "messages"];
  const answers = Object.fromEntries(
    targets.map(target => {
      const name = `query ${target}`;
      return [
        name,
        ({ id, status }: Asked) => ({
          ok: true,
          rows: (all.get(name) ?? []).filter(isOf(target, id, status)),
        }),
      ];
    }),
  );
  return fakeWorld({ daemon: fakeDaemon(answers), env, home: folder });
}

/** Filters as the daemon does, but for assignees. */
function isOf(target: string, id: unknown, status: unknown) {
  return (row: object) =>
    (id === undefined || target === "messages" || Reflect.get(row, "id") === id) &&
    (status === undefined || Reflect.get(row, "status") === status);
}

const waiter = { id: alice.id, agent: null, name: "alice", waitedMs: 4_000, attached: true };
const busy = {
  "query declarations": [declared, { ...declared, agent: explore.agent, task: "look" }],
  "query locks": [
    lock("src/a.ts", "alice", { waiters: [{ ...waiter, id: bob.id, name: "bob" }] }),
    lock("src/b.ts", "bob", {
      waiters: [waiter, { ...waiter, agent: explore.agent, name: "alice/Explore" }],
    }),
  ],
  "query tasks": [page, { ...page, id: "t-mhx3k2p1-2", assigneeAgent: explore.agent, description: "Look" }],
  "query messages": [
    {
      id: "m-1",
      from: null,
      text: "hi",
      thread: "m-1",
      to: [{ id: alice.id, agent: null, name: "alice", state: "unread" }],
    },
    {
      id: "m-2",
      from: null,
      text: "hi",
      thread: "m-2",
      to: [{ id: alice.id, agent: null, name: "alice", state: "read" }],
    },
  ],
};

const decisions = [
  trail(now - 9_000, { file: `${shop}/src/old.ts`, agent: explore.agent, name: "alice/Explore" }),
  ...Array.from({ length: 7 }, (_, n) =>
    trail(now - 8_000 + n * 1_000, { file: `${shop}/src/${n}.ts`, decision: n === 6 ? "deny" : "allow" }),
  ),
];

describe("kite agent", () => {
  it("shows one agent on one screen", async () => {
    const w = world(busy, decisions);
    expect(await agent(w, "alice", {})).toBe(0);
    expect(w.out().split("\n")).toEqual([
      "alice  active  alice-0000-4000",
      "  session     alice, pid 4800, since 12:55:00, seen 3s ago",
      "  project     shop",
      "  branch      main",
      "  directory   ~/code/shop",
      "  needs you   Bash: npm publish",
      "  role        implementer",
      "  team        orders",
      "  mismatch    identity.team: declared orders, but the client says its team is",
      "              session-7f4090af",
      "  task        Page the list of orders by a cursor, as the other lists are, and",
      "              keep the old links alive",
      "  confidence  0.7",
      "  reason      I read it",
      "  plan        1. write",
      "              2. test",
      "  files       src/a.ts (changed)",
      "                now: one query",
      "                will: a cursor",
      "  not sure    is it stable?",
      "                settled by: a test",
      "  holds       src/a.ts for 12s, 1 waiter",
      "  waits for   src/b.ts behind bob, 4s",
      "  claimed     #46 Page the list",
      "  messages    1 unread",
      "",
      "Latest decisions",
      "  13:59:54  allow  alice             Edit          src/2.ts",
      "  13:59:55  allow  alice             Edit          src/3.ts",
      "  13:59:56  allow  alice             Edit          src/4.ts",
      "  13:59:57  allow  alice             Edit          src/5.ts",
      "  13:59:58  deny   alice             Edit          src/6.ts",
      "",
    ]);
  });

  it("shows an agent within a session, and only what is its own", async () => {
    const w = world(busy, decisions);
    expect(await agent(w, "alice/Explore", {})).toBe(0);
    const shown = w.out();
    expect(shown).toMatch(/^alice\/Explore {2}active {2}alice-0000-4000, agent a0954b2b04fdf61ec\n/);
    expect(shown).toContain("  waits for   src/b.ts behind bob, 4s\n");
    expect(shown).toContain("  task        look\n");
    expect(shown).toContain("  claimed     #46 Look\n");
    expect(shown).toContain("src/old.ts");
    for (const others of ["holds", "unread", "needs you", "src/6.ts"]) expect(shown).not.toContain(others);
  });

  it("says so of one that declared nothing", async () => {
    const w = world({});
    await agent(w, "bob", {});
    expect(w.out()).toContain("  declared   nothing\n");
    expect(w.out()).not.toContain("Latest decisions");
  });

  it("shows strange texts on their lines, at any width", async () => {
    const nasty = "\u001b[31mred\u202e\r\n日本語".repeat(30);
    const files = [{ path: `/p/${nasty}`, dir: false, sees: nasty, will: nasty, touched: false }];
    const rows = { "query declarations": [{ ...declared, task: nasty, role: nasty, plan: [nasty], files }] };
    for (const width of [20, 30, 80, 200]) {
      const w = world(rows, [trail(now, { why: nasty })], { COLUMNS: `${width}` });
      await agent(w, "alice", {});
      for (const line of w.out().split("\n")) expect(widthOf(unpainted(line))).toBeLessThanOrEqual(width);
      for (const strange of ["\u001b", "\u202e", "\r"]) expect(w.out()).not.toContain(strange);
    }
  });

  it("gives everything as JSON", async () => {
    const w = world(busy, decisions);
    expect(await agent(w, "alice", { json: true })).toBe(0);
    expect(JSON.parse(w.out())).toMatchObject({
      agent: { id: alice.id, agent: null, name: "alice", project },
      session: { id: alice.id },
      declaration: { role: "implementer" },
      locks: [{ file: "src/a.ts" }],
      waits: [{ file: "src/b.ts" }],
      tasks: [{ id: page.id }],
      unread: 1,
      decisions: { length: 5 },
    });
  });
});

describe("a name", () => {
  it.each([
    ["alice", alice.id, null],
    ["alice-0000-4000", alice.id, null],
    ["alice-00", alice.id, null],
    ["bob/Explore", bob.id, "a1111222233334444"],
    ["a0954", alice.id, explore.agent],
  ])("%s is found", async (name, id, part) => {
    const w = world({});
    expect(await agent(w, name, { json: true })).toBe(0);
    expect(JSON.parse(w.out())["agent"]).toMatchObject({ id, agent: part });
  });

  it("that fits several lists them", async () => {
    const w = world({});
    expect(await agent(w, "Explore", { json: true })).toBe(1);
    expect(JSON.parse(w.out())).toMatchObject({
      code: "recipient_ambiguous",
      matches: [{ name: "alice/Explore" }, { name: "bob/Explore" }],
    });
  });

  it("that several projects have is that of the working directory's", async () => {
    const other = session("alice", { id: "far", project: "/far/.git" });
    const near = session("alice", { id: "near", project: shop });
    const w = world({ "query sessions": [other, near] });
    expect(await agent(w, "alice", { json: true })).toBe(0);
    expect(JSON.parse(w.out())["agent"]).toMatchObject({ id: "near" });
  });

  it("that nobody has or had is refused", async () => {
    const w = world({}, decisions);
    expect(await agent(w, "zoe", {})).toBe(1);
    expect(w.err()).toBe("kite: no agent is called zoe; active: alice, alice/Explore, bob, bob/Explore\n");
  });
});

describe("kite agent --history", () => {
  const ended: readonly DeclarationRow[] = Array.from({ length: 12 }, (_, n) =>
    declaration("carol", { task: `task ${n}`, declaredAt: now - 60_000 + n * 1_000, endedMs: 5 }),
  );
  const finished: readonly TaskRow[] = [
    { ...page, id: "t-1", assignee: "carol-0000-4000", status: "failed", result: "no server" },
    { ...page, id: "t-2", status: "done", result: "by id\nand date", updatedAt: now - 180_000 },
  ];
  const past = { "query declarations_ended": ended, "query tasks": [page, ...finished] };

  it("is all there is of an agent that has ended: the latest of each, in order", async () => {
    const w = world(past, [
      trail(now - 5_000, { id: "carol-0000-4000", name: "carol", event: "SessionEnd" }),
    ]);
    expect(await agent(w, "carol", {})).toBe(0);
    const lines = w.out().split("\n");
    expect(lines.slice(0, 4)).toEqual([
      "carol  ended  carol-0000-4000",
      "",
      "Declared before",
      '  13:59:02  on "task 2"',
    ]);
    expect(lines.filter(line => line.includes('on "task'))).toHaveLength(10);
    expect(lines.slice(-7)).toEqual([
      "Finished tasks",
      "  13:57:00  done  #46 Page the list: by id and date",
      "  13:58:00  failed  #46 Page the list: no server",
      "",
      "Latest decisions",
      "  13:59:55  allow  carol             SessionEnd",
      "",
    ]);
  });

  it("is found by the trail alone, and asked for of a live one", async () => {
    const gone = world({}, [trail(now, { id: "dan-0000", name: "dan", agent: "x", decision: "deny" })]);
    expect(await agent(gone, "dan-0000", {})).toBe(1);
    const found = world({}, [trail(now, { id: "dan-0000", name: "dan" })]);
    expect(await agent(found, "dan", { json: true })).toBe(0);
    expect(JSON.parse(found.out())).toMatchObject({ agent: { id: "dan-0000" }, isLive: false });
    const live = world(busy, decisions);
    expect(await agent(live, "alice", { history: true })).toBe(0);
    expect(live.out()).toMatch(/^alice {2}live {2}alice-0000-4000\n\nLatest decisions\n/);
    expect(live.out().match(/ Edit /g)).toHaveLength(7);
  });
});
