import { describe, expect, it } from "vitest";
import type { Entry } from "../../daemon/core/tables/entries.ts";
import { inspectJournal } from "../../daemon/journal/remains.ts";
import { Random } from "../simulation/random.ts";
import { type Client, entriesOf, frees, wants } from "./commands.ts";
import { dir, FileWorld } from "./file-world.ts";
import { ChangingEncoder } from "./line-encoder.ts";

/** What has to be there after the lights went out. */
interface Promised {
  /** All that was ever delivered, in order. */
  delivered: readonly Entry[];
  durableSeq: number;
  /** The newest snapshot whose saving had finished. */
  snapshotSeq: number;
  epoch: number;
  /** `epoch.n` of what was refused: it never happened. */
  refused: readonly string[];
}

interface Opened {
  readonly client: Client;
  /** All entries as they are now, those that only a snapshot stands for with them. */
  readonly log: readonly Entry[];
}

const nothingPromised: Promised = { delivered: [], durableSeq: 0, snapshotSeq: 0, epoch: 0, refused: [] };

/** A snapshot that tells which entries it stands for. */
const stateAfter = (seq: number) => Buffer.from(`state after ${seq}`);

/**
 * Opens the world again and holds what is there against what was promised: with `all`, everything delivered, else
 * everything durable; and nothing but what was delivered or on its way.
 */
async function reopen(world: FileWorld, promised: Promised, all: boolean): Promise<Opened> {
  expect(inspectJournal(dir, world.disk).damage).toBeNull();
  const client = await world.open();
  const snapshot = await client.journal.loadSnapshot();
  const base = snapshot?.seq ?? 0;
  expect(client.epoch).toBeGreaterThan(promised.epoch);
  expect(base).toBeGreaterThanOrEqual(promised.snapshotSeq);
  if (snapshot !== null) expect(snapshot.bytes).toEqual(stateAfter(base));
  expect(client.found.map(e => e.seq)).toEqual(client.found.map((_, i) => base + 1 + i));
  const last = base + client.found.length;
  expect(last).toBeGreaterThanOrEqual(all ? promised.delivered.length : promised.durableSeq);
  const known = promised.delivered.slice(base, last);
  expect(client.found.slice(0, known.length)).toEqual(known);
  const refused = new Set(promised.refused);
  expect(client.found.filter(({ origin }) => refused.has(`${origin.epoch}.${origin.n}`))).toEqual([]);
  return { client, log: [...promised.delivered.slice(0, base), ...client.found] };
}

/** Proposes, syncs, rotates, snapshots; ends early where the power goes. */
async function work(world: FileWorld): Promise<Promised> {
  let snapshotSeq = 0;
  const client = await world.open().catch(() => null);
  if (client === null) return nothingPromised;
  for (let i = 1; i <= 12 && !world.disk.isOff; i++) {
    client.propose(wants(`entry ${i}`), frees());
    await world.settle();
    if (i % 4 === 2) client.journal.sync();
    if (i % 4 !== 0) continue;
    const seq = client.delivered.length;
    const saved = client.journal.saveSnapshot(seq, [stateAfter(seq)]).then(
      () => {
        snapshotSeq = seq;
      },
      () => expect(world.disk.isOff).toBe(true),
    );
    client.propose(wants(`meanwhile ${i}`));
    await world.settle();
    await saved;
  }
  const { durableSeq } = client.journal;
  return { delivered: client.delivered, durableSeq, snapshotSeq, epoch: client.epoch, refused: [] };
}

async function stepsOfWork(): Promise<number> {
  const world = new FileWorld({ segmentBytes: 300 });
  const promised = await work(world);
  expect(promised.snapshotSeq).toBeGreaterThan(20);
  expect(world.names(".snapshot").length).toBe(2);
  expect(world.names(".log").length).toBeGreaterThan(2);
  return world.disk.steps;
}

