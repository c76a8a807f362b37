import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { commandRules } from "../../daemon/core/apply.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { Random } from "../simulation/random.ts";
import { type Client, frees, wants } from "./commands.ts";
import { dir, FileWorld } from "./file-world.ts";

/** A world with one entry and room for `room` bytes more. */
async function nearlyFull(
  room: number,
  bounds: { readonly reserveBytes?: number } = {},
): Promise<{ world: FileWorld; client: Client }> {
  const world = new FileWorld({ segmentBytes: 1 << 20, ...bounds });
  const client = await world.open();
  client.propose(wants("one"));
  await world.settle();
  world.disk.capacity = world.disk.used + room;
  return { world, client };
}

const refusals = (client: Client) => client.failures.map(f => `${f.n} ${f.reason.code} ${f.reason.outcome}`);
const delivered = (client: Client) => client.delivered.map(e => e.origin.n);

describe("a full disk", () => {
  it("at whatever byte a write falls short, nothing of it remains", async () => {
    const probe = await nearlyFull(1 << 20);
    const before = probe.world.disk.used;
    probe.client.propose(wants("two"), wants("three"));
    await probe.world.settle();
    const size = probe.world.disk.used - before;
    for (let room = 0; room <= size; room++) {
      const { world, client } = await nearlyFull(room);
      client.propose(wants("two"), wants("three"));
      await world.settle();
      if (room === size) {
        expect(delivered(client)).toEqual([1, 2, 3]);
      } else {
        expect(delivered(client)).toEqual([1]);
        expect(refusals(client)).toEqual(["2 store_full not_stored", "3 store_full not_stored"]);
      }
      world.disk.capacity = Number.POSITIVE_INFINITY;
      const next = await world.open();
      expect(next.found).toEqual(client.delivered);
      expect(next.journal.health.full).toBe(false);
    }
  });

  it("takes what frees something, in the same batch and after, and refuses the rest", async () => {
    const { world, client } = await nearlyFull(100);
    client.propose(wants("x".repeat(200)), frees("s1"), wants("y"), frees("s2"));
    await world.settle();
    expect(delivered(client)).toEqual([1, 3, 5]);
    expect(client.delivered.map(e => e.seq)).toEqual([1, 2, 3]);
    expect(refusals(client)).toEqual(["2 store_full not_stored", "4 store_full not_stored"]);
    expect(client.failures[0]?.reason.message).toMatch(/disk is full.*make space/);
    expect(client.journal.health.full).toBe(true);
    for (let i = 0; i < 5; i++) client.propose(frees(`t${i}`));
    await world.settle();
    expect(delivered(client).length).toBe(8);
    expect(client.fatal).toEqual([]);
    expect((await world.open()).found).toEqual(client.delivered);
  });

  it("takes all commands that free, and only those", async () => {
    const asked = { code: "asked", text: "asked", files: [], more: 0, output: null } as const;
    const all: Command[] = [
      frees(),
      { type: "lock_revoke", by: "somebody", files: [] },
      { type: "lock_unbind", bound: { node: "n1", epoch: 1, connection: 1 } },
      { type: "lock_detach", waiter: { node: "n1", epoch: 1, n: 1 } },
      {
        type: "reply_unheard",
        to: { node: "n1", epoch: 1, n: 1 },
        kept: { by: "s", requestId: "r", digest: "d" },
      },
      {
        type: "lock_undelivered",
        waiter: { node: "n1", epoch: 1, n: 1 },
        actor: { session: "s1", agent: null, incarnation: 1 },
        keys: ["n:/p/x"],
      },
      { type: "turn_end", actor: { session: "s1", agent: null, incarnation: 1 }, keepPrompt: null },
      { type: "session_end", session: "s1", incarnation: null, cause: "ended" },
      { type: "session_lost", session: "s1", begun: 1 },
      { type: "elapse", due: { what: "wait_over", ticket: 1 } },
      { type: "void", seq: 1 },
      { type: "task_release", by: null, task: "t-1-1", wallMs: 0 },
      { type: "context_delete", actor: null, project: "p", key: "k", ifVersion: null },
      { type: "resume", actor: null, project: "p", hold: null },
      {
        type: "merge_cancel",
        by: null,
        merge: null,
        runner: "r1",
        reason: { code: "asked", text: "", files: [], more: 0, output: null },
        wallMs: 0,
      },
      { type: "merge_unbind", bound: { node: "n1", epoch: 1, connection: 1 }, wallMs: 0 },
      { type: "agent_end", actor: { session: "s1", agent: "x", incarnation: 1 } },
      { type: "daemon_started", epoch: 2, storeId: "store" },
      { type: "rules", level: 1 },
      { type: "agent_release", session: "s1", agent: null, begun: 1, by: null, cause: "asked", wallMs: 0 },
      { type: "merge_cancel", by: null, merge: "mg-1-1", runner: "", reason: asked, wallMs: 0 },
      { type: "merge_unbind", bound: { node: "n1", epoch: 1, connection: 1 }, wallMs: 0 },
      { type: "spawn_remove", by: null, spawns: ["a-1-1"] },
      {
        ...{ type: "spawn_update", by: null, spawn: "a-1-1", state: "stopped", stopping: null, wallMs: 0 },
        ...{ handle: null, worktree: null, branch: null, output: null, reason: null },
      },
      { type: "flight_unseen", actor: { session: "s1", agent: null, incarnation: 1 }, now: "over" },
      { type: "merge_settled", merge: "mg-1-1" },
    ];
    expect(new Set(all.map(command => command.type))).toEqual(
      new Set(Object.entries(commandRules).flatMap(([type, { frees }]) => (frees ? [type] : []))),
    );
    const { world, client } = await nearlyFull(0, { reserveBytes: 8192 });
    client.propose(...all, { type: "session_found", session: "s1" });
    await world.settle();
    expect(client.delivered.slice(1).map(e => e.command)).toEqual(all);
    expect(refusals(client).length).toBe(1);
  });

  it("refuses only when what was undone is undone durably, and keeps the order meanwhile", async () => {
    const { world, client } = await nearlyFull(100);
    world.disk.holdSyncs = true;
    client.propose(wants("x".repeat(200)), frees("s1"));
    await world.settle();
    client.propose(frees("s2"));
    let passed = false;
    const barrier = client.journal.barrier().then(() => {
      passed = true;
    });
    await world.settle();
    expect([client.failures.length, client.delivered.length, passed]).toEqual([0, 1, false]);
    world.disk.holdSyncs = false;
    world.disk.completeSyncs();
    await world.settle();
    await barrier;
    expect(delivered(client)).toEqual([1, 3, 4]);
    expect(refusals(client)).toEqual(["2 store_full not_stored"]);
  });

  it("keeps the order of a batch whose end found no space", async () => {
    const { world, client } = await nearlyFull(3600);
    world.disk.holdSyncs = true;
    let seen = -1;
    client.onBatch = batch => {
      if (batch[0]?.origin.n !== 2) return;
      void client.journal.barrier().then(() => {
        seen = client.delivered.length;
      });
      client.propose(frees("late"));
    };
    client.propose(wants("x".repeat(3000)), wants("y".repeat(3000)), frees("early"));
    await world.settle();
    expect([delivered(client), seen]).toEqual([[1, 2], -1]);
    world.disk.holdSyncs = false;
    world.disk.completeSyncs();
    await world.settle();
    expect([delivered(client), seen]).toEqual([[1, 2, 4, 5], 4]);
    expect(refusals(client)).toEqual(["3 store_full not_stored"]);
  });

  it("gives the reserve back, and refuses even what frees when that is used up", async () => {
    const { world, client } = await nearlyFull(0);
    while (client.failures.length === 0) {
      client.propose(frees());
      await world.settle();
      expect(client.delivered.length).toBeLessThan(100);
    }
    expect(client.delivered.length).toBeGreaterThan(5);
    expect(world.names("reserve")).toEqual([]);
    expect(client.journal.health.full).toBe(true);
    expect(client.fatal).toEqual([]);
    expect((await world.open()).found).toEqual(client.delivered);
  });

  it("recovers by itself when its time comes, with the reserve in place again", async () => {
    const { world, client } = await nearlyFull(0);
    client.propose(wants("two"));
    await world.settle();
    expect(world.retries).toBe(1);
    world.retry();
    expect(client.journal.health.full).toBe(true);
    expect(world.retries).toBe(1);
    // Room for the reserve, but then none for the log: still full.
    world.disk.capacity = world.disk.used + 2 * world.bounds.reserveBytes - 1;
    world.retry();
    expect(client.journal.health.full).toBe(true);
    world.disk.capacity += 1;
    world.retry();
    expect(client.journal.health.full).toBe(false);
    expect(world.retries).toBe(0);
    expect(world.disk.size(join(dir, "reserve"))).toBe(world.bounds.reserveBytes);
    client.propose(wants("three"));
    await world.settle();
    expect(delivered(client)).toEqual([1, 3]);
  });

  it("recovers at once when somebody wants more than to free", async () => {
    const { world, client } = await nearlyFull(0);
    client.propose(wants("two"));
    await world.settle();
    world.disk.capacity = Number.POSITIVE_INFINITY;
    client.propose(frees());
    await world.settle();
    expect(client.journal.health.full).toBe(true);
    client.propose(wants("three"));
    await world.settle();
    expect(delivered(client)).toEqual([1, 3, 4]);
    expect(client.journal.health.full).toBe(false);
    expect(world.retries).toBe(0);
  });

  it("may be full again at once", async () => {
    const { world, client } = await nearlyFull(0);
    for (let round = 0; round < 3; round++) {
      client.propose(wants("x".repeat(3000)), frees());
      await world.settle();
    }
    expect(refusals(client).length).toBe(3);
    expect(client.delivered.length).toBe(4);
    expect(world.retries).toBe(1);
  });

  it("at the start begins full, and says so", async () => {
    const world = new FileWorld();
    await world.open();
    world.disk.capacity = world.disk.used;
    world.disk.unlink(join(dir, "reserve"));
    world.disk.capacity = world.disk.used;
    const client = await world.open();
    expect(client.journal.health.full).toBe(true);
    world.disk.capacity = Number.POSITIVE_INFINITY;
    world.retry();
    expect(client.journal.health.full).toBe(false);
  });

  it("does not bring back what was refused, once a sync has passed, even after a power cut", async () => {
    for (let seed = 0; seed < 50; seed++) {
      const { world, client } = await nearlyFull(400);
      client.propose(...Array.from({ length: 6 }, (_, i) => wants(`refused ${i}`)), frees());
      await world.settle();
      expect(client.failures.length).toBe(6);
      world.disk.powerCut(new Random(seed));
      world.disk.capacity = Number.POSITIVE_INFINITY;
      const next = await world.open();
      expect(next.found.map(e => e.command).filter(c => c.type === "session_found")).toEqual([wants("one")]);
    }
  });

  it("ends the retries with the journal", async () => {
    const { world, client } = await nearlyFull(0);
    client.propose(wants("two"));
    await world.settle();
    await client.journal.close();
    expect(world.retries).toBe(0);
  });
});

