/** What an outage of the store costs, and what comes first after it. */
import { expect, it } from "vitest";
import { systemClock } from "../../daemon/engine/clock.ts";
import { begin, create, MemoryStoreOfAll, machine } from "./shared-world.ts";

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
