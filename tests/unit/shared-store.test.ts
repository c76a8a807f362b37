/** A project that machines share: its tasks, counts, sessions and rules. */
import { describe, expect, it } from "vitest";
import type { FileRef } from "../../daemon/core/frame/actors.ts";
import { inboxOf } from "../../daemon/core/messages/inbox.ts";
import { rulesLevel } from "../../daemon/core/tables/base-state.ts";
import type { Command, Reply } from "../../daemon/core/tables/entries.ts";
import { type Clock, systemClock } from "../../daemon/engine/clock.ts";
import { mailLogs } from "../../daemon/engine/log-view.ts";
import { countAllTasks } from "../../daemon/requests/query.ts";
import { taskHandlers } from "../../daemon/requests/tasks.ts";
import { taskPage } from "../../daemon/views/tasks.ts";
import { limits } from "../../protocol/limits.ts";
import { isObject } from "../../protocol/wire.ts";
import {
  actorOf,
  begin,
  claim,
  copyPathOfTest,
  create,
  type Machine,
  MemoryStoreOfAll,
  machine,
  send,
  settled,
  shared,
} from "./shared-world.ts";

// Two machines that share a project's tasks, messages and context, and nothing else.

async function two(): Promise<{
  readonly all: MemoryStoreOfAll;
  readonly laptop: Machine;
  readonly desk: Machine;
}> {
  const all = new MemoryStoreOfAll();
  const [laptop, desk] = await Promise.all([machine("laptop", all), machine("desk", all)]);
  for (const one of [laptop, desk]) expect(await one.store.open(10_000)).toBe(true);
  return { all, laptop, desk };
}

function fieldsOf(reply: Reply): Record<string, unknown> {
  expect(reply).toMatchObject({ ok: true });
  const { task } = reply as { readonly task?: unknown };
  return isObject(task) ? task : {};
}

