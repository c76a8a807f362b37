/** What a leave says of tasks that agents of other machines work on: they come back, so that they may be done twice. */
import { expect, it } from "vitest";
import type { Reply } from "../../daemon/core/tables/entries.ts";
import type { Call } from "../../daemon/server/call.ts";
import { storeHandlers } from "../../daemon/sharing/requests.ts";
import type { StoreServices } from "../../daemon/sharing/services.ts";
import { begin, claim, create, MemoryStoreOfAll, machine, settled } from "./shared-world.ts";

it("names them before and behind it, with who works on them, and no task of its own machine", async () => {
  const all = new MemoryStoreOfAll();
  const [laptop, desk] = await Promise.all([machine("laptop", all), machine("desk", all)]);
  for (const { store } of [laptop, desk]) expect(await store.open(10_000)).toBe(true);
  await begin(laptop, "alice");
  await begin(desk, "bob");
  for (const what of ["mine", "theirs", "nobody's"])
    await laptop.log.submitAndWait(create(laptop, "alice", what));
  expect(await laptop.log.submitAndWait(claim(laptop, "alice"))).toMatchObject({ ok: true });
  expect(await desk.log.submitAndWait(claim(desk, "bob"))).toMatchObject({ ok: true });
  await settled(laptop, desk);
  const services = {
    ...{ shared: laptop.store, engine: laptop.log, presence: { isInTurn: () => false } },
    recorder: { note: () => {} },
    clock: { wall: () => 1 },
  } as unknown as StoreServices;
  const leave = (dryRun: boolean) =>
    new Promise<Reply>((resolve, reject) => {
      const call = { reply: resolve, alone: (work: Promise<void>) => void work.catch(reject) };
      storeHandlers.store_leave(services, { dryRun }, call as unknown as Call);
    });
  const [task] = [...(laptop.store.state?.tasks.all.values() ?? [])].filter(
    ({ description }) => description === "theirs",
  );
  const row = { task: task?.id, number: 2, agent: "bob@desk" };
  expect(await leave(true)).toMatchObject({ ok: true, tasks: 3, others: { count: 1, tasks: [row] } });
  const here = () => laptop.own.state.tasks.all.get(task?.id ?? "");
  const left = await leave(false);
  expect(here()?.state.status).toBe("pending");
  const number = here()?.number ?? 2;
  expect(left).toMatchObject({ ok: true, others: { count: 1, tasks: [{ ...row, number }] } });
});
