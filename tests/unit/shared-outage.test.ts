/** A store that is away, late, or back without all of its entries. */
import { describe, expect, it, test } from "vitest";
import { storeText } from "../../bin/view/store.ts";
import { inboxOf } from "../../daemon/core/messages/inbox.ts";
import { type Command, Step } from "../../daemon/core/tables/entries.ts";
import { Answers, Outbox } from "../../daemon/engine/answers.ts";
import { systemClock } from "../../daemon/engine/clock.ts";
import { storeState } from "../../daemon/sharing/show.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import {
  actorOf,
  begin,
  claim,
  copyPathOfTest,
  create,
  MemoryStoreOfAll,
  machine,
  send,
} from "./shared-world.ts";

describe("what an outage of the store costs, and what comes first after it", () => {
  it("sends a row that waits not again with each step while the store is away, and all when it is back", async () => {
    const all = new MemoryStoreOfAll();
    const laptop = await machine("laptop", all);
    expect(await laptop.store.open(10_000)).toBe(true);
    expect(await laptop.store.relayed(10_000)).toBe(true);
    all.awaySinceMs = Date.now();
    const before = all.proposals;
    const count = 60;
    for (let n = 0; n < count; n += 1) await begin(laptop, `s${n}`);
    await expect.poll(() => laptop.own.state.outbox.rows.size).toBe(count);
    // The rows of the first failure, and renewals of the lease.
    expect(all.proposals - before).toBeLessThan(count);
    all.awaySinceMs = null;
    await expect.poll(() => laptop.own.state.outbox.rows.size, { timeout: 30_000 }).toBe(0);
    expect(laptop.store.state?.sessions.live.size).toBe(count);
  });

  it("tells of a session before what it says just as the store is back", async () => {
    const all = new MemoryStoreOfAll();
    const laptop = await machine("laptop", all);
    expect(await laptop.store.open(10_000)).toBe(true);
    await begin(laptop, "alice");
    expect(await laptop.log.submitAndWait(create(laptop, "alice", "before"))).toMatchObject({ ok: true });
    // A session that the store does not have: the machine tells anew of all, so that it need not soon again.
    await laptop.store.tellUnknown();
    all.awaySinceMs = Date.now();
    await begin(laptop, "bob");
    await expect.poll(() => laptop.store.condition.is).toBe("away");
    await new Promise(resolve => setImmediate(resolve));
    all.awaySinceMs = null;
    expect(await laptop.log.submitAndWait(create(laptop, "bob", "after"))).toMatchObject({ ok: true });
  });

  it("says that the store is away and that it is back when it is, and not with the next renewal", async () => {
    const all = new MemoryStoreOfAll();
    // No renewal of the lease comes but the first.
    const clock = { ...systemClock(), at: () => () => {} };
    const laptop = await machine("laptop", all, { clock });
    await expect.poll(() => laptop.conditions).toEqual(["open"]);
    all.awaySinceMs = Date.now();
    expect(laptop.conditions).toEqual(["open", "away"]);
    all.awaySinceMs = null;
    expect(laptop.conditions).toEqual(["open", "away", "open"]);
  });
});