describe("a project that machines share", () => {
  it("has one queue, and a task is claimed once", async () => {
    const { laptop, desk } = await two();
    await begin(laptop, "alice");
    await begin(desk, "bob");
    const made = fieldsOf(await laptop.log.submitAndWait(create(laptop, "alice", "write it")));
    expect(made).toMatchObject({ project: "/laptop/app", createdBy: "alice" });
    const claims = await Promise.all([
      laptop.log.submitAndWait(claim(laptop, "alice", String(made["id"]))),
      desk.log.submitAndWait(claim(desk, "bob", String(made["id"]))),
    ]);
    expect(claims.filter(({ ok }) => ok)).toHaveLength(1);
    await expect
      .poll(() => [laptop, desk].map(({ log, name }) => log.logOf(`/${name}/app`).state.tasks.all.size))
      .toEqual([1, 1]);
    for (const { own } of [laptop, desk]) expect(own.state.tasks.all.size).toBe(0);
  });

  it("shows a machine's own sessions and projects as it calls them, and others with their machine", async () => {
    const { laptop, desk } = await two();
    await begin(laptop, "alice");
    await begin(desk, "bob");
    const made = fieldsOf(await desk.log.submitAndWait(create(desk, "bob", "for all")));
    const taken = fieldsOf(await laptop.log.submitAndWait(claim(laptop, "alice", String(made["id"]))));
    expect(taken).toMatchObject({ project: "/laptop/app", assignee: "alice", assigneeName: "alice" });
    expect(taken["createdBy"]).toBe("bob@desk");
    await expect.poll(() => desk.heard.map(({ event }) => event.event)).toContain("task_claimed");
    const heard = desk.heard.find(({ event }) => event.event === "task_claimed");
    expect(heard).toMatchObject({ project: "/desk/app", event: { task: made["id"] } });
    expect(JSON.stringify(heard)).toContain("alice@laptop");
  });

  it("takes a session's words that come at once with its beginning", async () => {
    const { laptop } = await two();
    const begun = begin(laptop, "alice");
    const made = laptop.log.submitAndWait(create(laptop, "alice", "at once"));
    await begun;
    fieldsOf(await made);
  });

  it("passes messages between machines, each to its reader's inbox", async () => {
    const { laptop, desk } = await two();
    await begin(laptop, "alice");
    await begin(desk, "bob");
    await expect
      .poll(() => [...(laptop.store.state?.sessions.live.values() ?? [])].map(({ name }) => name).sort())
      .toEqual(["alice@laptop", "bob@desk"]);
    expect(await laptop.log.submitAndWait(send(laptop, "alice", "bob", "hello bob"))).toMatchObject({
      ok: true,
    });
    const log = desk.log.logOf("/desk/app");
    await expect.poll(() => log.state.messages.inboxes.has(inboxOf(log.actor(actorOf("bob"))))).toBe(true);
    const taken = await desk.log.submitAndWait({
      type: "inbox_take",
      actor: actorOf("bob"),
      max: 5,
      chars: 1_000,
    });
    expect(taken).toMatchObject({
      ok: true,
      messages: [{ text: "hello bob", from: { name: "alice@laptop" } }],
    });
  });

  it("keeps what is not shared, and every path, on the machine", async () => {
    const { all, laptop } = await two();
    await begin(laptop, "alice");
    await begin(laptop, "carol", { project: "/alone", cwd: "/alone", worktree: "/alone" });
    await laptop.log.submitAndWait(create(laptop, "alice", "shared"));
    await laptop.log.submitAndWait(claim(laptop, "alice"));
    const alone = { ...create(laptop, "carol", "mine"), project: "/alone" };
    fieldsOf(await laptop.log.submitAndWait(alone));
    expect(laptop.own.state.tasks.all.size).toBe(1);
    const text = JSON.stringify(all.entries);
    for (const secret of ["/laptop", "/alone", "/secret", "carol"]) expect(text).not.toContain(secret);
    expect(text).toContain(shared);
  });

  it("refuses at once while the store is away, keeps ends, and goes on by itself", async () => {
    const { all, laptop, desk } = await two();
    await begin(laptop, "alice");
    await begin(desk, "bob");
    const made = fieldsOf(await laptop.log.submitAndWait(create(laptop, "alice", "write it")));
    await laptop.log.submitAndWait(claim(laptop, "alice", String(made["id"])));
    all.awaySinceMs = Date.now();
    expect(laptop.store.condition).toMatchObject({ is: "away" });
    expect(await laptop.log.submitAndWait(create(laptop, "alice", "later"))).toMatchObject({
      code: "store_away",
    });
    const end = { type: "session_end", session: "alice", incarnation: null, cause: "ended" } as const;
    expect(await laptop.log.submitAndWait(end)).toMatchObject({ ok: true });
    expect(desk.log.logOf("/desk/app").state.tasks.claims.size).toBe(1);
    await expect.poll(() => laptop.conditions).toEqual(["open", "away"]);
    all.awaySinceMs = null;
    await expect.poll(() => laptop.conditions, { timeout: 30_000 }).toEqual(["open", "away", "open"]);
    await expect.poll(() => desk.log.logOf("/desk/app").state.tasks.claims.size).toBe(0);
    await expect.poll(() => laptop.own.state.outbox.rows.size).toBe(0);
  });

  it("opens when the store comes, although the daemon began without it", async () => {
    const all = new MemoryStoreOfAll();
    all.awaySinceMs = Date.now();
    const laptop = await machine("laptop", all);
    await begin(laptop, "alice");
    expect(await laptop.log.submitAndWait(create(laptop, "alice", "x"))).toMatchObject({
      code: "store_away",
    });
    expect(laptop.store.condition).toMatchObject({ is: "opening" });
    all.awaySinceMs = null;
    expect(await laptop.store.open(30_000)).toBe(true);
    fieldsOf(await laptop.log.submitAndWait(create(laptop, "alice", "x")));
  });

  it("says in time that an outcome is not known, and gives a repeat the first answer", async () => {
    const { all, laptop } = await two();
    await begin(laptop, "alice");
    fieldsOf(await laptop.log.submitAndWait(create(laptop, "alice", "before")));
    all.holds = true;
    const retry = { by: "alice", requestId: "r1", digest: "d" };
    const command = { ...create(laptop, "alice", "once"), retry };
    expect(await laptop.log.submitAndWait(command)).toMatchObject({ code: "outcome_unknown" });
    const again = laptop.log.submitAndWait(command);
    all.holds = false;
    all.release();
    fieldsOf(await again);
    expect(laptop.log.logOf("/laptop/app").state.tasks.all.size).toBe(2);
  });

  it("shows what the last stop knew while a new start does not reach the store", async () => {
    const path = copyPathOfTest();
    const all = new MemoryStoreOfAll();
    const before = await machine("laptop", all, { copyPath: path });
    expect(await before.store.open(10_000)).toBe(true);
    await begin(before, "alice");
    fieldsOf(await before.log.submitAndWait(create(before, "alice", "as of then")));
    await before.store.close();
    all.awaySinceMs = Date.now();
    const after = await machine("laptop", all, { copyPath: path });
    await expect.poll(() => after.store.condition).toMatchObject({ is: "opening", why: "no store answers" });
    expect(after.store.asOfMs).toBeGreaterThan(0);
    const { tasks } = after.log.logOf("/laptop/app").state;
    expect([...tasks.all.values()].map(({ description }) => description)).toEqual(["as of then"]);
    all.awaySinceMs = null;
    expect(await after.store.open(30_000)).toBe(true);
    expect(after.store.asOfMs).toBeNull();
  });

  it("hears a home that was put back to an earlier state", async () => {
    const all = new MemoryStoreOfAll();
    const later = await machine("laptop", all, { node: "same" });
    expect(await later.store.open(10_000)).toBe(true);
    for (const name of ["alice", "bob", "carol"]) await begin(later, name);
    expect(await later.store.relayed(10_000)).toBe(true);
    await later.store.close();
    const before = await machine("laptop", all, { node: "same" });
    await begin(before, "dave");
    expect(await before.store.open(30_000)).toBe(true);
    fieldsOf(await before.log.submitAndWait(create(before, "dave", "heard")));
    await expect
      .poll(() => [...(before.store.state?.sessions.live.values() ?? [])].map(({ name }) => name))
      .toEqual(["dave@laptop"]);
  });

  it("takes mail of both logs, and acknowledges each where it is", async () => {
    const { laptop } = await two();
    await begin(laptop, "alice");
    await begin(laptop, "bob");
    const [alice, bob] = [actorOf("alice"), actorOf("bob")];
    const files = [{ key: "/laptop/app/a.ts", file: "a.ts", dir: false }] as unknown as readonly FileRef[];
    const posted = { project: "/laptop/app", text: "frozen", bytes: 6, wallMs: 1 };
    const freeze = { type: "broadcast", actor: alice, ...posted, hold: { files, ttlMs: 60_000 } } as const;
    expect(await laptop.log.submitAndWait(freeze)).toMatchObject({ ok: true });
    expect(await laptop.log.submitAndWait(send(laptop, "alice", "bob", "hello"))).toMatchObject({ ok: true });
    const logs = mailLogs(laptop.log, "bob");
    expect(logs).toHaveLength(2);
    const texts: unknown[] = [];
    const ids: string[] = [];
    for (const log of logs) {
      const taken = await laptop.log
        .proposer(log)
        .submitAndWait({ type: "inbox_take", actor: bob, max: 5, chars: 1_000 });
      const { messages } = taken as unknown as { readonly messages: readonly { text: string; id: string }[] };
      texts.push(...messages.map(({ text }) => text));
      ids.push(...messages.map(({ id }) => id));
    }
    expect(texts).toEqual(["frozen", "hello"]);
    // Each log numbers its own: the two messages may have one id.
    const ack = { type: "message_ack", actor: bob, messages: [...new Set(ids)] } as const;
    expect(await laptop.log.submitAndWait(ack)).toMatchObject({ ok: true });
    await expect
      .poll(() => logs.map(log => log.state.messages.inboxes.get(inboxOf(log.actor(bob)))?.all.size ?? 0))
      .toEqual([0, 0]);
  });

  it("answers a message in the log that has it", async () => {
    const { all, laptop } = await two();
    await begin(laptop, "alice");
    await begin(laptop, "bob");
    const files = [{ key: "/laptop/app/a.ts", file: "a.ts", dir: false }] as unknown as readonly FileRef[];
    const posted = { project: "/laptop/app", text: "frozen", bytes: 6, wallMs: 1 };
    const freeze = { type: "broadcast", actor: actorOf("alice"), ...posted, hold: { files, ttlMs: 60_000 } };
    expect(await laptop.log.submitAndWait(freeze as Command)).toMatchObject({ ok: true });
    const [id = ""] = laptop.own.state.messages.all.keys();
    const entries = all.entries.length;
    const answer = { ...send(laptop, "bob", "alice", "why?"), to: null, replyTo: id };
    expect(await laptop.log.submitAndWait(answer as Command)).toMatchObject({ ok: true });
    expect(laptop.own.state.messages.inboxes.has("alice")).toBe(true);
    expect(all.entries.length).toBe(entries);
  });

  it("goes by the store's time when a machine's clock is an hour ahead", async () => {
    const hourMs = 3_600_000;
    const real = systemClock();
    const clock: Clock = {
      now: () => real.now() + hourMs,
      wall: () => real.wall() + hourMs,
      at: (at, callback) => real.at(at - hourMs, callback),
    };
    const all = new MemoryStoreOfAll();
    const [laptop, desk] = await Promise.all([machine("laptop", all, { clock }), machine("desk", all)]);
    for (const one of [laptop, desk]) expect(await one.store.open(10_000)).toBe(true);
    await begin(laptop, "alice");
    for (const what of ["one", "two"])
      fieldsOf(await laptop.log.submitAndWait(create(laptop, "alice", what)));
    expect(laptop.log.logOf("/laptop/app").now).toBeLessThan(Date.now() + hourMs / 2);
    expect(all.entries.filter(({ command }) => command.type === "elapse")).toEqual([]);
  });

  it("leaves the store to another daemon of its node, and says so", async () => {
    const { all, laptop } = await two();
    await begin(laptop, "alice");
    const error = new Error(
      "another daemon opened the store for this node; give this home its own: kite store rejoin",
    );
    error.name = "NodeTwice";
    for (const journal of all.journals) if (journal.node === laptop.store.node) journal.end(error);
    await expect.poll(() => laptop.store.condition).toMatchObject({ is: "refused", error: error.message });
    expect(await laptop.log.submitAndWait(create(laptop, "alice", "x"))).toMatchObject({
      code: "node_twice",
    });
    expect([...all.journals].map(({ node }) => node)).not.toContain(laptop.store.node);
  });

  it("lets an event wait for a slow store once, and the next ones not at all", async () => {
    const { all, laptop, desk } = await two();
    await begin(laptop, "alice");
    await begin(desk, "bob");
    await expect
      .poll(() => desk.log.submitAndWait(send(desk, "bob", "alice", "hello")))
      .toMatchObject({ ok: true });
    const log = laptop.log.logOf("/laptop/app");
    await expect.poll(() => log.state.messages.inboxes.has(inboxOf(log.actor(actorOf("alice"))))).toBe(true);
    all.holds = true;
    const take = { type: "inbox_take", actor: actorOf("alice"), max: 5, chars: 1_000 } as const;
    expect(await laptop.log.submitAndWait(take)).toMatchObject({ code: "store_away" });
    const entered = all.kept;
    expect(await laptop.log.submitAndWait(take)).toMatchObject({ code: "store_away" });
    expect(all.kept).toBe(entered);
    all.holds = false;
    all.release();
  });
});

