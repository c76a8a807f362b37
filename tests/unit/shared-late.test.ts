/** What the store answers late, after nobody waited for it any more. */
import { expect, it } from "vitest";
import { inboxOf } from "../../daemon/core/messages/inbox.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { Step } from "../../daemon/core/tables/entries.ts";
import { Answers, Outbox } from "../../daemon/engine/answers.ts";
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
