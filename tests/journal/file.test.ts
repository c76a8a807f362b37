import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checksum } from "../../daemon/journal/batch.ts";
import { segmentName } from "../../daemon/journal/disk.ts";
import { JournalDamaged } from "../../daemon/journal/journal.ts";
import { inspectJournal } from "../../daemon/journal/remains.ts";
import { Random } from "../simulation/random.ts";
import { Client, frees, wants } from "./commands.ts";
import { dir, FileWorld } from "./file-world.ts";
import { LineEncoder, lineOf } from "./line-encoder.ts";
import { journalSuite } from "./suite.ts";

journalSuite("the file journal on a simulated disk", () => new FileWorld());
journalSuite("the file journal with a segment for every batch", () => new FileWorld({ segmentBytes: 1 }));
journalSuite("the file journal as earlier versions wrote it", () => new FileWorld({}, new LineEncoder()));

/** A world whose log holds these, each written alone, and is synced; nobody has it open. */
async function worldWith(texts: readonly string[], world = new FileWorld({ segmentBytes: 1 << 20 })) {
  const client = await world.open();
  for (const text of texts) {
    client.propose(wants(text));
    await world.settle();
  }
  await client.journal.close();
  return world;
}

function only(names: readonly string[]): string {
  expect(names.length).toBe(1);
  return join(dir, names[0] ?? "");
}

function append(world: FileWorld, path: string, bytes: string | Buffer): void {
  const file = world.disk.open(path);
  file.append(bytes);
  file.close();
}

function rewrite(world: FileWorld, path: string, bytes: string | Buffer): void {
  const file = world.disk.open(path);
  file.truncate(0);
  file.append(bytes);
  file.close();
}

describe("what a crash leaves", () => {
  it("is cut off at whatever byte it tore the last write", async () => {
    const whole = await worldWith(["one", "two"]);
    const path = only(whole.names(".log"));
    const bytes = whole.disk.read(path);
    const secondBegins = bytes.indexOf("\n") + 1;
    for (let length = 0; length < bytes.length; length++) {
      const world = await worldWith([]);
      const torn = only(world.names(".log"));
      rewrite(world, torn, bytes.subarray(0, length));
      const client = await world.open();
      const kept = length < secondBegins ? 0 : 1;
      expect(client.found.length).toBe(kept);
      expect(world.disk.size(torn)).toBe(kept * secondBegins);
      client.propose(wants("again"));
      await world.settle();
      const next = await world.open();
      expect(next.found.map(e => e.seq)).toEqual(kept === 0 ? [1] : [1, 2]);
    }
  });

  it("is cut off where the last write is garbled", async () => {
    const world = await worldWith(["one", "two", "three"]);
    const path = only(world.names(".log"));
    const bytes = world.disk.read(path);
    const thirdBegins = bytes.lastIndexOf("\n", bytes.length - 2) + 1;
    for (let offset = thirdBegins; offset < bytes.length; offset++) {
      const garbled = Buffer.from(bytes);
      garbled[offset] = (garbled[offset] ?? 0) ^ 0x01;
      const again = await worldWith([]);
      rewrite(again, path, garbled);
      const client = await again.open();
      expect(client.found.map(e => e.seq)).toEqual([1, 2]);
    }
  });

  it("may be zeros, or an empty segment", async () => {
    const world = await worldWith(["one"]);
    append(world, only(world.names(".log")), Buffer.alloc(5000));
    for (let start = 0; start < 3; start++) expect((await world.open()).found.length).toBe(1);
    expect(world.names(".log").length).toBe(4);
    expect(inspectJournal(dir, world.disk)).toMatchObject({ damage: null, lastSeq: 1, epoch: 4 });
  });

  it("may be a snapshot that was never finished", async () => {
    const world = await worldWith(["one"]);
    world.disk.create(join(dir, "0000000001-0000000000000001.snapshot.tmp")).append("half");
    const client = await world.open();
    expect(await client.journal.loadSnapshot()).toBeNull();
    expect(world.names(".tmp")).toEqual([]);
  });
});