// What the store answers late, after nobody waited for it any more.
describe("late answers", () => {
  const bob = actorOf("bob");
  const take = { type: "inbox_take", actor: bob, max: 5, chars: 1_000 } as const;

  it("gives back a message that the store handed out too late for the event", async () => {
    const all = new MemoryStoreOfAll();
    const laptop = await machine("laptop", all);
    expect(await laptop.store.open(10_000)).toBe(true);
    await begin(laptop, "alice");
    await begin(laptop, "bob");
    expect(await laptop.log.submitAndWait(send(laptop, "alice", "bob", "hello"))).toMatchObject({ ok: true });
    all.holds = true;
    const taken = laptop.log.submitAndWait(take);
    // By this answer, the store has been silent for as long as a request waits for it.
    expect(await laptop.log.submitAndWait(create(laptop, "alice", "x"))).toMatchObject({
      code: "outcome_unknown",
    });
    expect(await taken).toMatchObject({ code: "store_away" });
    all.holds = false;
    all.release();
    const log = laptop.log.logOf("/laptop/app");
    const told = () => all.entries.filter(({ command }) => command.type === "inbox_told");
    await expect.poll(told, { timeout: 10_000 }).toHaveLength(1);
    await expect
      .poll(() => log.state.messages.inboxes.get(inboxOf(log.actor(bob)))?.unread.size, { timeout: 10_000 })
      .toBe(1);
  });

  it("ends what is over by the store's clock, although that went ahead", async () => {
    const all = new MemoryStoreOfAll();
    const laptop = await machine("laptop", all);
    expect(await laptop.store.open(10_000)).toBe(true);
    await begin(laptop, "bob");
    const set = { type: "context_set", actor: bob, project: "/laptop/app", durable: true, ifVersion: null };
    const value = { key: "passing", value: "soon gone", bytes: 9, ttlMs: 600_000, wallMs: 1 };
    expect(await laptop.log.submitAndWait({ ...set, ...value } as Command)).toMatchObject({ ok: true });
    expect(laptop.store.state?.context.items.size).toBe(1);
    // A standby whose clock is ahead took over.
    all.aheadMs = 601_000;
    await laptop.log.submitAndWait(create(laptop, "bob", "after"));
    await expect.poll(() => laptop.store.state?.context.items.size, { timeout: 10_000 }).toBe(0);
  });

  it("has no message of the store under the id of one in its own log", async () => {
    const laptop = await machine("laptop", new MemoryStoreOfAll());
    expect(await laptop.store.open(10_000)).toBe(true);
    await begin(laptop, "alice");
    await begin(laptop, "bob");
    // As before the project was shared, or as a freeze does.
    const early = await laptop.own.submitAndWait(send(laptop, "alice", "bob", "early"));
    const late = await laptop.log.submitAndWait(send(laptop, "alice", "bob", "late"));
    const [first, second] = [early, late].map(
      reply => (reply as { message?: { id: string } }).message?.id ?? "",
    );
    expect(first).not.toBe(second);
    const read = { type: "message_ack", actor: bob, messages: [first] } as Command;
    expect(await laptop.log.submitAndWait(read)).toMatchObject({ ok: true, acknowledged: [first] });
    const { state, actor } = laptop.log.logOf("/laptop/app");
    expect([...(state.messages.inboxes.get(inboxOf(actor(bob)))?.unread ?? [])]).toHaveLength(1);
  });

  it("gives back messages of an answer that came after its proposal failed", () => {
    const entered: unknown[] = [];
    const answers = new Answers({
      outbox: new Outbox(task => task()),
      node: "a",
      epoch: () => 1,
      submitWithRetry: command => void entered.push(command),
      onStep: () => {},
    });
    const heard: unknown[] = [];
    answers.expect(1, take, { answer: reply => void heard.push(reply) });
    answers.failed(1, { code: "outcome_unknown", message: "not yet", outcome: "unknown" });
    const step = new Step();
    step.reply = { ok: true, messages: [{ id: "m1" }], unread: 0 };
    answers.send({ seq: 1, at: 0, origin: answers.origin(1), command: take }, step);
    expect(heard).toMatchObject([{ code: "outcome_unknown" }]);
    expect(entered).toEqual([{ type: "inbox_told", actor: bob, messages: ["m1"], heard: false }]);
  });

  it("does not say that nothing was stored of a request that the store may have", async () => {
    const all = new MemoryStoreOfAll();
    const laptop = await machine("laptop", all);
    expect(await laptop.store.open(10_000)).toBe(true);
    await begin(laptop, "alice");
    expect(await laptop.log.submitAndWait(create(laptop, "alice", "before"))).toMatchObject({ ok: true });
    const retry = { by: "alice", requestId: "r1", digest: "d" };
    const command = { ...create(laptop, "alice", "once"), retry } as Command;
    all.holds = true;
    const first = laptop.log.submitAndWait(command);
    // A renewal of the lease is under way, too.
    await laptop.store.tellAnew();
    await new Promise(resolve => setImmediate(resolve));
    all.awaySinceMs = Date.now();
    all.end();
    expect(await first).toMatchObject({ code: "outcome_unknown" });
    expect(await laptop.log.submitAndWait(create(laptop, "alice", "new"))).toMatchObject({
      code: "store_away",
    });
    expect(await laptop.log.submitAndWait(command)).toMatchObject({ code: "outcome_unknown" });
    expect(laptop.conditions).toEqual(["open", "away", "opening"]);
    all.holds = false;
    all.release();
    all.awaySinceMs = null;
    expect(await laptop.store.open(10_000)).toBe(true);
    expect(await laptop.log.submitAndWait(command)).toMatchObject({ ok: true });
    const { tasks } = laptop.log.logOf("/laptop/app").state;
    expect([...tasks.all.values()].map(({ description }) => description)).toEqual(["before", "once"]);
  });

  it("ends what it repeats for a session that ended", async () => {
    const all = new MemoryStoreOfAll();
    const laptop = await machine("laptop", all);
    expect(await laptop.store.open(10_000)).toBe(true);
    const reply = await new Promise(resolve =>
      laptop.log.submit(claim(laptop, "nobody"), { answer: resolve, failed: () => resolve("again") }),
    );
    expect(reply).toMatchObject({ code: "unknown_session" });
  });

  it("says of a copy that was kept anew without the store since when it may be old", async () => {
    const copyPath = copyPathOfTest();
    const all = new MemoryStoreOfAll();
    const first = await machine("laptop", all, { copyPath });
    expect(await first.store.open(10_000)).toBe(true);
    // Long before it stops.
    const awayMs = Date.now() - 3_600_000;
    all.awaySinceMs = awayMs;
    await first.store.close();
    for (let starts = 0; starts < 2; starts += 1) {
      const next = await machine("laptop", all, { copyPath });
      expect(next.store.asOfMs).toBe(awayMs);
      await next.store.close();
    }
  });

  it("says after a restart, too, that the outcome of a request is not known", async () => {
    const copyPath = copyPathOfTest();
    const all = new MemoryStoreOfAll();
    const first = await machine("laptop", all, { copyPath });
    expect(await first.store.open(10_000)).toBe(true);
    await begin(first, "alice");
    const asked = (requestId: string) =>
      ({ ...create(first, "alice", "once"), retry: { by: "alice", requestId, digest: "d" } }) as Command;
    expect(await first.log.submitAndWait(asked("r0"))).toMatchObject({ ok: true });
    all.holds = true;
    // One client hears that the outcome is not known, the other one nothing before the daemon stops.
    expect(await first.log.submitAndWait(asked("r1"))).toMatchObject({ code: "outcome_unknown" });
    void first.log.submitAndWait(asked("r2"));
    await expect.poll(() => all.kept).toBeGreaterThan(1);
    all.awaySinceMs = Date.now();
    await first.store.close();
    const next = await machine("laptop", all, { copyPath });
    await begin(next, "alice");
    for (const requestId of ["r1", "r2"])
      expect(await next.log.submitAndWait(asked(requestId))).toMatchObject({ code: "outcome_unknown" });
    // Of others it knows that this daemon did not store them.
    expect(await next.log.submitAndWait(asked("r3"))).toMatchObject({
      code: "store_away",
      error: expect.stringContaining("did not since the daemon began; nothing can be stored now"),
    });
  });

  it("repeats nothing for a store that this daemon has left or closed", async () => {
    const all = new MemoryStoreOfAll();
    const laptop = await machine("laptop", all);
    expect(await laptop.store.open(10_000)).toBe(true);
    await begin(laptop, "alice");
    expect(await laptop.store.leave()).toMatchObject({ ok: true });
    const submitted: Command[] = [];
    const { log } = laptop;
    const submit = log.submit.bind(log);
    log.submit = (command, caller) => {
      submitted.push(command);
      return submit(command, caller);
    };
    log.submitWithRetry({ type: "inbox_told", actor: actorOf("alice"), messages: ["m1"], heard: true });
    expect(submitted).toEqual([]);
  });
});

