/** Snapshots in PostgreSQL, which all nodes share; the entries that they replace; a long log. */
import { describe, expect, it } from "vitest";
import { type Client, entriesOf, wants } from "./commands.ts";
import { lineOf, type StoreNode, StoreWorld, settled, withServer } from "./postgres-world.ts";

await withServer("snapshots in a store", server => {
  describe("snapshots", () => {
    const bounds = { pieceBytes: 1_000, nearEntries: 10, pruneEntriesMax: 3 };
    const content = (seed: number) => Buffer.from(Array.from({ length: 4_321 }, (_, i) => (i * seed) % 251));

    async function withEntries(node: StoreNode, count: number): Promise<number> {
      node.client.propose(...Array.from({ length: count }, (_, i) => wants(`entry ${i}`)));
      await settled(node);
      return node.client.known.length;
    }

    it("are shared, in pieces, and replace entries that every node has read", async () => {
      const world = new StoreWorld(server);
      const one = await world.node("n1", bounds);
      await withEntries(one, 20);
      await one.journal.saveSnapshot(20, [content(3).subarray(0, 7), content(3).subarray(7)]);
      expect((await world.sql("SELECT count(*)::int FROM $.pieces"))[0]).toEqual([5]);
      const two = await world.node("n2", bounds);
      expect(await two.journal.loadSnapshot()).toEqual({ seq: 20, bytes: content(3) });
      expect(two.client.found).toEqual([]);
      await withEntries(two, 10);
      await settled(one);
      await one.journal.barrier();
      // Node n2 has not said yet how far it has read: all that it needs stays, from its beginning on.
      await one.journal.saveSnapshot(30, [content(5)]);
      expect((await world.log())[0]).toBe("20 n1 1 20");
      await two.journal.saveSnapshot(25, [content(7)]);
      expect((await two.journal.loadSnapshot())?.seq).toBe(30);
      expect((await world.sql("SELECT seq FROM $.snapshots WHERE complete ORDER BY seq")).flat()).toEqual([
        "20",
        "30",
      ]);
      await withEntries(one, 20);
      await one.journal.saveSnapshot(50, [content(9)]);
      expect((await world.log())[0]).toBe("30 n2 1 10");
      expect((await entriesOf(one.journal, 30)).length).toBe(20);
    });

    it("leave the entries that a node has yet to read", async () => {
      const world = new StoreWorld(server);
      const one = await world.node("n1", { ...bounds, nearEntries: 0 });
      // It says how far it has read when it opens the log, and after `renewMs`.
      const two = await world.node("n2", bounds);
      await withEntries(one, 20);
      for (const seq of [10, 20]) await one.journal.saveSnapshot(seq, [content(seq)]);
      expect((await world.log())[0]).toBe("1 n1 1 1");
      await settled(two);
      await two.journal.close();
      await world.node("n2", bounds);
      await withEntries(one, 10);
      await one.journal.saveSnapshot(30, [content(30)]);
      expect((await world.log())[0]).toBe("20 n1 1 20");
    });

    it("are stored by one node where another does so, or has done so lately", async () => {
      const world = new StoreWorld(server);
      const [one, two] = [await world.node("n1", bounds), await world.node("n2", bounds)];
      await withEntries(one, 15);
      await two.journal.barrier();
      let asked = 0;
      let goOn: () => void = () => {};
      const held = new Promise<void>(resolve => {
        goOn = resolve;
      });
      async function* slow(): AsyncGenerator<Buffer, void> {
        yield content(3);
        await held;
      }
      function* counted(): Generator<Buffer, void> {
        asked += 1;
        yield content(5);
      }
      const first = one.journal.saveSnapshot(14, slow());
      await expect.poll(async () => (await world.sql("SELECT 1 FROM $.pieces")).length).toBeGreaterThan(0);
      await two.journal.saveSnapshot(15, counted());
      expect(await two.journal.loadSnapshot()).toBeNull();
      goOn();
      await first;
      await two.journal.saveSnapshot(15, counted());
      expect(asked).toBe(0);
      expect((await two.journal.loadSnapshot())?.seq).toBe(14);
    });

    it("that end with an error, or with their connection, are never read, and go", async () => {
      const world = new StoreWorld(server);
      const node = await world.node("n1", { ...bounds, unfinishedMs: 0 });
      await withEntries(node, 2);
      await node.journal.saveSnapshot(1, [content(3)]);
      function* broken(): Generator<Buffer, void> {
        yield content(5);
        throw new Error("the state cannot be read");
      }
      await expect(node.journal.saveSnapshot(2, broken())).rejects.toThrow("the state cannot be read");
      function* cutting(): Generator<Buffer, void> {
        yield content(5);
        node.proxy.cut();
        yield content(5);
      }
      await expect(node.journal.saveSnapshot(2, cutting())).rejects.toThrow();
      expect(await node.journal.loadSnapshot()).toEqual({ seq: 1, bytes: content(3) });
      await node.journal.saveSnapshot(2, [content(7)]);
      expect(await node.journal.loadSnapshot()).toEqual({ seq: 2, bytes: content(7) });
      expect((await world.sql("SELECT 1 FROM $.snapshots WHERE NOT complete")).length).toBe(0);
    });

    it("of another history are not stored", async () => {
      const world = new StoreWorld(server);
      const node = await world.node("n1", { ...bounds, pollMinMs: 600_000, pollMaxMs: 600_000 });
      await withEntries(node, 3);
      function* late(): Generator<Buffer, void> {
        yield content(3);
      }
      await world.sql("UPDATE $.entries SET mark = mark # 1 WHERE seq = 3");
      await expect(node.journal.saveSnapshot(3, late())).rejects.toThrow("another history");
      expect(await node.journal.loadSnapshot()).toBeNull();
    });

    it("take a node on that was away for too long, at its next start", async () => {
      const world = new StoreWorld(server);
      const one = await world.node("n1", { ...bounds, absentMs: 0, nearEntries: 0 });
      const two = await world.node("n2", bounds);
      await withEntries(one, 5);
      await settled(two);
      two.proxy.refuses = true;
      two.proxy.cut();
      await withEntries(one, 20);
      for (const seq of [20, 25]) await one.journal.saveSnapshot(seq, [content(seq)]);
      expect((await world.log())[0]).toBe("20 n1 1 20");
      two.proxy.refuses = false;
      await expect.poll(() => two.client.fatal.map(error => error.name)).toEqual(["EntriesPruned"]);
      expect(two.client.delivered).toHaveLength(5);
      const next = await world.node("n2", bounds);
      expect(next.client.found).toEqual([]);
      await expect(entriesOf(next.journal, 3)).rejects.toMatchObject({ name: "EntriesPruned" });
    });
  });

  describe("a long log", () => {
    it("is read in pages, bounded by entries and by bytes", async () => {
      const world = new StoreWorld(server);
      const one = await world.node("n1");
      one.client.propose(...Array.from({ length: 100 }, (_, i) => wants("x".repeat(i * 10))));
      await settled(one);
      const log = await world.log();
      const texts = (client: Client) => client.known.map(e => e.command);
      for (const bounds of [
        { pageEntriesMax: 1 },
        { pageEntriesMax: 7 },
        { pageBytesMax: 1 },
        { pageBytesMax: 1_500, pageEntriesMax: 50 },
      ]) {
        const next = await world.node("n2", bounds);
        expect(next.client.found.map(lineOf)).toEqual(log);
        expect(texts(next.client)).toEqual(texts(one.client));
        expect((await entriesOf(next.journal, 40)).map(lineOf)).toEqual(log.slice(40));
        await next.journal.close();
      }
    });
  });
});
