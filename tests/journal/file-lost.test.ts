/** Somebody takes the journal's files away while the daemon runs: nothing counts as stored from then on. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { StoreLost } from "../../daemon/journal/journal.ts";
import { type Client, wants } from "./commands.ts";
import { dir, FileWorld } from "./file-world.ts";

/** What may happen to the segment that is written to. */
const ways: readonly (readonly [string, (world: FileWorld, path: string) => void])[] = [
  ["removed", (world, path) => world.disk.unlink(path)],
  ["moved away", (world, path) => world.disk.rename(path, `${path}.moved`)],
  ["replaced", replace],
  ["cut", (world, path) => world.disk.open(path).truncate(10)],
];

function replace(world: FileWorld, path: string): void {
  const bytes = world.disk.read(path);
  world.disk.unlink(path);
  const copy = world.disk.create(path);
  copy.append(bytes);
  copy.close();
}

async function opened(
  segmentBytes = 1 << 20,
): Promise<{ world: FileWorld; client: Client; segment: string }> {
  const world = new FileWorld({ segmentBytes });
  const client = await world.open();
  client.propose(wants("one"));
  await world.settle();
  return { world, client, segment: join(dir, world.names(".log").at(-1) ?? "") };
}

describe.each(ways)("a segment that was %s", (_way, take) => {
  it("takes nothing more: who asks is refused by name, and the journal ends", async () => {
    const { world, client, segment } = await opened();
    take(world, segment);
    client.propose(wants("two"), wants("three"));
    await world.settle();
    client.propose(wants("four"));
    await world.settle();
    expect(client.delivered.map(e => e.origin.n)).toEqual([1]);
    expect(client.failures.map(f => `${f.n} ${f.reason.code} ${f.reason.outcome}`)).toEqual([
      "2 store_lost unknown",
      "3 store_lost unknown",
      "4 store_lost not_stored",
    ]);
    expect(client.failures[0]?.reason.message).toContain(dir);
    expect(client.fatal).toEqual([expect.any(StoreLost)]);
    await client.journal.close();
  });

  it("makes nothing durable that was written before", async () => {
    const { world, client, segment } = await opened();
    world.disk.holdSyncs = true;
    client.journal.sync();
    take(world, segment);
    world.disk.completeSyncs();
    await world.settle();
    expect(client.journal.durableSeq).toBe(0);
    expect(client.durable).toEqual([]);
    expect(client.fatal).toEqual([expect.any(StoreLost)]);
  });

  it("is noticed while nobody asks for anything", async () => {
    const { world, client, segment } = await opened();
    client.journal.verify();
    expect(client.fatal).toEqual([]);
    take(world, segment);
    client.journal.verify();
    expect(client.fatal).toEqual([expect.any(StoreLost)]);
  });

  it("gets no snapshot beside it, and nothing there is removed", async () => {
    const { world, client, segment } = await opened();
    take(world, segment);
    const before = world.names("");
    await expect(client.journal.saveSnapshot(1, [Buffer.from("state")])).rejects.toThrow(
      "no snapshot was stored",
    );
    expect(world.names("")).toEqual(before);
    expect(client.fatal).toEqual([expect.any(StoreLost)]);
  });

  it("gets no successor", async () => {
    const { world, client, segment } = await opened(300);
    world.disk.holdSyncs = true;
    client.propose(wants("x".repeat(300)));
    await world.settle();
    expect(client.delivered.length).toBe(2);
    take(world, segment);
    const left = world.names(".log");
    world.disk.holdSyncs = false;
    world.disk.completeSyncs();
    await world.settle();
    expect(world.names(".log")).toEqual(left);
    expect(client.fatal).toEqual([expect.any(StoreLost)]);
  });
});
