/** How the sessions of this machine's own log come into the rows of the projects that it shares. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Command, Entry } from "../../daemon/core/tables/entries.ts";
import type { Caller } from "../../daemon/engine/answers.ts";
import type { Engine } from "../../daemon/engine/engine.ts";
import { ownView } from "../../daemon/engine/log-view.ts";
import { SharedLog } from "../../daemon/store/shared-log.ts";
import { limits } from "../../protocol/limits.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { World } from "./core-world.ts";
import { laptop } from "./shared-copy-world.ts";
import { FakeServer, FakeStore } from "./shared-project-world.ts";
import { claimOf, createOf } from "./task-world.ts";

/** The command that begins one more session of the process. */
const beginMore: Command = {
  ...{ type: "session_begin", session: "more", anchor: { pid: 7, startTime: "1" }, cwd: "/shop" },
  ...{ project: "/shop", worktree: "/shop", branch: "main", name: null, revive: true, wallMs: 1 },
} as never;

/** A machine whose own log is `world`. */
function machine(copies: string | null = null) {
  const server = new FakeServer();
  const store = new FakeStore(server, laptop);
  const world = new World();
  const own = {
    state: world.state,
    logOf: () => ownView({ state: world.state, now: 0 }),
    close: async () => {},
    submit: (command: Command, { answer }: Caller) => {
      step(() => answer(world.do(command)));
      return 1;
    },
    submitWithRetry: (command: Command) => step(() => world.do(command)),
  };
  const log = new SharedLog({
    ...{ own: own as unknown as Engine, store: store.it, clock: new SimulatedClock(1), copies },
    ...{ onEvents: () => {}, onDone: () => {}, onGap: () => {}, onReached: () => {} },
  });
  /** Does a command in the own log, of which the shared one hears. */
  const step = (work: () => unknown) => {
    const before = world.steps.length;
    work();
    world.steps.slice(before).forEach((one, i) => {
      log.stepped(world.entries[before + i] as Entry, one);
    });
  };
  const begin = (id: string, more: object = {}) =>
    step(() => world.begin(id, { project: "/shop", name: id, wallMs: world.n, ...more }));
  const end = (id: string) =>
    step(() => world.do({ type: "session_end", session: id, incarnation: null, cause: "ended" }));
  /** The process of a session goes on under another id. */
  const goOn = (from: string, to: string) => {
    const anchor = world.state.sessions.live.get(from)?.incarnations[0]?.anchor ?? null;
    step(() => world.do({ type: "session_suspend", session: from }));
    begin(to, { anchor });
  };
  const rows = (kind: string) =>
    [...server.rows.values()].flatMap(({ row: [name, key, value] }) =>
      name === kind && value !== null ? [[key, JSON.parse(value)] as const] : [],
    );
  const sessions = () =>
    rows("sessions")
      .map(([key]) => key)
      .sort();
  const claimers = () => rows("tasks").map(([, { state }]) => state.claimer?.session ?? state.status);
  const ask = async (command: Command) => {
    const reply = await log.submitAndWait(command);
    await store.quiet();
    return reply;
  };
  return { server, store, world, log, begin, end, goOn, step, sessions, claimers, ask };
}

const anchor = { pid: 7, startTime: "1" } as never;
const create = { ...createOf([{ description: "one" }]), project: "/shop" } as Command;

