/** Agents whose claims are gone when the store is back. */
import { expect, it } from "vitest";
import {
  begin,
  claim,
  create,
  type Machine,
  MemoryStoreOfAll,
  machine,
  shared,
  takeAway,
} from "./shared-world.ts";

async function twoMachines() {
  const all = new MemoryStoreOfAll();
  const [laptop, desk] = await Promise.all([machine("laptop", all), machine("desk", all)]);
  for (const { store } of [laptop, desk]) expect(await store.open(10_000)).toBe(true);
  await begin(laptop, "alice");
  await begin(desk, "bob");
  for (const what of ["first", "second"]) await laptop.log.submitAndWait(create(laptop, "alice", what));
  await laptop.log.submitAndWait(claim(laptop, "alice"));
  const { claims } = desk.log.logOf("/desk/app").state.tasks;
  const [[task = ""] = []] = claims.values();
  return { all, laptop, desk, task };
}

function texts({ own }: Machine): readonly string[] {
  return [...own.state.messages.all.values()].map(({ text }) => text);
}

it("hear of it by a message, once, and of no other", async () => {
  const { all, laptop, desk, task } = await twoMachines();
  await takeAway(all, laptop);
  // The desk still reaches it, and the laptop sees nothing of that.
  const origin = { node: desk.store.node, epoch: all.epoch, n: 1_000 };
  all.append([{ origin, at: 0, command: { type: "task_release", by: null, task, wallMs: 5 } }]);
  all.awaySinceMs = null;
  await expect.poll(() => texts(laptop), { timeout: 20_000 }).toHaveLength(1);
  expect(texts(laptop)[0]).toMatch(/^Kite: task #1 "first" is no longer yours: it was given back while/);
  expect(texts(desk)).toEqual([]);
  // Another opening finds nothing new.
  await laptop.log.submitAndWait(claim(laptop, "alice"));
  await takeAway(all, laptop);
  all.awaySinceMs = null;
  await expect.poll(() => laptop.conditions.at(-1), { timeout: 20_000 }).toBe("open");
  await laptop.own.submitAndWait({ type: "outbox_sent", node: "none", last: { epoch: 0, n: 0 } });
  expect(texts(laptop)).toHaveLength(1);
});

it("hear who took a task meanwhile", async () => {
  const { all, laptop, desk, task } = await twoMachines();
  const { state } = desk.log.logOf("/desk/app");
  await expect.poll(() => state.sessions.byNode.get(desk.store.node)?.size).toBe(1);
  const [bob = ""] = state.sessions.byNode.get(desk.store.node) ?? [];
  await takeAway(all, laptop);
  const origin = { node: desk.store.node, epoch: all.epoch, n: 1_000 };
  const actor = { session: bob, agent: null, incarnation: 0 };
  const work = { task, labels: [], project: shared, cwd: "", wallMs: 6 };
  all.append([
    { origin, at: 0, command: { type: "task_release", by: null, task, wallMs: 5 } },
    { origin: { ...origin, n: 1_001 }, at: 0, command: { type: "task_claim", actor, ...work } },
  ]);
  all.awaySinceMs = null;
  await expect.poll(() => texts(laptop), { timeout: 20_000 }).toHaveLength(1);
  expect(texts(laptop)[0]).toContain("is no longer yours: bob@desk took it while");
});
