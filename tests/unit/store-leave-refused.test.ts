/** `kite store leave` where something of this machine cannot go to the store first. */
import { expect, it } from "vitest";
import type { Reply } from "../../daemon/core/tables/entries.ts";
import type { Call } from "../../daemon/server/call.ts";
import { storeHandlers } from "../../daemon/sharing/requests.ts";
import type { StoreServices } from "../../daemon/sharing/services.ts";
import { begin, create, MemoryStoreOfAll, machine } from "./shared-world.ts";

it("is refused with what gets a person out, and that leaves what is here", async () => {
  const all = new MemoryStoreOfAll();
  all.awaySinceMs = Date.now();
  const laptop = await machine("laptop", all);
  await begin(laptop, "alice");
  await laptop.own.submitAndWait(create(laptop, "alice", "left here"));
  laptop.store.relayed = async () => false;
  all.awaySinceMs = null;
  expect(await laptop.store.open(10_000)).toBe(true);
  const services = {
    ...{ shared: laptop.store, engine: laptop.log, presence: { isInTurn: () => false } },
    recorder: { note: () => {} },
    clock: { wall: () => 1 },
  } as unknown as StoreServices;
  const leave = (away: boolean) =>
    new Promise<Reply>((resolve, reject) => {
      const call = { reply: resolve, alone: (work: Promise<void>) => void work.catch(reject) };
      storeHandlers.store_leave(services, { away }, call as unknown as Call);
    });
  expect(await leave(false)).toMatchObject({
    ok: false,
    error: expect.stringMatching(
      /could not go to the store: .*\. This machine is still in the store\. .*: kite store leave --away$/,
    ),
  });
  expect(await leave(true)).toMatchObject({ ok: true });
  const { outbox, tasks } = laptop.own.state;
  expect(outbox.projects.size).toBe(0);
  expect([...tasks.all.values()].map(({ description }) => description)).toEqual(["left here"]);
});