// Counts of tasks where this machine shares some of the store's projects.
describe("counts of tasks", () => {
  it("count tasks of projects that this machine has, once each", async () => {
    const all = new MemoryStoreOfAll();
    const more = [["/tower/app", shared] as const, ["/tower/more", `${shared}/more`] as const];
    const tower = await machine("tower", all, { projects: more });
    // Two clones of the project, and a project that stays.
    const clones = [["/laptop/app", shared] as const, ["/laptop/clone", shared] as const];
    const laptop = await machine("laptop", all, { projects: clones });
    for (const { store } of [tower, laptop]) expect(await store.open(10_000)).toBe(true);
    await begin(tower, "bob");
    for (const text of ["one", "two"]) await tower.log.submitAndWait(create(tower, "bob", text));
    await tower.log.submitAndWait(claim(tower, "bob"));
    const elsewhere = create(tower, "bob", "of a project that laptop does not share");
    await tower.log.submitAndWait({ ...elsewhere, project: "/tower/more" } as typeof elsewhere);
    const other = { cwd: "/laptop/other", project: "/laptop/other", worktree: "/laptop/other" };
    await begin(laptop, "carol", other);
    const here = create(laptop, "carol", "here");
    await laptop.log.submitAndWait({ ...here, project: "/laptop/other" } as typeof here);
    await settled(tower, laptop);
    const counts = { failed: 0, blocked: 0, done: 0 };
    expect(countAllTasks(laptop.log)).toEqual({ ...counts, active: 1, ready: 2 });
    expect(countAllTasks(tower.log)).toEqual({ ...counts, active: 1, ready: 2 });
    const page = taskPage(laptop.log, { target: "tasks" });
    let step = page.next();
    while (step.done !== true) step = page.next();
    const projects = JSON.stringify(step.value).match(/\/laptop\/\w+|example.com\/team\/app\/more/g);
    expect(projects?.sort()).toEqual(["/laptop/app", "/laptop/app", "/laptop/other"]);
  });
});

