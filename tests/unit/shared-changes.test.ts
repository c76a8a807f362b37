/** Changes of what a machine shares, while its daemon says anew what it shares. */
import { expect, it } from "vitest";
import { bothLogs } from "../../daemon/sharing/both-logs.ts";
import { loadCopy } from "../../daemon/sharing/copy-file.ts";
import { LeaveRecords } from "../../daemon/sharing/leave-records.ts";
import { shareProject } from "../../daemon/sharing/share.ts";
import { storeState } from "../../daemon/sharing/show.ts";
import { memoryStore } from "../journal/memory-journal.ts";
import { begin, claim, copyPathOfTest, create, MemoryStoreOfAll, machine, shared } from "./shared-world.ts";

it("keeps a change of what is shared that comes with a telling of all", async () => {
  const all = new MemoryStoreOfAll();
  const laptop = await machine("laptop", all);
  expect(await laptop.store.open(10_000)).toBe(true);
  const { store, own } = laptop;
  const { node, projects } = own.state.outbox;
  const both = [...projects, ["/laptop/more", `${shared}/more`] as const];
  const changed = store.setSharing({ type: "sharing_set", node, projects: both });
  const told = store.tellAnew();
  expect(await changed).toMatchObject({ ok: true });
  await told;
  expect([...own.state.outbox.projects.keys()]).toEqual(["/laptop/app", "/laptop/more"]);
});

it("moves what a move that broke off left here, when the store opens", async () => {
  const all = new MemoryStoreOfAll();
  all.awaySinceMs = Date.now();
  const laptop = await machine("laptop", all);
  await begin(laptop, "alice");
  await laptop.own.submitAndWait(create(laptop, "alice", "left here"));
  await laptop.own.submitAndWait(claim(laptop, "alice"));
  all.awaySinceMs = null;
  await expect.poll(() => laptop.own.state.tasks.all.size, { timeout: 30_000 }).toBe(0);
  const { tasks, sessions } = laptop.log.logOf("/laptop/app").state;
  const [moved] = tasks.all.values();
  const [id = ""] = sessions.live.keys();
  expect(moved).toMatchObject({ description: "left here", state: { claimer: { session: id } } });
});

it("tries a move again that fails while the store is open", async () => {
  const all = new MemoryStoreOfAll();
  all.awaySinceMs = Date.now();
  const laptop = await machine("laptop", all);
  await begin(laptop, "alice");
  await laptop.own.submitAndWait(create(laptop, "alice", "left here"));
  let tries = 0;
  laptop.store.relayed = async () => {
    tries += 1;
    return tries > 2;
  };
  all.awaySinceMs = null;
  await expect.poll(() => laptop.own.state.tasks.all.size, { timeout: 30_000 }).toBe(0);
  expect(tries).toBe(3);
  expect(laptop.conditions.filter(is => is === "open")).toHaveLength(1);
}, 60_000);

it("goes on by the clock with a move of a person that broke off, and says so meanwhile", async () => {
  const all = new MemoryStoreOfAll();
  const laptop = await machine("laptop", all, { projects: [] });
  const { store, own } = laptop;
  expect(await store.open(10_000)).toBe(true);
  await begin(laptop, "alice");
  await own.submitAndWait(create(laptop, "alice", "of here"));
  const { relayed } = store;
  store.relayed = async () => false;
  const share = async () => {
    const logs = bothLogs(store);
    if ("ok" in logs) throw new Error(logs.error);
    await shareProject(logs, "/laptop/app", shared);
  };
  await expect(store.moving.byPerson(share, share)).rejects.toThrow("has not heard yet");
  expect(storeState(store).unmoved).toEqual({ projects: [shared], tasks: 1, context: 0, why: null });
  // The first try by the clock fails, too.
  await expect.poll(() => storeState(store).unmoved?.why, { timeout: 30_000 }).toContain("has not heard yet");
  store.relayed = relayed.bind(store);
  await expect.poll(() => own.state.tasks.all.size, { timeout: 30_000 }).toBe(0);
  expect(storeState(store).unmoved).toBeUndefined();
  expect(laptop.conditions).toEqual(["open"]);
}, 90_000);

it("undoes a leave that was killed when the store opens, keeps what was here before, and says so", async () => {
  const leftPath = copyPathOfTest();
  const all = new MemoryStoreOfAll();
  all.awaySinceMs = Date.now();
  const [kept, node] = [memoryStore(), "n-left"];
  const laptop = await machine("laptop", all, { kept, node });
  await begin(laptop, "alice");
  for (const name of ["not moved yet", "copied back"])
    await laptop.own.submitAndWait(create(laptop, "alice", name));
  const [before = "", copied = ""] = laptop.own.state.tasks.all.keys();
  const tasksThen = { [copied]: { createdAt: laptop.own.state.tasks.all.get(copied)?.createdAt ?? 0 } };
  const record = { as: shared, before: { tasks: [before], keys: [] }, tasks: tasksThen, keys: {} };
  new LeaveRecords({ path: leftPath, onTrouble: () => {} }).put("/laptop/app", record);
  await laptop.store.close();
  laptop.kill();
  const next = await machine("laptop", all, { kept, node, leftPath });
  expect(storeState(next.store).unmoved).toMatchObject({ tasks: 1 });
  // Its first try to open the store ends in vain.
  await expect.poll(() => next.conditions).toContain("opening");
  all.awaySinceMs = null;
  await expect
    .poll(() => storeState(next.store).leaveUndoneAt, { timeout: 30_000 })
    .toEqual(expect.any(Number));
  await expect.poll(() => next.own.state.tasks.all.size, { timeout: 30_000 }).toBe(0);
  const { tasks } = next.log.logOf("/laptop/app").state;
  expect([...tasks.all.values()].map(({ description }) => description)).toEqual(["not moved yet"]);
  expect(storeState(next.store).unmoved).toBeUndefined();
}, 60_000);

it("knows after a kill which store it joined", async () => {
  const copyPath = copyPathOfTest();
  const all = new MemoryStoreOfAll();
  const first = await machine("laptop", all, { copyPath });
  expect(await first.store.open(10_000)).toBe(true);
  // The first one is not stopped, and keeps nothing more: two that write one copy at once take it from each other.
  await expect.poll(() => loadCopy(copyPath)?.state ?? null).not.toBeNull();
  const second = await machine("laptop", all, { copyPath });
  expect(await second.store.open(10_000)).toBe(true);
  expect(all.knownIds).toEqual([null, all.id]);
  expect(second.store.storeId).toBe(all.id);
});

it("tells all sessions anew one time for many calls that the log does not know", async () => {
  const all = new MemoryStoreOfAll();
  const laptop = await machine("laptop", all);
  expect(await laptop.store.open(10_000)).toBe(true);
  const before = laptop.told.length;
  await Promise.all(Array.from({ length: 20 }, () => laptop.store.tellUnknown()));
  for (let calls = 0; calls < 5; calls += 1) await laptop.store.tellUnknown();
  expect(laptop.told.length - before).toBe(1);
  // What has another reason is told, one behind the other.
  await Promise.all([laptop.store.tellAnew(), laptop.store.tellAnew()]);
  await laptop.store.tellAnew();
  expect(laptop.told.length - before).toBe(3);
});

it("ends the waits for a store that closes", async () => {
  const all = new MemoryStoreOfAll();
  all.awaySinceMs = Date.now();
  const laptop = await machine("laptop", all);
  const open = laptop.store.open(3_600_000);
  await laptop.store.close();
  expect(await open).toBe(false);
});
