/** What a machine keeps, and what it is told, when it leaves its store. */
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Reply } from "../../daemon/core/tables/entries.ts";
import type { Call } from "../../daemon/server/call.ts";
import { CopyRefused } from "../../daemon/sharing/copy.ts";
import { LeaveRecords, type ProjectRecord } from "../../daemon/sharing/leave-records.ts";
import { storeHandlers } from "../../daemon/sharing/requests.ts";
import type { StoreServices } from "../../daemon/sharing/services.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { begin, claim, create, MemoryStoreOfAll, machine, settled } from "./shared-world.ts";

describe("what is kept of shared projects while a machine has left its store", () => {
  const as = "example.com/app";
  const record: ProjectRecord = {
    ...{ as, before: { tasks: ["t-1"], keys: [] }, keys: { port: "digest" } },
    tasks: { "t-2": { createdAt: 5, status: "pending", labels: ["x"] } },
  };

  function opened() {
    const path = join(temporaryFolder(), "store-left.json");
    const troubles: string[] = [];
    const open = () =>
      new LeaveRecords({ path, onTrouble: (message, error) => troubles.push(`${message}: ${error}`) });
    return { path, open, troubles };
  }

  it("is on the disk for this user alone, for each project under the name of then", () => {
    const { path, open, troubles } = opened();
    const first = open();
    // Nothing to keep makes no file.
    first.put("/p", null);
    expect(existsSync(path)).toBe(false);
    first.put("/p", record);
    first.put("/q", { ...record, before: null });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const second = open();
    expect(second.get("/p", as)).toEqual(record);
    expect(second.get("/p", "another")).toBeNull();
    second.put("/p", null);
    const third = open();
    expect([third.get("/p", as), third.get("/q", as)]).toEqual([null, { ...record, before: null }]);
    expect(troubles).toEqual([]);
  });

  it("is refused where the disk does not take it, and is as before then", () => {
    const { path, open } = opened();
    const records = open();
    records.put("/p", record);
    mkdirSync(`${path}.new`);
    writeFileSync(join(`${path}.new`, "in the way"), "");
    expect(() => records.put("/p", null)).toThrow(CopyRefused);
    expect(() => records.put("/q", record)).toThrow("cannot be written");
    expect([records.get("/p", as), records.get("/q", as)]).toEqual([record, null]);
    expect(open().get("/p", as)).toEqual(record);
  });

  it("is unknown, and said so, if the file is damaged", () => {
    for (const text of ["{", '{"version":2,"projects":[]}', '{"version":1,"projects":7}']) {
      const { path, open, troubles } = opened();
      writeFileSync(path, text, { mode: 0o600 });
      expect(open().get("/p", as)).toBeNull();
      expect(troubles).toEqual([
        expect.stringMatching(/^what the store had when this machine left it is not/),
      ]);
    }
  });
});

// What a leave says of tasks that agents of other machines work on: they come back, so that they may be done twice.
describe("tasks of other machines", () => {
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
});

// `kite store leave` where something of this machine cannot go to the store first.
describe("a refused leave", () => {
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
});
