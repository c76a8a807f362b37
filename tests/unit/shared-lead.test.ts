/** Two machines whose daemons give roles, return tasks and tell agents across a shared project. */
import { afterEach, describe, expect, it } from "vitest";
import { roleOf } from "../../daemon/core/lead/roles.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command, CoreEvent, Entry, Reply } from "../../daemon/core/tables/entries.ts";
import type { Caller } from "../../daemon/engine/answers.ts";
import type { Engine } from "../../daemon/engine/engine.ts";
import { ownView, type SharedListener } from "../../daemon/engine/log-view.ts";
import { mergeTargets, returnsOwedTasks, sharedTasks, withDoersName } from "../../daemon/lead/merges.ts";
import { roleCommand, takesSentRoles, tellsLeads } from "../../daemon/lead/roles.ts";
import { tellsOverlaps } from "../../daemon/requests/declarations.ts";
import type { Names } from "../../daemon/store/rows.ts";
import { SharedLog } from "../../daemon/store/shared-log.ts";
import { elsewhereRows, overlapsThere } from "../../daemon/views/elsewhere.ts";
import { declarationRows, endedDeclarationRows } from "../../daemon/views/work.ts";
import type { Role } from "../../protocol/lead/roles.ts";
import { limits } from "../../protocol/limits.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { actor, World } from "./core-world.ts";
import { desk, laptop } from "./shared-copy-world.ts";
import { FakeServer, FakeStore } from "./shared-project-world.ts";
import { claimOf, createOf } from "./task-world.ts";

/** A daemon: its own log, the project that it shares, and who follows both. `state`: where a former life ended. */
class Daemon {
  readonly names: Names;
  readonly world: World;
  readonly store: FakeStore;
  readonly clock = new SimulatedClock(1);
  readonly log: SharedLog;
  readonly events: CoreEvent[] = [];
  readonly #followers: readonly SharedListener[];
  /** It is killed: nothing more leaves it. */
  isDead = false;

