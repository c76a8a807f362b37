/** Which log has a project's rows, who reads them, and who hears of its steps. */

import { beforeEach, describe, expect, it, test } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { addSpawn } from "../../daemon/core/lead/tables/spawns.ts";
import type { State } from "../../daemon/core/state.ts";
import type {
  Command,
  CommandType,
  CoreEvent,
  Entry,
  Reply,
  Step,
} from "../../daemon/core/tables/entries.ts";
import { listOf, taskAt } from "../../daemon/core/tables/tasks.ts";
import { type Listener, Listeners, type Logs, type LogView, ownView } from "../../daemon/engine/log-view.ts";
import { HookEvent, taskOf } from "../../daemon/hooks/event.ts";
import { Delivery, Notices, Pending, terminalCounts } from "../../daemon/hooks/notices.ts";
import { actionHandlers } from "../../daemon/hooks/run.ts";
import { PeerMemory, SessionWorks } from "../../daemon/hooks/session-work.ts";
import { GateMemory } from "../../daemon/lead/gate-memory.ts";
import { completionFindings } from "../../daemon/lead/gates.ts";
import { noteOf } from "../../daemon/lead/health-watch.ts";
import { rolePart } from "../../daemon/lead/roles.ts";
import { type HandlerServices, run } from "../../daemon/requests/handlers.ts";
import { Call, Turns } from "../../daemon/server/call.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import { SharedNames } from "../../daemon/sharing/names.ts";
import type { HookAction } from "../../hooks/seam/slices.ts";
import { gatePresets } from "../../protocol/lead/roles.ts";
import type { RequestOf, RequestType } from "../../protocol/schemas/requests.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { actor, type World } from "./core-world.ts";
import { openOf } from "./debate-world.ts";
import { Local, Store, shared } from "./nodes-world.ts";
import { claimOf, createOf, releaseOf, updateOf } from "./task-world.ts";

// A machine `laptop` that shares the project /p, with what its own log still has of it, and what the shared one has.

class SharedProject implements Logs {
  readonly local = new Local("a");
  readonly store = new Store();
  /** The commands that were proposed, as they were. */
  readonly proposed: Command[] = [];
  readonly epoch = 1;
  readonly voided: readonly number[] = [];
  readonly #own = ownView(this);
  readonly #shared: LogView;
  #rebuilt: State | null = null;

  constructor() {
    const { local, store } = this;
    store.join("a", "laptop");
    store.join("b", "desk");
    local.begin("alice", { name: "alice" });
    store.take("a", local);
    const desk = new Local("b");
    desk.begin("carol", { name: "carol" });
    store.take("b", desk);
    const names = new SharedNames({ node: "a", own: () => local.state, shared: () => store.state });
    const rebuilt = () => this.#rebuilt;
    this.#shared = {
      get state() {
        return rebuilt() ?? store.state;
      },
      get now() {
        return store.now;
      },
      project: project => names.project(project) ?? project,
      actor: one => names.actor(one) ?? one,
      outward: shown => names.outward(shown, "/p"),
    };
  }

  get state(): State {
    return this.local.state;
  }

  get now(): number {
    return this.local.now;
  }

  logOf(project: string | null): LogView {
    return project === "/p" ? this.#shared : this.#own;
  }

  get logs(): readonly LogView[] {
    return [this.#own, this.#shared];
  }

  /** What the shared log calls the session. */
  idOf(session: string): string {
    return this.local.idOf(session);
  }

  /** What the shared log calls carol, a session of another machine. */
  get carol(): string {
    return [...this.store.state.sessions.live.keys()].find(id => id.startsWith("carol")) ?? "";
  }

  /** Enters into the shared log, by the names that it has. */
  enter(command: Command, node = "a"): Reply {
    return this.store.as(node, command);
  }

  /** The shared log's state is another object from now on. */
  rebuildShared(): void {
    this.#rebuilt = { ...this.store.state };
  }

  async read(read: (state: State) => void): Promise<void> {
    read(this.state);
  }

  async upToDate(): Promise<void> {}

  async outputReleased(): Promise<void> {}

  submit(command: Command, caller: { answer(reply: Reply): void }): number {
    const reply = this.#route(command);
    queueMicrotask(() => caller.answer(reply));
    return this.proposed.length;
  }

  submitWithRetry(command: Command): void {
    this.#route(command);
  }

  async submitAndWait(command: Command): Promise<Reply> {
    return this.#route(command);
  }

  /** What proposes to one of the logs. */
  proposer(log: LogView) {
    const enter = (command: Command) => {
      this.proposed.push(command);
      return this.local.do(command);
    };
    if (log !== this.#own) return this;
    return {
      submitAndWait: async (one: Command) => enter(one),
      submitWithRetry: (one: Command) => void enter(one),
    };
  }

  /** What the daemon will do: a command of the project's inboxes goes to the shared log. */
  #route(command: Command): Reply {
    this.proposed.push(command);
    if (command.type !== "inbox_take" && command.type !== "inbox_told") return { ok: true };
    const who: Actor = this.#shared.actor(command.actor);
    return this.#shared.outward(this.enter({ ...command, actor: who }));
  }
}