describe("the sessions of a machine", () => {
  it("are in the store when they begin, and are not when they end", async () => {
    const { store, log, begin, end, sessions } = machine();
    log.open("/shop", "team/shop");
    await store.reach();
    begin("ann");
    begin("bob", { project: "/own" });
    await store.quiet();
    expect(sessions()).toEqual(["ann@n1"]);
    end("ann");
    await store.quiet();
    expect(sessions()).toEqual([]);
    await log.close();
  });

  it("that began and ended during an outage are told of at its end", async () => {
    const { store, log, begin, end, sessions } = machine();
    log.open("/shop", "team/shop");
    begin("ann");
    await store.reach();
    store.lose();
    end("ann");
    begin("bob");
    await store.reach();
    expect(sessions()).toEqual(["bob@n1"]);
    await log.close();
  });

  it("keep their claims although their process went on twice during an outage", async () => {
    const { store, log, begin, goOn, sessions, claimers, ask } = machine();
    log.open("/shop", "team/shop");
    await store.reach();
    begin("ann", { anchor });
    await ask(create);
    expect(await ask({ ...claimOf("ann"), project: "/shop" } as Command)).toMatchObject({ ok: true });
    expect(claimers()).toEqual(["ann@n1"]);
    store.lose();
    goOn("ann", "ann2");
    goOn("ann2", "ann3");
    await store.reach();
    expect([sessions(), claimers()]).toEqual([["ann3@n1"], ["ann3@n1"]]);
    await log.close();
  });

  it("of two clones are all there, and those of one stay when the other shares no more", async () => {
    const { store, log, begin, sessions } = machine();
    log.open("/shop", "team/shop");
    log.open("/shop2", "team/shop");
    await store.reach();
    begin("ann");
    begin("bob", { project: "/shop2" });
    await store.quiet();
    expect(sessions()).toEqual(["ann@n1", "bob@n1"]);
    log.end("/shop");
    await store.quiet();
    expect(sessions()).toEqual(["bob@n1"]);
    expect(store.projects.size).toBe(1);
    await log.close();
  });

  it("give their claims back when the project is shared no more, and did not fail at them", async () => {
    const { server, store, log, begin, ask } = machine();
    log.open("/shop", "team/shop");
    await store.reach();
    begin("ann");
    await ask(create);
    await ask({ ...claimOf("ann"), project: "/shop" } as Command);
    log.end("/shop");
    await store.quiet();
    const tasks = [...server.rows.values()].flatMap(({ row: [kind, , value] }) =>
      kind === "tasks" && value !== null ? [JSON.parse(value)] : [],
    );
    expect(tasks).toMatchObject([{ state: { status: "pending" }, attempts: 0 }]);
    await log.close();
  });

  it("go when the last clone shares no more, and the store is asked no more", async () => {
    const { store, log, begin, sessions } = machine();
    log.open("/shop", "team/shop");
    await store.reach();
    begin("ann");
    await store.quiet();
    log.end("/shop");
    await store.quiet();
    expect(sessions()).toEqual([]);
    expect(store.projects.size).toBe(0);
    await log.close();
  });
});

it("a project that is shared no more leaves no copy on the disk", async () => {
  const folder = temporaryFolder();
  const { store, log, begin } = machine(join(folder, "copy"));
  const project = log.open("/shop", "team/shop");
  await store.reach();
  begin("ann");
  await store.quiet();
  await project.save();
  expect(readdirSync(folder)).toHaveLength(1);
  log.end("/shop");
  // It waits for the removal, and keeps nothing.
  await project.save();
  expect(readdirSync(folder)).toEqual([]);
  await log.close();
});

describe("room for sessions", () => {
  /** A machine with as many sessions of one process as that may have, of which the first has a task. */
  async function crowded() {
    const made = machine();
    made.log.open("/shop", "team/shop");
    await made.store.reach();
    for (let n = 0; n < limits.sessionsPerProcessMax; n += 1) made.begin(`s${n}`, { anchor });
    const take = async (session: string) => {
      await made.ask(create);
      expect(await made.ask({ ...claimOf(session), project: "/shop" } as Command)).toMatchObject({
        ok: true,
      });
    };
    await take("s0");
    const more = () => made.log.submitAndWait(beginMore);
    const live = () => made.world.state.sessions.live;
    return { ...made, take, more, live };
  }

  it("keeps a session with a shared task, and ends one that has nothing in either log", async () => {
    const { log, more, live } = await crowded();
    expect(await more()).toMatchObject({ ok: true });
    expect([live().has("s0"), live().has("s1"), live().has("more")]).toEqual([true, false, true]);
    expect(live().size).toBe(limits.sessionsPerProcessMax);
    await log.close();
  });

  it("refuses one more where all have a shared task", async () => {
    const { log, take, more, live, end } = await crowded();
    for (let n = 1; n < limits.sessionsPerProcessMax; n += 1) await take(`s${n}`);
    const error = expect.stringContaining("in the shared store; end some first");
    expect(await more()).toMatchObject({ code: "too_many_sessions", error });
    expect(live().size).toBe(limits.sessionsPerProcessMax);
    end("s5");
    expect(await more()).toMatchObject({ ok: true });
    await log.close();
  });

  it("ends nobody while the project was never read", async () => {
    const { log, begin } = machine();
    log.open("/shop", "team/shop");
    for (let n = 0; n < limits.sessionsPerProcessMax; n += 1) begin(`s${n}`, { anchor });
    const reply = await log.submitAndWait(beginMore);
    expect(reply).toMatchObject({ code: "too_many_sessions" });
    await log.close();
  });
});