// A task of a shared project by its whole id, for whoever does not know of which project it is.
describe("a task by its whole id", () => {
  function taskOf({ log }: Machine, request: { readonly task: string; readonly project?: string }) {
    return new Promise(resolve => {
      const call = { connection: { sessions: new Map() }, reply: resolve };
      const get = taskHandlers.task_get as unknown as (...given: readonly unknown[]) => unknown;
      get({ engine: log }, { type: "task_get", ...request }, call);
    });
  }

  it("finds it in the log that has it, and says its number", async () => {
    const all = new MemoryStoreOfAll();
    const laptop = await machine("laptop", all);
    expect(await laptop.store.open(10_000)).toBe(true);
    await begin(laptop, "alice");
    await begin(laptop, "bob", { cwd: "/laptop/alone", project: "/laptop/alone", worktree: "/laptop/alone" });
    const idOf = async (made: Promise<object>) => ((await made) as { task: { id: string } }).task.id;
    const there = { project: "/laptop/alone", wallMs: 2 };
    const shared = await idOf(laptop.log.submitAndWait(create(laptop, "alice", "together")));
    const own = await idOf(laptop.log.submitAndWait({ ...create(laptop, "bob", "alone"), ...there }));
    const [app, alone] = ["/laptop/app", "/laptop/alone"];
    for (const project of [app, alone, undefined]) {
      const from = project === undefined ? {} : { project };
      const found = { id: shared, number: 1, project: app };
      expect(await taskOf(laptop, { task: shared, ...from })).toMatchObject({ ok: true, task: found });
      expect(await taskOf(laptop, { task: own, ...from })).toMatchObject({
        ok: true,
        task: { project: alone },
      });
    }
    expect(await taskOf(laptop, { task: "t-1-zz", project: app })).toMatchObject({ code: "unknown_task" });
  });
});