describe("damage stops the start, and is named", () => {
  async function refusal(world: FileWorld): Promise<string> {
    const error: unknown = await world.open().then(
      () => null,
      reason => reason,
    );
    if (!(error instanceof JournalDamaged)) throw new Error(`not refused, but ${error}`);
    expect(error.message).toMatch(/restore .* from a backup, or move it away/);
    expect(inspectJournal(dir, world.disk).damage).toBe(error.message);
    return error.message;
  }

  it("at every byte of a record in the middle", async () => {
    const whole = await worldWith(["one", "two", "three"]);
    const bytes = whole.disk.read(only(whole.names(".log")));
    const begin = bytes.indexOf("\n") + 1;
    const end = bytes.indexOf("\n", begin);
    for (let offset = begin; offset <= end; offset++) {
      const world = await worldWith(["one", "two", "three"]);
      const path = only(world.names(".log"));
      world.disk.garble(path, offset);
      const before = world.disk.read(path);
      const message = await refusal(world);
      expect(message).toContain(path);
      expect(message).toContain("line 2 does not fit its checksum");
      expect(world.disk.read(path)).toEqual(before);
    }
  });

  it("a torn tail that is not the log's", async () => {
    const world = await worldWith(["one"]);
    const path = only(world.names(".log"));
    await (await world.open()).journal.close();
    append(world, path, "0000");
    expect(await refusal(world)).toContain("line 2 is not complete");
  });

  it("a record that is missing, or there twice", async () => {
    const world = await worldWith(["one", "two", "three"]);
    const path = only(world.names(".log"));
    const [one, two, three] = world.disk.read(path).toString().split("\n");
    rewrite(world, path, `${one}\n${three}\n`);
    expect(await refusal(world)).toContain("line 2 holds entry 3 where entry 2 should be");
    rewrite(world, path, `${one}\n${two}\n${two}\n${three}\n`);
    expect(await refusal(world)).toContain("line 3 holds entry 2 where entry 3 should be");
  });

  it("a record of something else", async () => {
    const world = await worldWith(["one"]);
    const json = '{"seq":2,"at":"noon"}';
    append(world, only(world.names(".log")), `${checksum(json)} ${json}\n`);
    expect(await refusal(world)).toContain("line 2 is not an entry");
  });

  it("a segment that is missing", async () => {
    const world = await worldWith(["one", "two", "three"], new FileWorld({ segmentBytes: 1 }));
    const [first, second] = world.names(".log");
    world.disk.unlink(join(dir, second ?? ""));
    expect(await refusal(world)).toContain("begins with entry 3, but entry 2 comes next");
    world.disk.unlink(join(dir, first ?? ""));
    expect(await refusal(world)).toContain("entries 1 to 2 are missing");
  });

  it("the whole log missing behind a snapshot, or its end", async () => {
    const world = await worldWith(["one", "two"]);
    const client = await world.open();
    await client.journal.saveSnapshot(2, [Buffer.from("two")]);
    // As an older Kite left it, which wrote no manifest.
    for (const name of world.names(".manifest")) world.disk.unlink(join(dir, name));
    const [first, second] = world.names(".log");
    world.disk.unlink(join(dir, second ?? ""));
    const path = join(dir, first ?? "");
    const bytes = world.disk.read(path);
    rewrite(world, path, bytes.subarray(0, bytes.indexOf("\n") + 1));
    expect(await refusal(world)).toContain(
      "the log ends with entry 1, but the snapshot holds entries up to 2",
    );
    world.disk.unlink(path);
    expect(await refusal(world)).toContain("there is a snapshot of entry 2, but no log");
  });

  it("two writers at once", async () => {
    const world = await worldWith(["one"]);
    const first = await Client.open(world.journal());
    const second = await Client.open(world.journal());
    expect(second.epoch).toBe(first.epoch + 1);
    first.propose(wants("mine"));
    second.propose(wants("mine"));
    await world.settle();
    expect(await refusal(world)).toContain("two daemons wrote at once");
  });
});

