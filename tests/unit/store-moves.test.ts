/**
 * Shares and leaves between a machine's own log and the store, also those that are killed at any of their steps: nothing is lost,
 * and nothing is there twice.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Sharing } from "../../daemon/core/sharing.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command, Entry } from "../../daemon/core/tables/entries.ts";
import { claimerOf, type Task, type TaskUpdate } from "../../daemon/core/tables/tasks.ts";
import { systemClock } from "../../daemon/engine/clock.ts";
import type { Engine } from "../../daemon/engine/engine.ts";
import { ownView } from "../../daemon/engine/log-view.ts";
import { type Moved, Moves } from "../../daemon/store/moves.ts";
import type { Present } from "../../daemon/store/roster.ts";
import { SharedLog } from "../../daemon/store/shared-log.ts";
import { limits } from "../../protocol/limits.ts";
import { World } from "./core-world.ts";
import { FakeServer, FakeStore, Member, serverError } from "./shared-project-world.ts";
import { claimOf, createOf, updateOf } from "./task-world.ts";

/** When the last task was made here, by wall time: no other one has that. */
let made = 1_000;
const [here, shared, desks] = ["/p", "team/app", "/d"];

/** A store whose condition and end a test sees. */
class MovesStore extends FakeStore {
  readonly id = "store-1";
  readonly where = "kite@db/kite";
  isOut = false;
  leaves: boolean | null = null;

  get condition() {
    return { is: this.refusal === null ? "open" : this.isOut ? "unfit" : "away" };
  }

  override readonly close = async (how?: { readonly leaves: boolean }) => {
    if (how !== undefined) this.leaves = how.leaves;
    return how?.leaves === true;
  };
}

/** Where a move is killed: before its nth step, or behind it. A step is an entry of the own log, or one of the store. */
interface Kill {
  readonly at: number;
  readonly isBehind: boolean;
}

/** This machine, whose daemon may be killed and start anew; and another one, `desk`, in the same store. */
class Machines {
  readonly world = new World();
  readonly server = new FakeServer();
  readonly desk = new Member(this.server, { node: "b", machine: "desk", project: desks, shared });
  steps = 0;
  kill: Kill | null = null;
  #die: () => void = () => {};
  store!: MovesStore;
  log!: SharedLog;
  moves!: Moves;
  troubles: string[] = [];
  moved: Moved[] = [];

  constructor() {
    this.world.begin("s1", { name: "alice", project: here });
    this.start();
  }