describe("a disk that fails", () => {
  const fatal = (client: Client) => client.fatal.map(error => error.name);

  it("at a sync: fatal once, nothing durable, nothing stored after", async () => {
    const world = new FileWorld();
    const client = await world.open();
    client.propose(wants("one"));
    await world.settle();
    world.disk.failingSyncs = 1;
    client.journal.sync();
    await world.settle();
    expect(fatal(client)).toEqual(["SyncFailed"]);
    const { steps } = world.disk;
    client.journal.sync();
    client.propose(wants("two"), frees());
    const passed = client.journal.barrier();
    await world.settle();
    await passed;
    expect(client.journal.durableSeq).toBe(0);
    expect(client.durable).toEqual([]);
    expect(refusals(client)).toEqual(["2 internal_error not_stored", "3 internal_error not_stored"]);
    await expect(client.journal.saveSnapshot(1, [Buffer.from("x")])).rejects.toThrow(
      "no snapshot was stored",
    );
    await client.journal.close();
    expect(world.disk.steps).toBe(steps);
    expect(fatal(client)).toEqual(["SyncFailed"]);
  });

  it("at a sync for a snapshot, or for the next segment", async () => {
    for (let failing = 1; failing <= 3; failing++) {
      const world = new FileWorld();
      const client = await world.open();
      client.propose(wants("one"));
      await world.settle();
      // The log's own, the snapshot's file, the directory.
      world.disk.goodSyncs = failing - 1;
      world.disk.failingSyncs = 1;
      const saved = client.journal.saveSnapshot(1, [Buffer.from("x")]);
      await expect(saved).rejects.toThrow();
      expect(fatal(client)).toEqual(["SyncFailed"]);
      const next = await world.open();
      expect(next.found.length + ((await next.journal.loadSnapshot())?.seq ?? 0)).toBe(1);
    }
    for (let failing = 1; failing <= 3; failing++) {
      const world = new FileWorld({ segmentBytes: 1 });
      const client = await world.open();
      client.propose(wants("one"));
      world.disk.goodSyncs = failing - 1;
      world.disk.failingSyncs = 1;
      await world.settle();
      expect(fatal(client)).toEqual(["SyncFailed"]);
      client.propose(wants("two"));
      await world.settle();
      expect(refusals(client)).toEqual(["2 internal_error not_stored"]);
      expect((await world.open()).found.length).toBe(1);
    }
  });

  it("at two syncs at once: fatal once", async () => {
    const world = new FileWorld();
    const client = await world.open();
    client.propose(wants("one"));
    await world.settle();
    client.journal.sync();
    await world.settle();
    world.disk.holdSyncs = true;
    const saved = client.journal.saveSnapshot(1, [Buffer.from("x")]);
    client.propose(wants("two"));
    await world.settle();
    client.journal.sync();
    world.disk.failingSyncs = 2;
    world.disk.completeSyncs();
    await expect(saved).rejects.toThrow("failed to store");
    await world.settle();
    expect(world.disk.failingSyncs).toBe(0);
    expect(fatal(client)).toEqual(["SyncFailed"]);
  });

  it("at the last sync, within close", async () => {
    const world = new FileWorld();
    const client = await world.open();
    client.propose(wants("one"));
    await world.settle();
    world.disk.failingSyncs = 1;
    await client.journal.close();
    expect(fatal(client)).toEqual(["SyncFailed"]);
    expect(client.journal.durableSeq).toBe(0);
  });

  it("at a write: nothing of it remains, and nothing more is tried", async () => {
    const world = new FileWorld();
    const client = await world.open();
    world.disk.failingWrites = 1;
    client.propose(wants("one"));
    await world.settle();
    client.propose(wants("two"));
    await world.settle();
    expect(client.fatal.length).toBe(1);
    expect(client.delivered).toEqual([]);
    expect(refusals(client)).toEqual(["1 internal_error not_stored", "2 internal_error not_stored"]);
    expect((await world.open()).found).toEqual([]);
  });

  it("at undoing a short write: whether it is stored is not known", async () => {
    const { world, client } = await nearlyFull(250);
    world.disk.failingTruncates = 1;
    client.propose(wants("two"), wants("three"), frees());
    await world.settle();
    expect(fatal(client)).toEqual(["TailUnknown"]);
    expect(delivered(client)).toEqual([1]);
    expect(refusals(client)).toEqual([2, 3, 4].map(n => `${n} internal_error unknown`));
    client.propose(frees());
    await world.settle();
    expect(refusals(client).at(-1)).toBe("5 internal_error not_stored");
    const next = await world.open();
    expect(next.found[0]?.command).toEqual(wants("one"));
    expect(next.found.length).toBeLessThan(4);
  });

  it("tells whoever asks later, too", async () => {
    const world = new FileWorld();
    const client = await world.open();
    world.disk.failingWrites = 1;
    client.propose(wants("one"));
    await world.settle();
    const later: Error[] = [];
    client.journal.onFatal(error => later.push(error));
    expect(later).toEqual(client.fatal);
  });
});