describe("snapshots", () => {
  async function worldWithSnapshots(): Promise<FileWorld> {
    const world = new FileWorld({ segmentBytes: 1 });
    const client = await world.open();
    for (let seq = 1; seq <= 8; seq++) {
      client.propose(wants(`entry ${seq}`));
      await world.settle();
      if (seq % 2 === 0) await client.journal.saveSnapshot(seq, [Buffer.from(`state ${seq}`)]);
    }
    await client.journal.close();
    return world;
  }

  it("two are kept, with the log after the older one", async () => {
    const world = await worldWithSnapshots();
    expect(world.names(".snapshot").map(name => Number(name.slice(11, 27)))).toEqual([6, 8]);
    expect(world.names(".log").map(name => Number(name.slice(11, 27)))).toEqual([7, 8, 9]);
  });

  it("with one, the whole log is kept", async () => {
    const world = await worldWith(["one", "two"], new FileWorld({ segmentBytes: 1 }));
    const client = await world.open();
    await client.journal.saveSnapshot(2, [Buffer.from("two")]);
    world.disk.garble(only(world.names(".snapshot")), 0);
    const next = await world.open();
    expect(await next.journal.loadSnapshot()).toBeNull();
    expect(next.found.map(e => e.seq)).toEqual([1, 2]);
  });

  it("a damaged newest one falls back to the older, at every byte", async () => {
    const newest = join(dir, (await worldWithSnapshots()).names(".snapshot").at(-1) ?? "");
    const size = (await worldWithSnapshots()).disk.size(newest) ?? 0;
    for (let offset = 0; offset < size; offset++) {
      const world = await worldWithSnapshots();
      world.disk.garble(newest, offset);
      const inspection = inspectJournal(dir, world.disk);
      expect(inspection.damage).toBeNull();
      expect(inspection.notes[0]).toContain(`${newest} is damaged`);
      const client = await world.open();
      expect(await client.journal.loadSnapshot()).toEqual({ seq: 6, bytes: Buffer.from("state 6") });
      expect(client.found.map(e => e.seq)).toEqual([7, 8]);

      await client.journal.saveSnapshot(8, [Buffer.from("state 8, again")]);
      const next = await world.open();
      expect(await next.journal.loadSnapshot()).toEqual({ seq: 8, bytes: Buffer.from("state 8, again") });
      expect(inspectJournal(dir, world.disk).notes).toEqual([]);
      expect(world.names(".snapshot").length).toBe(2);
    }
  });

  it("with both damaged the start is refused, and says which", async () => {
    const world = await worldWithSnapshots();
    for (const name of world.names(".snapshot")) world.disk.garble(join(dir, name), 3);
    await expect(world.open()).rejects.toThrow(/entries 1 to 6 are missing.*8\.snapshot is damaged/);
  });

  it("one that fails leaves the earlier ones and the log as they were", async () => {
    const world = await worldWithSnapshots();
    const client = await world.open();
    const before = world.names("");
    world.disk.capacity = world.disk.used + 10;
    await expect(client.journal.saveSnapshot(8, [Buffer.alloc(100)])).rejects.toThrow("no space");
    expect(world.names("")).toEqual(before);
    world.disk.capacity = Number.POSITIVE_INFINITY;
    await client.journal.saveSnapshot(8, [Buffer.alloc(100)]);
    expect((await client.journal.loadSnapshot())?.bytes.length).toBe(100);
    expect(client.fatal).toEqual([]);
  });

  it("content of any bytes comes back, in pieces too", async () => {
    const world = await worldWith(["one"]);
    const client = await world.open();
    const bytes = Buffer.alloc(3 * 1024 * 1024 + 17, "line\n\0\xff");
    await client.journal.saveSnapshot(1, [bytes]);
    expect((await client.journal.loadSnapshot())?.bytes.equals(bytes)).toBe(true);
  });

  it("are given up at a close: what they would hold is in the journal", async () => {
    const world = await worldWith(["one"]);
    const client = await world.open();
    const saved = client.journal.saveSnapshot(1, [Buffer.alloc(50 * 1024 * 1024)]);
    const refused = expect(saved).rejects.toThrow("no snapshot was stored");
    for (let turn = 0; world.names(".tmp").length === 0; turn += 1) {
      if (turn > 100) throw new Error("nothing is written");
      await Promise.resolve();
    }
    const { steps } = world.disk;
    await client.journal.close();
    await refused;
    expect(world.names("").filter(name => name.includes("snapshot"))).toEqual([]);
    expect(world.disk.steps - steps).toBeLessThan(20);
    expect((await world.open()).found).toHaveLength(1);
  });

  it("count down what is stored after them", async () => {
    const world = await worldWith([]);
    const client = await world.open();
    client.propose(wants("a"), wants("b"));
    await world.settle();
    const { bytes } = client.journal.health;
    expect(bytes).toBe(world.disk.read(join(dir, world.names(".log").at(-1) ?? "")).length);
    await client.journal.saveSnapshot(2, [Buffer.from("x")]);
    expect(client.journal.health.bytes).toBe(0);
    client.propose(wants("a"));
    await world.settle();
    const one = client.journal.health.bytes;
    expect(one).toBeGreaterThan(0);
    expect((await world.open()).journal.health.bytes).toBe(one);
  });
});

describe("rotation", () => {
  it("holds back what is proposed until the segment before is durable", async () => {
    const world = new FileWorld({ segmentBytes: 1 });
    const client = await world.open();
    world.disk.holdSyncs = true;
    client.propose(wants("one"));
    await world.settle();
    client.propose(wants("two"));
    await world.settle();
    expect(client.delivered.length).toBe(2);
    world.disk.completeSyncs();
    await world.settle();
    client.propose(wants("three"));
    const passed = client.journal.barrier();
    await world.settle();
    expect(client.delivered.length).toBe(2);
    expect(world.names(".log").length).toBe(1);
    world.disk.holdSyncs = false;
    world.disk.completeSyncs();
    await world.settle();
    await passed;
    expect(client.delivered.length).toBe(3);
    expect(world.names(".log").length).toBeGreaterThan(1);
  });

  it("that cannot be done leaves a longer segment", async () => {
    const world = new FileWorld({ segmentBytes: 200 });
    const client = await world.open();
    const { create } = world.disk;
    world.disk.create = () => {
      throw Object.assign(new Error("too many open files"), { code: "EMFILE" });
    };
    for (let i = 0; i < 5; i++) {
      client.propose(wants("x".repeat(50)));
      await world.settle();
    }
    expect(world.names(".log").length).toBe(1);
    world.disk.create = create;
    for (let i = 0; i < 3; i++) {
      client.propose(wants("x".repeat(50)));
      await world.settle();
    }
    expect(world.names(".log").length).toBeGreaterThan(1);
    expect(client.delivered.length).toBe(8);
    expect((await world.open()).found.length).toBe(8);
  });
});