// What the daemon shows of a project that machines share, and of others, with the logs in the test's hand.

const wallMs = 1_000_000;
type Row = Readonly<Record<string, unknown>>;

/**
 * The shared log has "kept" things of /p; of that project the machine's own log has "stale" ones, but for its mail, and "own"
 * ones of /q, which it shares with nobody. alice works in /p, dave in /q; carol works in /p on another machine.
 */
class ReadersWorld {
  readonly logs = new SharedProject();
  readonly clock = new SimulatedClock(wallMs);
  readonly services: HandlerServices;

  constructor() {
    const { logs, clock } = this;
    const { local } = logs;
    local.begin("dave", { name: "dave", project: "/q" });
    const enterLocal = (command: Command) => local.do(command);
    fill((command, isCarols) => logs.enter(command, isCarols ? "b" : "a"), {
      ...{
        word: "kept",
        project: shared,
        who: logs.idOf("alice"),
        carol: logs.carol,
        mail: "kept text",
        more: 0,
      },
    });
    // Counts of the two logs differ.
    fill(enterLocal, {
      word: "stale",
      project: "/p",
      who: "alice",
      carol: null,
      mail: "of a merge",
      more: 5,
    });
    fill(enterLocal, { word: "own", project: "/q", who: "dave", carol: null, mail: "own text", more: 0 });
    // What the readers use, and no more.
    const services = {
      ...{ node: "a", engine: logs, clock, presence: new PresenceTable(clock), turns: new Turns() },
      notes: { pending: new Pending(), terminals: new Notices(terminalCounts) },
      peers: { memory: new PeerMemory(), works: new SessionWorks() },
      ...{ gateMemory: new GateMemory(), points: [] },
      recorder: { note: () => {}, refused: () => {}, refusals: [], dropped: 0 },
      ...{
        version: "test",
        startedAt: 0,
        counters: { requests: 0, refused: 0 },
        entry: { counts: new Map() },
      },
      ...{ events: { subscribers: 0 }, connections: () => [], fewDescriptors: () => null },
      journal: () => ({ bytes: 0, full: false }),
      config: {
        offSwitches: { read: () => ({ all: null, projects: new Map(), sessions: new Map() }) },
        settings: { values: { mode: "on" } },
        seenFiles: { changed: () => [] },
        rules: { at: async () => ({ gates: { ...gatePresets.off, quality: "warn", recovery: "warn" } }) },
      },
      ...{ rescue: null, shared: null },
      facts: { repository: async () => ({ project: "/p", worktree: "/p", gitDir: null }) },
      checks: { for: async () => ({ trust: "none", checks: [], project: "/p", worktree: "/p" }) },
      completionTries: { passed: () => {} },
      calls: {
        failures: { pending: () => ({ tool: "Bash", error: "no" }), told: () => {} },
        tasks: { atWork: () => {}, named: () => [] },
        decisions: { isFirst: () => false },
      },
    };
    this.services = services as unknown as HandlerServices;
  }

