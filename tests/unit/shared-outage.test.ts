/** What an outage of the store costs. */
import { expect, it } from "vitest";
import { begin, MemoryStoreOfAll, machine } from "./shared-world.ts";

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