describe("at every single change of the disk", () => {
  it("a power cut loses nothing durable, and the journal stays readable", async () => {
    const steps = await stepsOfWork();
    for (let stop = 1; stop <= steps; stop++) {
      for (let seed = 0; seed < 5; seed++) {
        const world = new FileWorld({ segmentBytes: 300 });
        world.disk.stopAt = stop;
        const promised = await work(world);
        world.disk.powerCut(new Random(stop * 100 + seed));
        const { client } = await reopen(world, promised, false);
        client.propose(wants("on"));
        await world.settle();
        expect(client.delivered.length).toBe(1);
      }
    }
  });

  it("the end of the process loses nothing delivered, and a power cut then no more", async () => {
    const steps = await stepsOfWork();
    for (let stop = 1; stop <= steps; stop++) {
      const world = new FileWorld({ segmentBytes: 300 });
      world.disk.stopAt = stop;
      const promised = await work(world);
      world.disk.processCrash();
      const { client, log } = await reopen(world, promised, true);
      world.disk.powerCut(new Random(stop));
      await reopen(world, { ...promised, delivered: log, epoch: client.epoch }, true);
    }
  });
});

/** A world lived through at random; throws where a promise is broken. Returns what it met. */
async function live(seed: number): Promise<Set<string>> {
  const random = new Random(seed);
  const met = new Set<string>();
  // A store of an earlier version goes on in batches, and every fifth one stays as that version wrote it.
  const encoder = new ChangingEncoder();
  const world = new FileWorld({ segmentBytes: random.pick([1, 200, 1000, 1 << 20]) }, encoder);
  let promised = nothingPromised;
  let all = true;
  for (let life = 0; life < 4; life++) {
    encoder.change(life < seed % 5 ? "lines" : "batches");
    const { client, log: before } = await reopen(world, promised, all);
    let { snapshotSeq } = promised;
    const log = () => [...before, ...client.delivered];
    for (let step = 0; step < 25; step++) {
      const what = random.int(0, 9);
      if (what <= 4) {
        const text = "x".repeat(random.int(0, 100));
        client.propose(...Array.from({ length: random.int(1, 5) }, () => wants(text)));
        if (random.chance(0.7)) await world.settle();
      } else if (what === 5) {
        client.journal.sync();
        world.disk.holdSyncs = random.chance(0.5);
        met.add("sync");
      } else if (what === 6) {
        world.disk.holdSyncs = false;
        world.disk.completeSyncs();
        if (random.chance(0.5)) await world.settle();
      } else if (what === 7) {
        const seq = log().length;
        if (seq === 0) continue;
        void client.journal.saveSnapshot(seq, [stateAfter(seq)]).then(
          () => {
            snapshotSeq = Math.max(snapshotSeq, seq);
            met.add("snapshot");
          },
          () => met.add("snapshot failed"),
        );
        if (random.chance(0.5)) await world.settle();
      } else if (what === 8) {
        world.disk.capacity = random.chance(0.5) ? world.disk.used + random.int(0, 500) : 1 << 30;
      } else {
        await world.settle();
        const base = (await client.journal.loadSnapshot())?.seq ?? 0;
        expect(await entriesOf(client.journal, base)).toEqual(log().slice(base));
      }
      if (client.journal.health.full) met.add("full");
    }
    expect(client.fatal).toEqual([]);
    promised = {
      delivered: log(),
      durableSeq: client.journal.durableSeq,
      snapshotSeq,
      epoch: client.epoch,
      refused: [...promised.refused, ...client.failures.map(({ n }) => `${client.epoch}.${n}`)],
    };
    expect(client.failures.every(({ reason }) => reason.outcome === "not_stored")).toBe(true);
    if (client.failures.length > 0) met.add("refused");
    if (world.names(".log").length > 2) met.add("rotation");
    all = random.chance(0.4);
    met.add(all ? "crash" : "power cut");
    if (promised.durableSeq < promised.delivered.length) met.add("not durable");
    if (!all) world.disk.powerCut(random);
    world.disk.holdSyncs = false;
    world.disk.capacity = 1 << 30;
  }
  await reopen(world, promised, all);
  return met;
}

describe("500 lives of a journal", () => {
  it("keep what was promised, whatever happens", async () => {
    const met = new Set<string>();
    for (let seed = 1; seed <= 500; seed++) {
      try {
        for (const what of await live(seed)) met.add(what);
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error });
      }
    }
    expect([...met].sort()).toEqual([
      "crash",
      "full",
      "not durable",
      "power cut",
      "refused",
      "rotation",
      "snapshot",
      "snapshot failed",
      "sync",
    ]);
  });
});