  /** A daemon starts; the store is not reached yet. */
  start(): void {
    this.kill = null;
    const { world, server } = this;
    const store = new MovesStore(server, { node: "a", machine: "laptop", project: here, shared });
    const never = () => new Promise<never>(() => this.#die());
    // Whether the step is the last one, or behind it.
    const isLast = () => {
      this.steps += 1;
      const at = this.kill?.at ?? Number.POSITIVE_INFINITY;
      return {
        isLast: this.steps === at,
        isDead: this.steps > at || (this.steps === at && !this.kill?.isBehind),
      };
    };
    store.connection.before = text => {
      if (this.store !== store) return never();
      if (!text.includes("step(")) return;
      const step = isLast();
      if (step.isLast && !step.isDead) store.connection.runAndLose(text);
      return step.isLast || step.isDead ? never() : undefined;
    };
    const own = {
      get state() {
        return world.state;
      },
      get now() {
        return world.now;
      },
      logOf: () => ownView({ state: world.state, now: 0 }),
      submitAndWait: async (command: Command) => {
        const step = this.store === store ? isLast() : { isDead: true, isLast: true };
        if (step.isDead) return never();
        const done = world.step(command);
        log.stepped(world.entries.at(-1) as Entry, done);
        return step.isLast ? never() : done.reply;
      },
      outputReleased: async () => {},
      close: async () => {},
    } as unknown as Engine;
    const clock = systemClock();
    const log: SharedLog = new SharedLog({
      ...{ own, clock, store: store.it, copies: null },
      ...{ onEvents: () => {}, onDone: () => {}, onGap: () => {}, onReached: () => moves.goOn() },
    });
    const moves: Moves = new Moves({
      ...{ own, clock, log, store: store.it, onEnded: () => {} },
      onMoved: (_sharing, moved) => void this.moved.push(moved),
      onTrouble: message => void this.troubles.push(message),
    });
    Object.assign(this, { store, log, moves });
    moves.goOn();
  }

  /** The store is reached, and what broke off before goes on. */
  async reach(): Promise<void> {
    await this.desk.store.reach();
    await this.store.reach();
    for (let n = 0; n < 200 && ["moving", "leaving"].includes(this.row?.is ?? ""); n += 1)
      await new Promise(resolve => setImmediate(resolve));
    await this.quiet();
  }

  async quiet(): Promise<void> {
    await this.store.quiet();
    this.desk.project.look();
    await this.desk.store.quiet();
  }

  async end(): Promise<void> {
    this.moves.close();
    await this.log.close();
  }

  /** Runs the move until it ends, or is killed. Returns whether it ended. */
  async run(kill: Kill, move: () => Promise<unknown>): Promise<boolean> {
    this.steps = 0;
    this.kill = kill;
    const dead = new Promise<false>(resolve => {
      this.#die = () => resolve(false);
    });
    return Promise.race([move().then(() => true), dead]);
  }

  /** A new daemon starts after a kill. */
  async again(): Promise<void> {
    await this.end();
    this.start();
    await this.reach();
  }

  get row(): Sharing | undefined {
    return this.world.state.sharings.projects.get(here);
  }

  share(): Promise<Moved> {
    return this.moves.share(here, shared).then(succeeded);
  }

  async leave(isAway = false) {
    const left = succeeded(await this.moves.leave(isAway));
    await this.quiet();
    return left;
  }

  add(description: string, more: object = {}): string {
    made += 1;
    const reply = this.world.do(createOf([{ description, ...more }], null, made));
    return (reply as unknown as { task: { id: string } }).task.id;
  }

  update(task: string, more: Partial<TaskUpdate>): void {
    expect(this.world.do(updateOf(null, task, more, 5_000))).toMatchObject({ ok: true });
  }

  set(key: string, value: string): void {
    expect(this.world.do(setOf(here, key, value))).toMatchObject({ ok: true });
  }

  async there(command: Command): Promise<void> {
    expect(await this.desk.do(command)).toMatchObject({ ok: true });
    await this.quiet();
  }

  async addThere(description: string, dependsOn: readonly string[] = []): Promise<[string]> {
    const reply = await this.desk.do({
      ...createOf([{ description, dependsOn }]),
      project: desks,
    } as Command);
    return [(reply as unknown as { task: { id: string } }).task.id];
  }

  updateThere(task: string, more: Partial<TaskUpdate>): Promise<void> {
    return this.there({ ...updateOf(null, task, more, 6_000), project: desks } as Command);
  }

  /** What a log has of the project: each open task with its status and claimer, and the durable values. */
  get own() {
    return shown(this.world.state, here);
  }

  get inStore() {
    return shown(this.desk.project.state, desks);
  }

  get letters(): string[] {
    return [...this.world.state.messages.all.values()].map(({ text }) => text);
  }

  task(id: string): Task | undefined {
    return this.world.state.tasks.all.get(id);
  }

  taskThere(id: string): Task | undefined {
    return this.desk.project.state.tasks.all.get(id);
  }
}

function setOf(project: string, key: string, value: string): Command {
  const bytes = Buffer.byteLength(JSON.stringify(value));
  const how = { bytes, durable: true, ifVersion: null, ttlMs: null, wallMs: 5 };
  return { type: "context_set", actor: null, project, key, value, ...how };
}

function succeeded<Result extends object>(result: Result): Exclude<Result, { ok: false }> {
  expect(result).not.toHaveProperty("error");
  return result as Exclude<Result, { ok: false }>;
}

function shown({ tasks, context }: State, project: string) {
  const all = [...tasks.all.values()].filter(
    task => task.project === project && task.state.status !== "done",
  );
  const needs = (task: Task) => task.dependsOn.map(id => tasks.all.get(id)?.description).join(" ");
  const who = (task: Task) => claimerOf(task)?.session.replace(/@.*/, "") ?? "";
  const text = (task: Task) => `${task.description}: ${task.state.status} ${who(task)} ${needs(task)}`.trim();
  const values = [...context.items.values()].filter(item => item.project === project && item.durable);
  return {
    tasks: all.map(text).sort(),
    values: values.map(({ key, value }) => `${key}=${String(value)}`).sort(),
  };
}

let machines: Machines;
const all: Machines[] = [];

/** A machine with work of its own, and another one with work in the store, both in reach of it. */
async function begin(): Promise<Machines> {
  machines = new Machines();
  all.push(machines);
  await machines.reach();
  await machines.there({ ...createOf([{ description: "of desk" }]), project: desks } as Command);
  await machines.there(setOf(desks, "far", "0"));
  return machines;
}

async function withWork(): Promise<Machines> {
  await begin();
  const done = machines.add("done");
  machines.update(done, { status: "done", result: "well" });
  const first = machines.add("first", { dependsOn: [done] });
  machines.add("second", { dependsOn: [first] });
  machines.update(machines.add("failed"), { status: "failed", result: "no" });
  expect(machines.world.do(claimOf("s1", machines.add("mine")))).toMatchObject({ ok: true });
  for (const key of ["one", "two"]) machines.set(key, "0");
  return machines;
}

const work = ["failed: failed", "first: pending", "mine: active s1", "second: pending  first"];
const inStore = {
  tasks: [...work, "of desk: pending"].sort(),
  values: ["far=0", "one=0", "two=0"],
};
const nothing = { tasks: [], values: [] };

afterEach(async () => {
  for (const one of all.splice(0)) await one.end();
});

describe("a share", () => {
  it("moves open tasks with their claims, and durable values", async () => {
    await withWork();
    expect(machines.moves.wouldShare(here)).toEqual({ tasks: 4, context: 2 });
    const moved = await machines.share();
    await machines.quiet();
    expect(moved).toMatchObject({ tasks: 4, context: 2, keys: [], released: [], leftOut: [], returns: [] });
    expect([machines.inStore, machines.own, machines.row?.is]).toEqual([inStore, nothing, "shared"]);
    expect(machines.moves.unmoved).toBeNull();
  });

  it("tells an agent of the new number of its task, and says which tasks have one", async () => {
    await withWork();
    await machines.there({
      ...createOf([{ description: "more" }, { description: "yet more" }]),
      project: desks,
    } as Command);
    const { numbers } = await machines.share();
    expect(numbers).toHaveLength(4);
    expect(machines.letters).toEqual([
      expect.stringMatching(/^Kite: task #5 "mine" of yours is #\d now: this project is shared/),
    ]);
  });

  it("keeps a value beside another one of that key", async () => {
    await begin();
    for (const value of ["a", "b"])
      await machines.there(setOf(desks, `k${value === "a" ? "" : "@laptop"}`, value));
    machines.set("k", "mine");
    expect((await machines.share()).keys).toEqual([{ key: "k", as: "k@laptop-2" }]);
    await machines.quiet();
    expect(machines.inStore.values).toEqual(["far=0", "k=a", "k@laptop-2=mine", "k@laptop=b"]);
  });

  it("changes nothing if the store has another task under one of the ids", async () => {
    await withWork();
    const [other] = [...machines.world.state.tasks.all.values()].slice(-1);
    if (other === undefined) throw new Error("no task");
    const { n: _n, createdBy: _by, number: _number, ...task } = other;
    const tasks = [{ ...task, project: desks, createdAt: 1, state: { status: "pending" } as const }];
    await machines.there({ type: "task_import", by: null, tasks });
    const before = machines.own;
    expect(await machines.moves.share(here, shared)).toMatchObject({
      ok: false,
      code: "task_state",
      task: other.id,
    });
    expect([machines.own, machines.row]).toEqual([before, undefined]);
  });

  it("changes nothing if the store has no room", async () => {
    await begin();
    const state = machines.desk.project.state;
    for (let n = 0; n < 3; n += 1) machines.set(`k${n}`, "x");
    expect(state.limits).toBe(limits);
    for (let n = 0; n < limits.contextKeysMax - 2; n += 1)
      machines.server.write("b", [["context", `v${n}`, contextRow(`v${n}`)]]);
    expect(await machines.moves.share(here, shared)).toMatchObject({ ok: false, code: "context_full" });
    expect([machines.own.values.length, machines.row]).toEqual([3, undefined]);
  }, 30_000);

  it("is refused while another command is under way", async () => {
    await withWork();
    const first = machines.share();
    expect(await machines.moves.leave(false)).toMatchObject({ ok: false, code: "store_busy" });
    await first;
  });

  it("is refused if the store is not open", async () => {
    await begin();
    machines.store.lose();
    machines.store.isOut = true;
    expect(await machines.moves.share(here, shared)).toMatchObject({ ok: false, code: "store_away" });
    expect(machines.row).toBeUndefined();
  });
});

function contextRow(key: string): string {
  return JSON.stringify({
    ...{
      project: shared,
      key,
      value: 1,
      bytes: 1,
      from: null,
      node: "b",
      at: 1,
      version: 1,
      durable: true,
      endsAt: null,
    },
  });
}

/** Kills a move before and behind each of its steps, each time in a new world, and calls `look` after a new start. */
async function killEach(
  prepare: () => Promise<Machines>,
  move: () => Promise<unknown>,
  look: (where: string) => Promise<void> | void,
): Promise<number> {
  for (const isBehind of [false, true]) {
    for (let at = 1; ; at += 1) {
      await prepare();
      const isOver = await machines.run({ at, isBehind }, move);
      if (isOver && machines.steps < at) break;
      await machines.again();
      await look(`${isBehind ? "behind" : "before"} step ${at}`);
      await machines.end();
      if (at > 60) throw new Error("it never ends");
    }
  }
  return machines.steps;
}

describe("a share that is killed", () => {
  it("goes on, or has not begun", async () => {
    const steps = await killEach(
      withWork,
      () => machines.share(),
      where => {
        if (machines.row === undefined) {
          expect([where, machines.own.tasks]).toEqual([where, work.with(1, "first: pending  done")]);
          expect([where, machines.inStore.tasks]).toEqual([where, ["of desk: pending"]]);
        } else
          expect([where, machines.inStore, machines.own, machines.row.is]).toEqual([
            where,
            inStore,
            nothing,
            "shared",
          ]);
      },
    );
    expect(steps).toBeGreaterThan(4);
  });

  it("goes on with the next command of a person, too, and takes what others did meanwhile as it is", async () => {
    await withWork();
    await machines.run({ at: 3, isBehind: true }, () => machines.share());
    await machines.end();
    machines.start();
    await machines.updateThere(idOf("first"), { description: "of desk", status: "done", result: "well" });
    expect(machines.moves.unmoved).toEqual({ projects: [shared], tasks: 4, context: 2, why: null });
    const share = machines.share();
    await machines.reach();
    expect(await share).toMatchObject({ leftOut: [], released: [], returns: [] });
    expect([machines.row?.is, machines.own]).toEqual(["shared", nothing]);
  });
});

describe("a leave", () => {
  const shareAll = async () => {
    await withWork();
    await machines.share();
    await machines.quiet();
    return machines;
  };

  it("brings back what is open, with the claims of this machine, and ends its sessions in the store", async () => {
    await shareAll();
    const left = await machines.leave();
    expect(left).toMatchObject({ tasks: 5, context: 3, unread: 0, isTold: true });
    expect([machines.own, machines.row?.is]).toEqual([inStore, "left"]);
    expect(machines.inStore.tasks).toContain("mine: pending");
    expect([...machines.desk.project.state.sessions.live.keys()]).toEqual([]);
    expect(machines.store.leaves).toBe(true);
  });

  const write = () =>
    machines.there({
      ...{ type: "message_send", actor: null, to: "alice@laptop", text: "hello", bytes: 5, replyTo: null },
      ...{ urgent: false, project: desks, cwd: "", wallMs: 1 },
    } as unknown as Command);
  const hellos = () => machines.letters.filter(text => text === "hello").length;

  it("brings unread messages, and their senders do not hear that they reached nobody", async () => {
    await shareAll();
    await write();
    expect([(await machines.leave()).unread, hellos()]).toEqual([1, 1]);
    expect(machines.desk.events.filter(({ event }) => event.event === "message_undelivered")).toEqual([]);
  });

  it("that is killed is whole, or undone, and a second one brings nothing twice", async () => {
    const outcomes = new Set<string>();
    const prepare = async () => {
      await shareAll();
      await write();
      return machines;
    };
    await killEach(
      prepare,
      () => machines.moves.leave(false),
      async where => {
        const { is = "" } = machines.row ?? {};
        outcomes.add(is);
        if (is !== "left") {
          expect([where, is, machines.own, machines.inStore]).toEqual([where, "shared", nothing, inStore]);
          await machines.leave();
        }
        expect([where, machines.own, hellos()]).toEqual([where, inStore, 1]);
      },
    );
    expect([...outcomes].sort()).toEqual(["left", "shared"]);
  });

  it("without the store takes what the copy has, and nothing from one that was never read", async () => {
    await shareAll();
    machines.store.lose();
    expect(await machines.leave(true)).toMatchObject({ tasks: 5, isTold: false });
    expect([machines.own, machines.store.leaves]).toEqual([inStore, false]);
    await shareAll();
    await machines.end();
    machines.start();
    expect(await machines.moves.leave(true)).toMatchObject({ tasks: 0, context: 0, isTold: false });
    expect(machines.row).toMatchObject({ is: "left", bases: { tasks: [], keys: [] } });
  });

  it("gives the first clone all, and the others nothing", async () => {
    await shareAll();
    succeeded(await machines.moves.share("/clone", shared));
    await machines.leave();
    expect([machines.own, shown(machines.world.state, "/clone")]).toEqual([inStore, nothing]);
    expect(machines.world.state.sharings.projects.get("/clone")).toMatchObject({
      is: "left",
      bases: { tasks: [] },
    });
  });

  it("opens anew here what others opened anew in the store", async () => {
    await shareAll();
    await machines.leave();
    const { id = "" } =
      [...machines.world.state.tasks.all.values()].find(({ description }) => description === "mine") ?? {};
    machines.update(id, { status: "done", result: "it is done" });
    await machines.again();
    await machines.share();
    await machines.quiet();
    expect([machines.taskThere(id)?.state.status, machines.task(id)?.state.status]).toEqual(["done", "done"]);
    await machines.updateThere(id, { status: "pending" });
    await machines.leave();
    expect(machines.task(id)?.state.status).toBe("pending");
  });
});

/** The machine left with all of the work, and another daemon of it is in reach of the store. */
async function afterLeave(): Promise<Machines> {
  await withWork();
  await machines.share();
  await machines.leave();
  await machines.again();
  expect(machines.row?.is).toBe("left");
  return machines;
}

function idOf(description: string): string {
  const found = [...machines.world.state.tasks.all.values()].filter(one => one.description === description);
  if (found.length !== 1) throw new Error(`${found.length} tasks are ${description}`);
  return found[0]?.id ?? "";
}

/** An agent of the other machine works on a task. */
async function claimThere(task: string): Promise<void> {
  const incarnations = [{ ordinal: 0, begun: 1, anchor: null }];
  const session = { id: "s9", name: "bob", branch: null, registeredAt: 1, agents: new Map(), incarnations };
  machines.desk.present = [session as unknown as Present];
  machines.desk.project.presentChanged();
  await machines.there({ ...claimOf("s9", task), project: desks } as Command);
}

describe("a share after a leave", () => {
  const again = async () => {
    const moved = await machines.share();
    await machines.quiet();
    expect([machines.own, machines.row]).toMatchObject([
      nothing,
      { is: "shared", bases: { tasks: [], keys: [] } },
    ]);
    return moved;
  };

  it("changes nothing if nothing changed", async () => {
    await afterLeave();
    expect(await again()).toMatchObject({ tasks: 0, leftOut: [], returns: [], released: [], keys: [] });
    expect(machines.inStore).toEqual(inStore);
  });

  it.each<[string, string, Partial<TaskUpdate>[], object]>([
    ["a description", "first", [{ description: "anew" }], { description: "anew" }],
    [
      "priority and risk",
      "first",
      [{ priority: "high", risk: "yellow" }],
      { priority: "high", risk: "yellow" },
    ],
    ["labels", "first", [{ labels: ["a"] }], { labels: ["a"] }],
    [
      "that it is done",
      "first",
      [{ status: "done", result: "a" }],
      { state: { status: "done", result: "a" } },
    ],
    [
      "that it failed",
      "first",
      [{ status: "failed", result: "a" }],
      { state: { status: "failed", reason: "a" } },
    ],
    [
      "that a person works on it",
      "first",
      [{ status: "active" }],
      { state: { status: "active", claimer: null } },
    ],
    ["why it failed", "failed", [{ result: "a" }], { state: { status: "failed", reason: "a" } }],
    ["that it is to be done anew", "failed", [{ status: "pending" }], { state: { status: "pending" } }],
    [
      "that it is done after all",
      "failed",
      [{ status: "pending" }, { status: "done", result: "a" }],
      { state: { status: "done", result: "a" } },
    ],
  ])("brings what changed here alone: %s", async (_what, description, changes, expected) => {
    await afterLeave();
    const id = idOf(description);
    for (const one of changes) machines.update(id, one);
    expect(await again()).toMatchObject({ leftOut: [] });
    expect(machines.taskThere(id)).toMatchObject(expected);
  });

  it("brings tasks that are new, what others need of them, and claims", async () => {
    await afterLeave();
    const fresh = machines.add("fresh", { dependsOn: [idOf("first")] });
    machines.update(idOf("second"), { dependsOn: [fresh] });
    expect(machines.world.do(claimOf("s1", idOf("first")))).toMatchObject({ ok: true });
    expect(await again()).toMatchObject({ tasks: 1, leftOut: [], released: [] });
    const tasks = ["first: active s1", "fresh: pending  first", "mine: active s1", "second: pending  fresh"];
    expect(machines.inStore.tasks).toEqual([
      "failed: failed",
      ...tasks.slice(0, 3),
      "of desk: pending",
      tasks[3],
    ]);
  });

  it("keeps what a task needs in the store, also of what is done there and not here", async () => {
    await begin();
    const [ended] = await machines.addThere("ended there");
    const [id = ""] = await machines.addThere("needs it", [ended]);
    await machines.updateThere(ended, { status: "done", result: "well" });
    await machines.share();
    await machines.leave();
    await machines.again();
    expect(machines.task(id)?.dependsOn).toEqual([]);
    machines.update(id, { description: "anew" });
    machines.update(idOf("of desk"), { status: "done", result: "well" });
    const fresh = machines.add("fresh", { dependsOn: [idOf("of desk")] });
    expect(await again()).toMatchObject({ leftOut: [], tasks: 1 });
    expect(machines.taskThere(id)).toMatchObject({ description: "anew", dependsOn: [ended] });
    expect(machines.taskThere(fresh)?.dependsOn).toEqual([idOf("of desk")]);
  });

  it("leaves a task as it is in the store if both sides changed it, and names what differs", async () => {
    await afterLeave();
    const id = idOf("first");
    machines.update(id, { description: "of laptop", priority: "low" });
    await machines.updateThere(id, { description: "of store", labels: ["a"] });
    machines.update(idOf("second"), { description: "same" });
    await machines.updateThere(idOf("same"), { description: "same" });
    await machines.updateThere(idOf("failed"), { status: "pending" });
    const { leftOut } = await again();
    expect(leftOut).toEqual([{ task: id, number: 2, fields: ["description", "priority", "labels"] }]);
    expect(machines.taskThere(id)).toMatchObject({
      description: "of store",
      priority: "normal",
      labels: ["a"],
    });
    expect(machines.inStore.tasks).toEqual(
      expect.arrayContaining(["failed: pending", "same: pending  of store"]),
    );
  });

  it("ends no task that another agent works on in the store, and names that", async () => {
    await afterLeave();
    const [id, mine] = [idOf("first"), idOf("mine")];
    machines.update(id, { description: "ended", status: "done", result: "here" });
    for (const one of [id, mine]) await claimThere(one);
    const { leftOut, released } = await again();
    expect(leftOut).toEqual([{ task: id, number: 2, fields: ["status", "result"] }]);
    expect(machines.inStore.tasks).toEqual(expect.arrayContaining(["ended: active s9", "mine: active s9"]));
    expect(released).toEqual([mine]);
    expect(machines.letters).toContainEqual(
      expect.stringMatching(/"mine" is no longer yours: bob@desk took it in the store/),
    );
  });

  it("brings back what the store does not have any more, and names it; not so what was removed here", async () => {
    await afterLeave();
    expect(
      machines.world.do({ type: "context_delete", actor: null, project: here, key: "two", ifVersion: null }),
    ).toMatchObject({ ok: true });
    const id = idOf("failed");
    await machines.there({ type: "task_remove", by: null, tasks: [id], project: desks } as Command);
    await machines.there({
      type: "context_delete",
      actor: null,
      project: desks,
      key: "one",
      ifVersion: null,
    });
    const number = expect.any(Number);
    const returns = [{ task: id, number }, { key: "one" }];
    expect(await again()).toMatchObject({ tasks: 1, returns, stays: [{ key: "two" }] });
    expect(machines.inStore).toEqual(inStore);
  });

  it("leaves in the store what was removed here, and names it", async () => {
    await afterLeave();
    const id = idOf("failed");
    expect(machines.world.do({ type: "task_remove", by: null, tasks: [id] } as Command)).toMatchObject({
      ok: true,
    });
    expect(await again()).toMatchObject({ stays: [{ task: id, number: expect.any(Number) }], returns: [] });
    expect(machines.inStore).toEqual(inStore);
    await machines.leave();
    expect(await again()).toMatchObject({ stays: [] });
  });

  it("replaces values that changed here alone, and keeps those that changed on both sides beside", async () => {
    await afterLeave();
    for (const key of ["one", "two"]) machines.set(key, "of laptop");
    for (const key of ["two", "far"]) await machines.there(setOf(desks, key, "of store"));
    expect(await again()).toMatchObject({ keys: [{ key: "two", as: "two@laptop" }], returns: [] });
    const values = ["far=of store", "one=of laptop", "two=of store", "two@laptop=of laptop"];
    expect(machines.inStore.values).toEqual(values);
  });

  it("that is killed comes to the same", async () => {
    const prepare = async () => {
      await afterLeave();
      machines.update(idOf("failed"), { status: "pending", description: "renamed" });
      machines.update(idOf("renamed"), { status: "done", result: "after all" });
      machines.add("fresh", { dependsOn: [idOf("renamed")] });
      machines.update(idOf("second"), { description: "of laptop" });
      await machines.updateThere(idOf("of laptop"), { description: "of store" });
      for (const key of ["one", "two"]) machines.set(key, "of laptop");
      await machines.there(setOf(desks, "two", "of store"));
      return machines;
    };
    await prepare();
    await again();
    const whole = machines.inStore;
    const steps = await killEach(
      prepare,
      () => machines.share(),
      async where => {
        if (machines.row?.is === "left") await machines.share();
        await machines.quiet();
        expect([where, machines.inStore, machines.own]).toEqual([where, whole, nothing]);
        expect([
          where,
          [...machines.desk.project.state.tasks.all.values()].find(one => one.description === "renamed")
            ?.state.status,
        ]).toEqual([where, "done"]);
      },
    );
    expect(steps).toBeGreaterThan(6);
  });
});

describe("what broke off", () => {
  it("is tried again by the clock, tells its trouble once, and says what is left", async () => {
    await withWork();
    await machines.run({ at: 3, isBehind: false }, () => machines.share());
    await machines.end();
    machines.start();
    const other = idOf("second");
    const known = machines.task(other);
    if (known === undefined) throw new Error("no task");
    const {
      n: _n,
      createdBy: _by,
      number: _number,
      ...task
    } = { ...known, project: desks, createdAt: 1, dependsOn: [] };
    await machines.there({ type: "task_import", by: null, tasks: [task] });
    await machines.desk.store.reach();
    await machines.store.reach();
    await vi.waitFor(
      () => expect(machines.moves.unmoved?.why).toMatch(/is shared as team\/app, and not all that it had is/),
      { timeout: 60_000 },
    );
    expect(machines.moves.unmoved).toMatchObject({ projects: [shared], tasks: 4, context: 2 });
    expect(await machines.moves.share(here, shared)).toMatchObject({ ok: false, code: "task_state" });
    expect(machines.troubles).toHaveLength(1);
    await machines.updateThere(other, { status: "failed", result: "another one" });
    await machines.there({ type: "task_remove", by: null, tasks: [other], project: desks } as Command);
    await vi.waitFor(() => expect(machines.row?.is).toBe("shared"), { timeout: 60_000 });
    expect([machines.own, machines.moved.map(({ tasks }) => tasks), machines.moves.unmoved]).toEqual([
      nothing,
      [4],
      null,
    ]);
  }, 130_000);

  it("is what was made while no store was set, which a leave without the store keeps, also if that is killed", async () => {
    const made = async () => {
      await withWork();
      await machines.share();
      machines.add("made here");
      machines.store.lose();
      return machines;
    };
    await killEach(
      made,
      () => machines.moves.leave(true),
      async where => {
        const [hasLeft, all] = [machines.row?.is === "left", [...inStore.tasks, "made here: pending"].sort()];
        expect([where, hasLeft ? [] : machines.own.tasks]).toEqual([where, []]);
        expect([where, (hasLeft ? machines.own : machines.inStore).tasks]).toEqual([where, all]);
      },
    );
  });

  it("ends with a leave without the store, and loses no change of before", async () => {
    await afterLeave();
    const id = idOf("first");
    const ended = idOf("failed");
    machines.update(id, { description: "of laptop" });
    for (const change of [{ status: "pending" }, { status: "done", result: "well" }] as const)
      machines.update(ended, change);
    Object.assign(machines.store.options.limits, { answerMs: 200 });
    machines.store.connection.failures.push({ of: /step\(/, with: serverError("22000") });
    expect(await machines.moves.share(here, shared)).toMatchObject({ ok: false, code: "store_away" });
    expect(machines.row?.is).toBe("moving");
    machines.store.lose();
    await machines.leave(true);
    expect([machines.row?.is, machines.task(id)?.description]).toEqual(["left", "of laptop"]);
    expect(machines.task(ended)?.state.status).toBe("done");
    await machines.again();
    expect((await machines.share()).leftOut).toEqual([]);
    await machines.quiet();
    expect([machines.taskThere(id)?.description, machines.own]).toEqual(["of laptop", nothing]);
    expect(machines.taskThere(ended)?.state.status).toBe("done");
  });
});