describe("one write a batch", () => {
  it("is what a turn of the event loop proposed", async () => {
    const world = new FileWorld({ segmentBytes: 1 << 20, recordBytes: 1 << 20 });
    const client = await world.open();
    const before = world.disk.steps;
    for (let i = 0; i < 50; i++) client.propose(wants(String(i)), frees());
    await world.settle();
    expect(world.disk.steps - before).toBe(1);
    expect(client.batches).toEqual([100]);
  });

  it("unless it is larger than a write should be; an entry that is too large alone is refused", async () => {
    const world = await worldWith([]);
    const client = await world.open();
    const passed: Promise<number>[] = [];
    client.onBatch = () => passed.push(client.journal.barrier().then(() => client.delivered.length));
    client.propose(wants("a".repeat(2000)), wants("b".repeat(2000)), wants("c".repeat(2000)));
    client.propose(wants("d".repeat(5000)), wants("ü".repeat(3000)), wants("e"));
    await world.settle();
    expect(client.batches).toEqual([1, 1, 1, 1]);
    expect(await Promise.all(passed)).toEqual([4, 4, 4, 4]);
    expect(client.delivered.map(e => [e.seq, e.origin.n])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
      [4, 6],
    ]);
    expect(client.failures.map(f => [f.n, f.reason.code, f.reason.outcome])).toEqual([
      [4, "internal_error", "not_stored"],
      [5, "internal_error", "not_stored"],
    ]);
    expect((await world.open()).found.length).toBe(4);
  });
});

describe("epochs", () => {
  it("are never shared by two who open at once", async () => {
    const world = await worldWith(["one"]);
    const journals = Array.from({ length: 4 }, () => world.journal());
    const opened = await Promise.all(
      journals.map(journal =>
        journal.open(
          0,
          () => {},
          () => {},
        ),
      ),
    );
    expect(new Set(opened.map(({ epoch }) => epoch)).size).toBe(4);
    expect(Math.min(...opened.map(({ epoch }) => epoch))).toBeGreaterThan(1);
  });

  it("are not shared by two who saw logs of different length either", async () => {
    const world = await worldWith(["one"]);
    const path = only(world.names(".log"));
    const { create } = world.disk;
    world.disk.create = (...args) => {
      world.disk.create = create;
      const origin = { node: "n1", epoch: 1, n: 2 };
      append(world, path, lineOf({ seq: 2, at: 1, origin, command: wants("late") }));
      world.disk.create(join(dir, segmentName(2, 3))).close();
      return world.disk.create(...args);
    };
    const client = await world.open();
    expect(client.epoch).toBe(3);
    expect(client.found.map(e => e.seq)).toEqual([1, 2]);
    expect(world.names(".log").slice(1)).toEqual([segmentName(2, 3), segmentName(3, 3)]);
  });

  it("are durable before the journal is open", async () => {
    const world = await worldWith(["one"]);
    let last = 1;
    for (let seed = 0; seed < 20; seed++) {
      const client = await world.open();
      expect(client.epoch).toBeGreaterThan(last);
      last = client.epoch;
      world.disk.powerCut(new Random(seed));
    }
  });
});

describe("inspection", () => {
  it("tells what is there without changing anything", async () => {
    const world = new FileWorld();
    expect(inspectJournal(dir, world.disk)).toEqual({
      segments: 0,
      snapshots: 0,
      bytes: 0,
      lastSeq: 0,
      epoch: 0,
      damage: null,
      notes: [],
      damagedSnapshots: [],
      tornBytes: 0,
    });
    await worldWith(["one", "two"], world);
    append(world, only(world.names(".log")), "torn");
    const { steps } = world.disk;
    const inspection = inspectJournal(dir, world.disk);
    expect(inspection).toMatchObject({ segments: 1, snapshots: 0, lastSeq: 2, epoch: 1, damage: null });
    expect(inspection.bytes).toBe(world.disk.size(only(world.names(".log"))));
    expect(inspection.notes).toEqual([expect.stringContaining("the last 4 bytes of")]);
    expect(world.disk.steps).toBe(steps);
  });
});