  constructor(server: FakeServer, names: Names, state?: State) {
    this.names = names;
    this.world = state === undefined ? new World() : new World(state);
    this.store = new FakeStore(server, names);
    const others = [laptop, desk].map(({ node, machine }) => ({ node, machine, isAway: false }));
    Object.assign(this.store, { nodes: others });
    const { world } = this;
    const submit = (command: Command, caller: Caller) => {
      if (this.isDead) return 0;
      caller.answer(this.own(command));
      return 1;
    };
    const own = {
      state: world.state,
      logOf: () => ownView({ state: world.state, now: 0 }),
      submit,
      submitWithRetry: (command: Command) => submit(command, { answer: () => {} }),
      submitAndWait: async (command: Command) => this.own(command),
      close: async () => {},
    };
    this.log = new SharedLog({
      ...{ own: own as unknown as Engine, store: this.store.it, clock: this.clock, copies: null },
      onEvents: (_project, events) => {
        this.events.push(...events);
        for (const follower of this.#followers) follower.told(events);
      },
      onDone: () => {},
      onGap: () => {},
      onReached: () => {
        for (const follower of this.#followers) follower.reached();
      },
    });
    const services = { engine: this.log, clock: this.clock } as never;
    this.returns = returnsOwedTasks(services);
    const tellers = [takesSentRoles, tellsLeads, tellsOverlaps].map(follower => follower(services));
    this.#followers = [...tellers, this.returns];
    this.log.open(names.project, names.shared);
  }

  readonly returns: ReturnType<typeof returnsOwedTasks>;

  /** Enters a command into the own log, of which those that follow it hear. */
  own(command: Command): Reply {
    const { world } = this;
    const step = world.step(command);
    const entry = world.entries.at(-1) as Entry;
    this.log.stepped(entry, step);
    if (this.returns.commands?.includes(command.type) === true) this.returns.stepped(entry, step);
    return step.reply ?? { ok: true };
  }

  begin(session: string): void {
    const { project } = this.names;
    this.own({
      ...{ type: "session_begin", session, anchor: null, cwd: project, project, worktree: project },
      ...{ branch: "main", name: session, revive: true, wallMs: this.world.n },
    });
  }

  declare(session: string, path: string, more: object = {}): Reply {
    const { project } = this.names;
    const ref = { file: path, lexical: `${project}/${path}`, key: `n:${project}/${path}`, dir: false };
    const files = [{ ref, will: `${session} mends it` }];
    this.world.now += 1;
    const nothing = { ancestors: [], anew: false, uncertainties: [], wallMs: this.world.now };
    return this.own({ type: "declare", actor: actor(session), files, ...nothing, ...more });
  }

  async ask(command: object): Promise<Reply> {
    const reply = this.log.submitAndWait({ ...command, project: this.names.project } as Command);
    await this.store.quiet();
    return reply;
  }

  get shared(): State {
    return this.log.logOf(this.names.project).state;
  }

  notes(session: string) {
    return (this.world.state.notes.pending.get(session)?.notes ?? []).map(({ note }) => note);
  }

  roleAt(session: string, agent: string | null = null): string {
    const { role, by } = roleOf(this.world.state, { session, agent });
    return `${role} by ${by}`;
  }

  async give(name: string, role: Role | null, by: string | null = null): Promise<Reply> {
    const { project } = this.names;
    const command = roleCommand(this.log, { by: by === null ? null : actor(by), project, name, role });
    return "code" in command ? command : this.log.submitAndWait(command);
  }
}

const daemons: Daemon[] = [];

/** All daemons hear what the store has, and do what follows, until nothing is left to do. */
async function settled(...those: readonly Daemon[]): Promise<void> {
  for (let round = 0; round < 6; round += 1)
    for (const { store, log, clock, isDead } of those) {
      if (isDead) continue;
      clock.pass(limits.fullRetryMs);
      for (const project of log.projects()) project.look(store.server.version);
      await store.quiet();
    }
}

async function two() {
  const server = new FakeServer();
  const made = [new Daemon(server, laptop), new Daemon(server, desk)] as const;
  daemons.push(...made);
  for (const { store } of made) await store.reach();
  made[0].begin("ann");
  made[1].begin("bob");
  await settled(...made);
  return { server, a: made[0], b: made[1], all: () => settled(...made) };
}

afterEach(async () => {
  for (const { log } of daemons.splice(0)) await log.close();
});

describe("declarations", () => {
  it("are shown on each machine, those of others with their machine and where the file is here", async () => {
    const { a, b, all } = await two();
    a.declare("ann", "src/a.ts", { task: "Page the list", role: "tester" });
    // The server of the test has no locks.
    await all();
    b.declare("bob", "src/b.ts");
    await all();
    const brief = ({ log }: Daemon) =>
      [...declarationRows(log)]
        .map(({ row }) => row())
        .map(({ id, name, machine, files }) => [id, name, machine, files.map(({ path }) => path)]);
    expect(brief(a).sort()).toEqual([
      ["ann", "ann", undefined, [`${laptop.project}/src/a.ts`]],
      ["bob@n2", "bob@desk", "desk", [`${laptop.project}/src/b.ts`]],
    ]);
    const [row] = [...elsewhereRows(b.log, desk.project)].map(one => one.row());
    expect(row).toMatchObject({ name: "ann@laptop", role: "tester", declared: { task: "Page the list" } });
    expect(b.events.filter(({ event }) => event.event === "declared")).toMatchObject([
      { from: "n1", event: { by: { id: "ann@n1", name: "ann@laptop" }, project: desk.project } },
      { from: "n2" },
    ]);
  });

  it("of the same file are told to both agents, once, and at once to the one who declares", async () => {
    const { a, b, all } = await two();
    a.declare("ann", "a.ts");
    await all();
    b.declare("bob", "a.ts");
    expect(overlapsThere(b.log, actor("bob"))).toMatchObject([
      { path: `${desk.project}/a.ts`, with: { name: "ann@laptop" }, will: "ann mends it" },
    ]);
    await all();
    const overlap = { what: "overlap", will: "bob mends it" };
    expect(a.notes("ann")).toEqual([{ ...overlap, file: `${laptop.project}/a.ts`, other: "bob@desk" }]);
    expect(b.notes("bob")).toMatchObject([{ file: `${desk.project}/a.ts`, other: "ann@laptop" }]);
    const numbers = [...a.world.state.notes.pending.values()].flatMap(({ notes }) => notes.map(({ n }) => n));
    a.own({ type: "notes_told", session: "ann", agent: null, notes: numbers, risks: [] });
    a.declare("ann", "a.ts", { task: "more" });
    b.declare("bob", "a.ts", { task: "more" });
    await all();
    expect(a.notes("ann")).toEqual([]);
  });

  it("that overlap no more before the agent heard so are no news, and are in the history when they ended", async () => {
    const { a, b, all } = await two();
    a.declare("ann", "a.ts");
    await all();
    b.declare("bob", "a.ts", { task: "one" });
    await all();
    expect(a.notes("ann")).toHaveLength(1);
    const { project } = desk;
    const ref = { file: "a.ts", lexical: `${project}/a.ts`, key: `n:${project}/a.ts`, dir: false };
    b.declare("bob", "a.ts", { files: [{ ref, drop: true }] });
    await all();
    expect(a.notes("ann")).toEqual([]);
    b.declare("bob", "a.ts", { task: "two", anew: true });
    await all();
    expect(a.notes("ann")).toHaveLength(1);
    b.own({ type: "session_end", session: "bob", incarnation: null, cause: "ended" });
    await all();
    expect(a.notes("ann")).toEqual([]);
    const ended = ({ log }: Daemon) =>
      [...endedDeclarationRows(log)]
        .map(({ row }) => row())
        .map(({ name, machine, task }) => [name, machine, task]);
    const bobs = [
      ["bob@desk", "desk", "one"],
      ["bob@desk", "desk", "two"],
    ];
    expect([ended(a), ended(b).length]).toEqual([bobs, 2]);
  });

  it("are told when the store is back, and a reader that begins is told of nothing", async () => {
    const { server, a, b, all } = await two();
    b.declare("bob", "a.ts");
    await all();
    a.store.lose();
    a.declare("ann", "a.ts", { task: "meanwhile" });
    expect(overlapsThere(a.log, actor("ann"))).toHaveLength(1);
    await all();
    expect(b.shared.declarations.live.size).toBe(1);
    await a.store.reach();
    await all();
    expect(b.shared.declarations.live.get("ann@n1")?.task).toBe("meanwhile");
    const again = new Daemon(server, laptop, a.world.state);
    daemons.push(again);
    const before = again.notes("ann").length;
    await again.store.reach();
    expect(again.shared.declarations.live.size).toBe(2);
    expect(again.notes("ann")).toHaveLength(before);
  });
});

describe("roles", () => {
  it("are given by the agent's own machine, told to it once, and then known to all", async () => {
    const { a, b, all } = await two();
    expect(await a.give("bob@desk", "reviewer")).toMatchObject({ ok: true, id: "bob@n2", role: "reviewer" });
    await all();
    expect(b.roleAt("bob")).toBe("reviewer by person");
    expect(b.notes("bob")).toMatchObject([{ what: "role", role: "reviewer" }]);
    expect(roleOf(a.shared, { session: "bob@n2", agent: null })).toEqual({ role: "reviewer", by: "person" });
    expect([a.shared.rolesSent.size, b.shared.rolesSent.size]).toEqual([0, 0]);
    const given = b.world.entries.filter(({ command }) => command.type === "role_take");
    expect(given).toHaveLength(1);
    b.own({ type: "agent_begin", session: "bob", agent: "ex-1", name: "Explore" });
    await all();
    await a.give("Explore", "tester");
    await all();
    expect(b.roleAt("bob", "ex-1")).toBe("tester by person");
    await a.give("bob@desk", null);
    await all();
    expect(b.roleAt("bob")).toBe("implementer by default");
  });

  it("wait for a machine that is away, are shown meanwhile, and the latest one is given", async () => {
    const { a, b, all } = await two();
    b.store.lose();
    await a.give("bob@desk", "tester");
    expect(await a.give("bob@desk", "reviewer")).toMatchObject({ ok: true });
    const [row] = [...elsewhereRows(a.log, laptop.project)].map(one => one.row());
    expect(row?.rolesWaiting).toEqual([{ agent: null, role: "reviewer" }]);
    expect(b.roleAt("bob")).toBe("implementer by default");
    await b.store.reach();
    await all();
    expect(b.roleAt("bob")).toBe("reviewer by person");
    expect(b.notes("bob")).toHaveLength(1);
    expect(a.shared.rolesSent.size).toBe(0);
  });

  it("that were given before the daemon was killed are told once, and wait no more after its next start", async () => {
    const { server, a, b, all } = await two();
    b.store.lose();
    await a.give("bob@desk", "tester");
    b.own({ type: "role_take", whose: { session: "bob", agent: null }, role: "tester" });
    const again = new Daemon(server, desk, b.world.state);
    daemons.push(again);
    await again.store.reach();
    await settled(a, again);
    await all();
    expect(again.notes("bob")).toMatchObject([{ what: "role", role: "tester" }]);
    expect([a.shared.rolesSent.size, again.roleAt("bob")]).toEqual([0, "tester by person"]);
  });

  it("go to an agent of this machine first, and are refused to agents, and where nobody is called so", async () => {
    const { a, b, all } = await two();
    b.begin("ann");
    await all();
    await a.give("ann", "tester");
    expect([a.roleAt("ann"), b.roleAt("ann")]).toEqual(["tester by person", "implementer by default"]);
    expect(await a.give("bob@desk", "lead", "ann")).toMatchObject({ code: "person_only" });
    expect(await a.give("nobody", "tester")).toMatchObject({ code: "recipient_gone" });
  });

  it("of a lead: it hears on its machine that others begin a red task", async () => {
    const { a, b, all } = await two();
    await b.give("bob", "lead");
    await all();
    await a.ask(createOf([{ description: "drop the table", risk: "red" }]));
    const [task = ""] = a.shared.tasks.all.keys();
    const { project } = laptop;
    await a.ask({ type: "task_approve", by: null, task, wallMs: 1, project });
    expect(await a.ask(claimOf("ann", task))).toMatchObject({ ok: true });
    await all();
    const risk = { what: "risk", task, text: "drop the table", risk: "red", other: "ann@laptop" };
    expect(b.notes("bob").filter(({ what }) => what === "risk")).toEqual([risk]);
    expect(a.notes("ann")).toEqual([]);
  });
});

describe("merges", () => {
  const runner = { name: "r", bound: { node: "local", epoch: 1, connection: 1 } };

  async function worked(on: Daemon, session: string): Promise<string> {
    await on.ask(createOf([{ description: "work" }]));
    const id = [...on.shared.tasks.all.keys()].at(-1) ?? "";
    expect(await on.ask(claimOf(session, id))).toMatchObject({ ok: true });
    const none = { dependsOn: null, description: null, priority: null, labels: null };
    const update = { type: "task_update", by: actor(session), task: id, status: "done", result: "x" };
    expect(await on.ask({ ...update, ...none, cwd: "/", wallMs: 2 })).toMatchObject({ ok: true });
    return id;
  }

  /** Queues the branch of the author and runs its merge, as requests do; it comes back. */
  function comesBack(on: Daemon, session: string, tasks: readonly string[], branch = "work"): string {
    const place = { project: on.names.project, base: "refs/heads/main", by: null, wallMs: 8 } as const;
    const author = withDoersName(on.log, on.names.project, { session, agent: null }, tasks);
    const merges = [{ branch: `refs/heads/${branch}`, author, tasks, after: [] }];
    on.own({ type: "merge_queue", runner, ...place, rebase: false, checkOnly: false, merges });
    on.own({ type: "merge_take", runner, ...place, drain: false });
    const merge = [...on.world.state.merges.all.values()].at(-1);
    if (merge === undefined) throw new Error("no merge");
    const reason = { code: "red_check", text: "red", files: [], more: 0, output: null } as const;
    const outcome = { is: "returned", reason } as const;
    const shared = sharedTasks(on.log, merge.id, outcome);
    const report = { type: "merge_report", by: null, runner, merge: merge.id, run: merge.runs } as const;
    expect(on.own({ ...report, outcome, ...shared, wallMs: 9 })).toMatchObject({ ok: true });
    return merge.id;
  }

  const statusOf = ({ shared }: Daemon, id: string) => shared.tasks.all.get(id)?.state.status;
  const owed = ({ world }: Daemon) =>
    [...world.state.merges.all.values()].filter(one => one.owed !== undefined);

  it("that come back give their authors' tasks back, of whichever machine the author is", async () => {
    const { a, b, all } = await two();
    const [mine, others] = [await worked(a, "ann"), await worked(b, "bob")];
    await all();
    comesBack(a, "ann", [mine]);
    await all();
    expect([statusOf(a, mine), statusOf(b, mine), owed(a)]).toEqual(["pending", "pending", []]);
    const [message] = a.world.state.messages.all.values();
    expect(message?.text).toContain(
      `Pending again as soon as the shared store has it, claim it first: ${mine}.`,
    );
    const id = comesBack(a, "bob@n2", [others], "other");
    expect(a.world.state.merges.all.get(id)?.author).toEqual({ id: "bob@n2", agent: null, name: "bob@desk" });
    await all();
    expect([statusOf(b, others), statusOf(b, mine)]).toEqual(["pending", "pending"]);
  });

  it("are shown on the other machines", async () => {
    const { a, b, all } = await two();
    const mine = await worked(a, "ann");
    comesBack(a, "ann", [mine]);
    await all();
    const source = { engine: b.log } as never;
    const rows = mergeTargets.merges_elsewhere.open(source, { project: desk.project } as never);
    expect([...(rows as () => Iterable<{ row: () => object }>)()].map(({ row }) => row())).toMatchObject([
      { branch: "work", author: "ann@n1", authorName: "ann", machine: "laptop", state: "returned" },
    ]);
    expect(b.events.map(({ event }) => event).filter(one => one.event === "merge_elsewhere_changed")).toEqual(
      [expect.objectContaining({ machine: "laptop", state: "returned", project: desk.project })],
    );
  });

  it("owe it while the store is away, or once the daemon was killed, and then it is done once", async () => {
    const { server, a, b, all } = await two();
    const mine = await worked(a, "ann");
    a.store.lose();
    comesBack(a, "ann", [mine]);
    await all();
    expect([statusOf(b, mine), owed(a)]).toMatchObject(["done", [{ owed: { wallMs: 9 } }]]);
    a.isDead = true;
    const again = new Daemon(server, laptop, a.world.state);
    daemons.push(again);
    await again.store.reach();
    await settled(again, b);
    expect([statusOf(b, mine), owed(again)]).toEqual(["pending", []]);
  });

  it("whose return is stored and not noted take nothing back from who has claimed the task since", async () => {
    const { server, a, b, all } = await two();
    const mine = await worked(a, "ann");
    await all();
    const own = a.world.state;
    // The daemon is killed when the store has the return, and before its own log notes that.
    a.store.connection.before = text => {
      if (text.includes("step(")) a.isDead = true;
    };
    comesBack(a, "ann", [mine]);
    await a.store.quiet();
    expect([owed(a).length, server.rows.size > 0]).toEqual([1, true]);
    const again = new Daemon(server, laptop, own);
    daemons.push(again);
    again.store.connection.before = () => {};
    await b.store.quiet();
    await settled(b);
    expect(statusOf(b, mine)).toBe("pending");
    expect(await b.ask(claimOf("bob", mine))).toMatchObject({ ok: true });
    await again.store.reach();
    await settled(again, b);
    expect([statusOf(b, mine), owed(again)]).toEqual(["active", []]);
  });

  it("of a project that is shared no more return the tasks in the machine's own log", async () => {
    const { a, all } = await two();
    const mine = await worked(a, "ann");
    a.store.lose();
    comesBack(a, "ann", [mine]);
    await a.store.quiet();
    a.log.end(laptop.project);
    await all();
    expect(owed(a)).toEqual([]);
  });
});