  /** Asks as a client does whose connection shows a person. */
  ask(type: RequestType, request: object, isPersons = true): Promise<Row> {
    return new Promise((resolve, reject) => {
      const connection = {
        ...{ view: null, sessions: new Map(), isPersons, isClosed: false, client: null },
        room: () => undefined,
        reply: (_: unknown, reply: Row) => resolve(reply),
        replyJson: (_: unknown, text: string) => resolve(JSON.parse(text)),
      };
      const call = this.call(type, connection);
      const asked = { type, ...request } as unknown as RequestOf<RequestType>;
      Promise.resolve(run(this.services, type, asked, call)).catch(reject);
    });
  }

  async rows(target: string, more: object = {}): Promise<readonly Row[]> {
    return (await this.ask("query", { target, ...more }))["rows"] as readonly Row[];
  }

  /** Does an action of a hook's event, whose answer its client gets. */
  async does(action: object): Promise<Row> {
    const { do: name } = action as HookAction;
    const call = this.call("hook", { isClosed: false });
    const delivery = new Delivery();
    const plan = { doing: null, event: "Stop" };
    const event = new HookEvent(this.services, this.services, call, plan as never, null, false, delivery);
    const outcome = await actionHandlers[name](event, action as never, this.services);
    delivery.settle(true);
    return outcome as unknown as Row;
  }

  call(type: RequestType, connection: object): Call {
    const onBug = (_: Call, error: unknown) => {
      throw error;
    };
    return new Call(this.services as never, connection as never, {} as never, type, onBug);
  }

  /** Adds a record of an agent that was spawned for the task. Returns true. */
  spawned(task: string): true {
    const spawn = { id: "s-1", n: 1, project: "/p", name: "bob", state: "done", session: null, parent: null };
    addSpawn(this.logs.state.spawns, { ...spawn, task, result: null, replaceUntil: null } as never);
    return true;
  }

  /** The id of the shared log's first task that is `active`, or done, or red. */
  task(list: "active" | "done" | "watched"): string {
    const { tasks } = this.logs.store.state;
    const [place = ""] = listOf(tasks, list, shared).from("");
    return taskAt(tasks, place).id;
  }
}

interface Filling {
  readonly word: string;
  readonly project: string;
  /** The session that claims a task and gets the messages. */
  readonly who: string;
  /** Who wrote to it; null: a person. */
  readonly carol: string | null;
  readonly mail: string;
  /** So many ready tasks and keys more. */
  readonly more: number;
}

/** Enters some of everything into a log. */
function fill(
  log: (command: Command, isCarols: boolean) => Reply,
  { word, project, who, carol, mail, more }: Filling,
): void {
  const enter = (command: Command, isCarols = false) => {
    const reply = log(command, isCarols);
    if (!reply.ok) throw new Error(`${command.type}: ${reply.error}`);
    return reply as unknown as Row;
  };
  const made = enter({ ...openOf(null, { participants: [] }), project, question: `${word} question` });
  const tasks = [
    { description: `${word} ready` },
    { description: `${word} claimed`, debate: String(made["debate"]) },
    { description: `${word} red`, risk: "red" as const },
    { description: `${word} done` },
    ...Array.from({ length: more }, () => ({ description: `${word} too` })),
  ];
  // Ids have the time in them: the two logs have none in common.
  const at = wallMs + word.length;
  const added = enter({ ...createOf(tasks, null, at), project } as Command)["tasks"] as readonly Row[];
  const [, claimed = "", , done = ""] = added.map(({ id }) => String(id));
  enter({ ...claimOf(who, claimed, [], at), project } as Command);
  enter({ ...updateOf(null, done, { status: "done", result: `${word} result` }, at), project } as Command);
  const said = { project, text: mail, bytes: mail.length, replyTo: null, urgent: false, wallMs: at };
  const from = carol === null ? null : actor(carol);
  enter({ type: "message_send", actor: from, to: who, ...said }, from !== null);
  for (const key of [`${word}.port`, `${word}.host`, ...tasks.slice(4).map((_, n) => `${word}.${n}`)])
    enter(setOf(project, key, null, at));
}

function setOf(project: string, key: string, by: string | null, at = wallMs): Command {
  const value = { value: key, bytes: key.length, durable: true, ifVersion: null, ttlMs: null };
  return { type: "context_set", actor: by === null ? null : actor(by), project, key, ...value, wallMs: at };
}