// A store that lacks entries which this machine has seen: a backup was restored, or a standby that lagged took over.
describe("a store that lacks entries", () => {
  const isOpen = (one: { readonly store: { readonly condition: { readonly is: string } } }) =>
    expect.poll(() => one.store.condition.is, { timeout: 20_000 }).toBe("open");

  test("is gone on with, and people read that something may be missing", async () => {
    const all = new MemoryStoreOfAll();
    const here = await machine("here", all);
    await isOpen(here);
    await begin(here, "s1");
    expect(await here.log.submitAndWait(create(here, "s1", "kept"))).toMatchObject({ ok: true });
    const kept = all.entries.length;
    expect(await here.log.submitAndWait(create(here, "s1", "lost"))).toMatchObject({ ok: true });
    expect(storeText(storeState(here.store), Date.now())).toBeNull();
    all.goBack(kept);
    await expect.poll(() => here.store.state?.tasks.all.size, { timeout: 20_000 }).toBe(1);
    await isOpen(here);
    expect(here.conditions).toEqual(["open", "opening", "open"]);
    expect(storeText(storeState(here.store), Date.now())).toMatch(/^store went back at \d\d:\d\d: /);
    expect(storeText(storeState(here.store), Date.now() + limits.storeWentBackMs)).toBeNull();
    expect(await here.log.submitAndWait(create(here, "s1", "after"))).toMatchObject({ ok: true });
  });

  test("is found again by itself when its tables were gone while the backup was restored", async () => {
    const all = new MemoryStoreOfAll();
    const here = await machine("here", all);
    await isOpen(here);
    await begin(here, "s1");
    expect(await here.log.submitAndWait(create(here, "s1", "kept"))).toMatchObject({ ok: true });
    all.removeTables();
    await expect.poll(() => here.store.condition.is, { timeout: 20_000 }).toBe("refused");
    expect(storeText(storeState(here.store), Date.now())).toMatch(
      /^the store cannot be used now \(the test.*\); tasks and messages as of \d\d:\d\d; /,
    );
    expect(await here.log.submitAndWait(create(here, "s1", "meanwhile"))).toMatchObject({
      code: "store_away",
    });
    // It is looked at again, over the store that this machine joined alone.
    const tries = all.knownIds.length;
    await expect.poll(() => all.knownIds.length, { timeout: 20_000 }).toBeGreaterThan(tries + 1);
    expect(new Set(all.knownIds.slice(tries))).toEqual(new Set([all.id]));
    all.isLost = false;
    await isOpen(here);
    expect(here.conditions).toEqual(["open", "refused", "open"]);
    expect(await here.log.submitAndWait(create(here, "s1", "after"))).toMatchObject({ ok: true });
    expect(here.store.state?.tasks.all.size).toBe(2);
  });

  test("is known at a start, too, by the copy that the stop left", async () => {
    const all = new MemoryStoreOfAll();
    const copyPath = `${temporaryFolder()}/copy`;
    const before = await machine("here", all, { copyPath, node: "same" });
    await isOpen(before);
    await begin(before, "s1");
    for (const text of ["one", "two", "three"]) await before.log.submitAndWait(create(before, "s1", text));
    await before.store.close();
    all.entries.length -= 2;
    const after = await machine("here", all, { copyPath, node: "same" });
    await isOpen(after);
    expect(storeText(storeState(after.store), Date.now())).toMatch(/^store went back at /);
  });
});
