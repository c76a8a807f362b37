/**
 * Who reads tasks, messages, context and debates reads them from the log of their project: both logs have something of /p
 * (`readers-world.ts`). A new reader gets a row.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { taskOf } from "../../daemon/hooks/event.ts";
import { completionFindings } from "../../daemon/lead/gates.ts";
import { noteOf } from "../../daemon/lead/health-watch.ts";
import { rolePart } from "../../daemon/lead/roles.ts";
import { ReadersWorld, type Row, type ReadersWorld as World } from "./readers-world.ts";

const alice = { session: "alice", agent: null };
const actor = { ...alice, incarnation: 0 };
const of = { project: "/p" };
const by = { id: "alice" };

const each = (rows: unknown, field: string) => (rows as readonly Row[]).map(row => row[field]);
const field = async (reply: Promise<Row>, name: string) => (await reply)[name];
const some = (shown: object) => expect.objectContaining(shown);
const work = { id: expect.any(String), description: "kept claimed" };
const keys = ["kept.host", "kept.port"];
const finished = [{ description: "kept done", by: null, result: "kept result" }];
const her = { id: "alice", agent: null, name: "alice" };
const mail = ["of a merge", "kept text"];
const tasks = ["kept ready", "kept claimed", "kept red", "kept done"];

type Read = (w: World) => unknown;
const requests: readonly (readonly [string, Read, unknown])[] = [
  ["query tasks", async w => each(await w.rows("tasks", of), "description"), tasks],
  ["query task_ready", async w => each(await w.rows("task_ready", of), "description"), [tasks[0], tasks[2]]],
  ["query task_watched", async w => each(await w.rows("task_watched", of), "description"), [tasks[2]]],
  [
    "query tasks of an assignee",
    async w => each(await w.rows("tasks", { ...of, assignee: "alice" }), "description"),
    [tasks[1]],
  ],
  ["query context", async w => each(await w.rows("context", of), "key"), keys],
  ["query messages", async w => each(await w.rows("messages", of), "text"), mail],
  ["query messages of a session", async w => each(await w.rows("messages", by), "text"), mail],
  ["query sessions", async w => each(await w.rows("sessions", of), "task"), [work]],
  ["stats", w => field(w.ask("stats", {}), "tasks"), { active: 2, ready: 4, blocked: 0, failed: 0, done: 2 }],
  [
    "overview",
    w => field(w.ask("overview", { cwd: "/p" }), "projectTasks"),
    { active: 1, ready: 2, blocked: 0, failed: 0, done: 1 },
  ],
  [
    "task_get",
    w => field(w.ask("task_get", { ...by, task: "#2" }), "task"),
    some({ description: "kept claimed", assignee: "alice", project: "/p" }),
  ],
  ["task_get of none", w => field(w.ask("task_get", { ...by, task: "#9" }), "code"), "unknown_task"],
  [
    "task_import of a task that is done there",
    w => w.ask("task_import", { ...by, tasks: [{ id: w.task("done"), description: "x", status: "done" }] }),
    { ok: true },
  ],
  [
    "whether a person is needed",
    w => field(w.ask("task_update", { ...of, task: w.task("watched"), risk: "green" }, false), "code"),
    "person_only",
  ],
  [
    "context_get",
    w => w.ask("context_get", { ...by, key: "kept.port" }),
    some({ value: "kept.port", project: "/p" }),
  ],
  ["context_list", async w => each((await w.ask("context_list", by))["rows"], "key"), keys],
  ["message_list", async w => each((await w.ask("message_list", by))["messages"], "to"), [her, her]],
  ["debate_list", async w => each((await w.ask("debate_list", by))["rows"], "question"), ["kept question"]],
  [
    "debate_get",
    w => field(w.ask("debate_get", { ...by, debate: "1" }), "debate"),
    some({ question: "kept question", project: "/p" }),
  ],
  [
    "query spawns",
    async w => each(w.spawned(w.task("done")) && (await w.rows("spawns")), "result"),
    ["kept result"],
  ],
];
const hooks: readonly (readonly [string, Read, unknown])[] = [
  [
    "a first context",
    w => w.does({ do: "list_peers", ...by, session: "alice" }),
    some({ readyTasks: 2, unread: 2, keys, moreKeys: 0, finished, ownTasks: [work] }),
  ],
  [
    "a prompt",
    w => w.does({ do: "list_peers", session: "alice", changesOnly: true }),
    some({ keys, moreKeys: 0, finished }),
  ],
  [
    "a status line",
    w => field(w.does({ do: "glance", session: "alice" }), "glance"),
    some({ readyTasks: 2, unread: 2 }),
  ],
  [
    "an inbox",
    async w => each((await w.does({ do: "inbox", session: "alice", take: true }))["messages"], "text"),
    mail,
  ],
  ["what an agent does, for others", w => taskOf(w.services, actor), 'works on "kept claimed"'],
  [
    "the gate of quality",
    w => completionFindings(w.services, w.services, actor, w.task("active"), null),
    [some({ missing: expect.arrayContaining([expect.stringContaining("debate: ")]) })],
  ],
  ["a gate's words", w => field(w.does({ do: "gate_stop", session: "alice" }), "task"), "kept claimed"],
  [
    "what a released agent had",
    w => noteOf(w.services, alice, "released").tasks.map(id => id === w.task("active")),
    [true],
  ],
  [
    "a note of a red task",
    w =>
      rolePart(w.services, w.services).completed?.("alice", [
        { what: "risk", task: w.task("watched") } as never,
      ]),
    [some({ number: 3 })],
  ],
];

describe("of a project that machines share, what the shared log has is shown", () => {
  let w: World;
  beforeEach(() => {
    w = new ReadersWorld();
  });

  it.each([...requests, ...hooks])("%s", async (_, read, expected) => {
    const shown = await read(w);
    expect(shown).toEqual(expected);
    // Nothing of the own log, and nothing that is called what only the shared log calls it.
    expect(JSON.stringify(shown)).not.toMatch(/stale|@laptop|@a\.|example\.com/);
  });
});