// Who reads tasks, messages, context and debates reads them from the log of their project: both logs have something of /p
// (`ReadersWorld`). A new reader gets a row.
describe("readers of a shared project", () => {
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

  type Read = (w: ReadersWorld) => unknown;
  const requests: readonly (readonly [string, Read, unknown])[] = [
    ["query tasks", async w => each(await w.rows("tasks", of), "description"), tasks],
    [
      "query task_ready",
      async w => each(await w.rows("task_ready", of), "description"),
      [tasks[0], tasks[2]],
    ],
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
    [
      "stats",
      w => field(w.ask("stats", {}), "tasks"),
      { active: 2, ready: 4, blocked: 0, failed: 0, done: 2 },
    ],
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
    let w: ReadersWorld;
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
});

// Rows of all projects, page by page over two logs; and what an agent's own doings in the shared log count as.
describe("pages of all projects", () => {
  let w: ReadersWorld;

  beforeEach(() => {
    w = new ReadersWorld();
  });

  interface Page {
    readonly rows: readonly Row[];
    readonly next?: string;
  }

  async function pageOf(target: string, limit: number, after?: string): Promise<Page> {
    const request = { target, limit, ...(after === undefined ? {} : { after }) };
    return (await w.ask("query", request)) as unknown as Page;
  }

  describe("pages of all projects", () => {
    const both = (names: readonly string[]) =>
      ["own", "kept"].flatMap(word => names.map(one => `${word}${one}`));
    it.each([
      ["tasks", "description", both([" ready", " claimed", " red", " done"])],
      ["task_ready", "description", both([" ready", " red"])],
      ["task_watched", "description", both([" red"])],
      ["context", "key", both([".host", ".port"])],
      ["messages", "text", ["of a merge", "own text", "kept text"]],
    ])("have each row of both logs once, the own log's first: %s", async (target, field, expected) => {
      for (const limit of [1, 2, 3, expected.length, 1_000]) {
        const shown: unknown[] = [];
        let after: string | undefined;
        do {
          const { rows, next } = await pageOf(target, limit, after);
          expect(rows.length).toBeLessThanOrEqual(limit);
          shown.push(...rows.map(row => row[field]));
          after = next;
        } while (after !== undefined);
        expect([limit, shown]).toEqual([limit, expected]);
      }
    });

    it("go on behind the last row, whatever came to either log meanwhile", async () => {
      const task = (log: World, description: string, project: string) =>
        log.do({ ...createOf([{ description }], null, wallMs), project } as never);
      const { next: inOwn } = await pageOf("tasks", 3);
      w.logs.enter({ ...createOf([{ description: "kept late" }], null, wallMs), project: shared } as never);
      task(w.logs.local, "own late", "/q");
      const { rows, next } = await pageOf("tasks", 3, inOwn);
      expect(rows.map(({ description }) => description)).toEqual(["own done", "own late", "kept ready"]);
      task(w.logs.local, "own later", "/q");
      const rest = await pageOf("tasks", 1_000, next);
      expect(rest.rows.map(({ description }) => description)).toEqual([
        "kept claimed",
        "kept red",
        "kept done",
        "kept late",
      ]);
      expect(rest.next).toBeUndefined();
    });

    it.each(["tasks", "messages"])("refuse a place in a log that is shared no more: %s", async target => {
      const refused = await w.ask("query", { target, after: "\n7 1 x" });
      expect(refused).toMatchObject({ ok: false, code: "invalid_request", path: "after" });
    });
  });

  describe("an agent of a project that machines share", () => {
    const hers = () => actor(w.logs.idOf("alice"));
    const told = () => w.does({ do: "list_peers", session: "alice", changesOnly: true });

    it("is not told of what it finished or shared itself", async () => {
      await told();
      w.logs.enter(setOf(shared, "hers", hers().session, wallMs + 100));
      w.logs.enter(setOf(shared, "his", w.logs.carol, wallMs + 100), "b");
      const task = w.task("active");
      const done = {
        ...updateOf(hers(), task, { status: "done", result: "x" }, wallMs + 100),
        project: shared,
      };
      w.logs.enter(done as never);
      expect(await told()).toMatchObject({ keys: ["his"], moreKeys: 0, finished: [] });
    });

    it("has another mark of its work after a claim there", () => {
      const works = new SessionWorks();
      const session = w.logs.state.sessions.live.get("alice");
      const mark = () => works.of(w.services, session as never).mark;
      const before = mark();
      w.logs.enter({ ...releaseOf(hers().session, w.task("active")), project: shared } as never);
      const free = mark();
      w.logs.enter({ ...claimOf(hers(), null, [], wallMs), project: shared } as never);
      expect(new Set([before, free, mark()]).size).toBe(3);
    });

    it("takes its messages under its own name", async () => {
      await w.does({ do: "inbox", session: "alice", take: true });
      const taken = w.logs.proposed.filter(({ type }) => type.startsWith("inbox"));
      const [take, tell] = [{ type: "inbox_take" }, { type: "inbox_told", heard: true }];
      const hersHere = { actor: actor("alice") };
      expect(taken).toMatchObject([take, take, tell, tell].map(one => ({ ...one, ...hersHere })));
      expect(await w.does({ do: "inbox", session: "alice", take: true })).toMatchObject({ messages: [] });
    });

    it("has a read of a value noted under the project's own name", async () => {
      w.logs.store.now += 86_400_000;
      await w.ask("context_get", { id: "alice", key: "kept.port" });
      expect(w.logs.proposed).toEqual([{ type: "context_read", project: "/p", key: "kept.port" }]);
    });

    it("has nothing waiting when it has read all in both logs", () => {
      const waits = (session: string) => w.services.notes.pending.has(w.logs, actor(session));
      const idsIn = (state: State, key: string) =>
        [...(state.messages.inboxes.get(key)?.all ?? [])].map(place => place.split(" ")[1] ?? "");
      const { local, store } = w.logs;
      const messages = idsIn(store.state, hers().session);
      w.logs.enter({ type: "message_ack", actor: hers(), messages });
      expect(waits("alice")).toBe(true);
      local.do({ type: "message_ack", actor: actor("alice"), messages: idsIn(local.state, "alice") });
      expect([waits("alice"), waits("dave")]).toEqual([false, true]);
    });
  });

  test("a reply that was made while a log was rebuilt is made again", async () => {
    let tries = 0;
    const reply = await new Promise(resolve => {
      const connection = {
        view: null,
        isClosed: false,
        room: () => undefined,
        replyJson: (_: unknown, text: string) => resolve(text),
      };
      const call = w.call("query", connection);
      void call.replyLong(function* () {
        tries += 1;
        if (tries === 1) w.logs.rebuildShared();
        yield 1;
        return `"${tries}"`;
      });
    });
    expect(reply).toBe('"2"');
  });
});

describe("listeners", () => {
  /** Tells listeners of a step, and returns which of them saw it. */
  function seen(
    wants: readonly Omit<Listener, "stepped">[],
    type: CommandType,
    events: readonly CoreEvent["event"]["event"][],
  ): readonly number[] {
    const calls: number[] = [];
    const listeners = new Listeners();
    for (const [n, one] of wants.entries()) listeners.add({ ...one, stepped: () => void calls.push(n) });
    // The listeners' choice reads no other fields.
    const step = { events: events.map(event => ({ event: { event } })) } as unknown as Step;
    listeners.tell({ command: { type } } as unknown as Entry, step);
    return calls;
  }

  test("a listener sees the steps that it wants, and no others", () => {
    const wants = [
      { commands: ["session_end"] },
      { events: ["lock_granted", "lock_released"] },
      { events: "all" },
      {},
    ] as const;
    expect(seen(wants, "lock_request", [])).toEqual([]);
    expect(seen(wants, "lock_request", ["lock_granted"])).toEqual([1, 2]);
    expect(seen(wants, "session_end", ["session_ended"])).toEqual([0, 2]);
  });

  test("a step that a listener wants for several reasons comes once", () => {
    const wants = [{ commands: ["turn_end"], events: ["lock_released", "lock_granted"] }] as const;
    expect(seen(wants, "turn_end", ["lock_released", "lock_granted", "lock_released"])).toEqual([0]);
  });
});
