/** The level of rules of a shared log, while a machine of an earlier program takes part. */
import { expect, it } from "vitest";
import { rulesLevel } from "../../daemon/core/tables/base-state.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { MemoryStoreOfAll, machine } from "./shared-world.ts";

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