// The level of rules of a shared log, while a machine of an earlier program takes part.
describe("the level of rules", () => {
  it("rises when the last machine was updated, without a start of another one", async () => {
    const all = new MemoryStoreOfAll();
    let n = 0;
    const enter = (command: Command) => {
      n += 1;
      all.append([{ origin: { node: "old", epoch: 1, n }, at: 0, command }]);
    };
    const renewed = (to: number): Command => ({
      ...{ type: "node_renew", machine: "desk", binding: "desk", levels: { from: 1, to }, wallMs: 1 },
    });
    enter({ type: "daemon_started", epoch: 1, storeId: "shared" });
    enter(renewed(rulesLevel - 1));
    const laptop = await machine("laptop", all);
    expect(await laptop.store.open(10_000)).toBe(true);
    expect(laptop.store.state?.rules).toBeLessThan(rulesLevel);
    // A renewal alone proposes nothing that would be refused.
    const proposed = () => all.entries.filter(({ command }) => command.type === "rules").length;
    const before = proposed();
    await laptop.store.tellAnew();
    await expect.poll(() => laptop.store.relayed(10_000)).toBe(true);
    expect(proposed()).toBe(before);
    enter(renewed(rulesLevel));
    await laptop.store.tellAnew();
    await expect.poll(() => laptop.store.state?.rules).toBe(rulesLevel);
  });
});

// Which sessions of a machine make room for others, when some have something in the shared log alone.
describe("room for sessions", () => {
  const anchor = { pid: 7, startTime: "1" };

  /** A machine with as many sessions of one process as that may have, of which the first has a task. */
  async function crowded(): Promise<Machine> {
    const laptop = await machine("laptop", new MemoryStoreOfAll());
    expect(await laptop.store.open(10_000)).toBe(true);
    for (let n = 0; n < limits.sessionsPerProcessMax; n += 1) await begin(laptop, `s${n}`, { anchor });
    await take(laptop, "s0");
    return laptop;
  }

  async function take(laptop: Machine, session: string): Promise<void> {
    expect(await laptop.log.submitAndWait(create(laptop, session, "x"))).toMatchObject({ ok: true });
    expect(await laptop.log.submitAndWait(claim(laptop, session))).toMatchObject({ ok: true });
  }

  it("keeps a session with a shared task, and ends one that has nothing in either log", async () => {
    const laptop = await crowded();
    expect(await begin(laptop, "more", { anchor })).toMatchObject({ ok: true });
    const { live } = laptop.own.state.sessions;
    expect([live.has("s0"), live.has("s1"), live.has("more")]).toEqual([true, false, true]);
    expect(live.size).toBe(limits.sessionsPerProcessMax);
  });

  it("refuses one more where all have a shared task", async () => {
    const laptop = await crowded();
    for (let n = 1; n < limits.sessionsPerProcessMax; n += 1) await take(laptop, `s${n}`);
    expect(await begin(laptop, "more", { anchor })).toMatchObject({
      code: "too_many_sessions",
      error: expect.stringContaining("in the shared store; end some first"),
    });
    expect(laptop.own.state.sessions.live.size).toBe(limits.sessionsPerProcessMax);
    // One that has ended makes room as ever.
    const end = { type: "session_end", session: "s5", incarnation: null, cause: "ended" } as const;
    expect(await laptop.log.submitAndWait(end)).toMatchObject({ ok: true });
    expect(await begin(laptop, "more", { anchor })).toMatchObject({ ok: true });
  });
});
