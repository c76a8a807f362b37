/** What goes into the shared log of a machine's names, and what comes back. */
import { expect, it } from "vitest";
import { begin, MemoryStoreOfAll, machine, send } from "./shared-world.ts";

it("shows of a message that was sent what this machine calls its sessions and project", async () => {
  const all = new MemoryStoreOfAll();
  const laptop = await machine("laptop", all);
  expect(await laptop.store.open(10_000)).toBe(true);
  await begin(laptop, "alice");
  await begin(laptop, "bob");
  const sent = await laptop.log.submitAndWait(send(laptop, "alice", "bob", "hello"));
  expect(sent).toMatchObject({ ok: true, message: { to: [{ id: "bob", name: "bob" }] } });
});
