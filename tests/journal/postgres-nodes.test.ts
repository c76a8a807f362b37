/** Several nodes over one PostgreSQL: their order, their tables, and a store with another history than a node. */
import { describe, expect, it } from "vitest";
import { prepareSchema, schemaLevel } from "../../daemon/journal/postgres/schema.ts";
import { Client, opened, wants } from "./commands.ts";
import { lineOf, type StoreNode, StoreWorld, settled, withServer } from "./postgres-world.ts";

await withServer("several nodes over one store", server => {
  describe("a store with another history", () => {
    /** Takes the last entry back, as a restored backup or a standby that lacks it does. */
    const goBack = "DELETE FROM $.entries WHERE seq = 3; UPDATE $.head SET seq = 2";

    /** Reads when it has to: its appends are what finds the other history. */
    const deaf = { pollMinMs: 600_000, pollMaxMs: 600_000, heardPollMs: 600_000 };

    async function threeEntries(world: StoreWorld, isDeaf: boolean): Promise<StoreNode> {
      const node = await (isDeaf ? world.node("n1", deaf, { listens: false }) : world.node("n1"));
      node.client.propose(wants("a"), wants("b"), wants("c"));
      await settled(node);
      return node;
    }

    it("that is shorter gets nothing, and the journal says what to do", async () => {
      const world = new StoreWorld(server);
      const { client } = await threeEntries(world, true);
      await world.sql(goBack);
      client.propose(wants("d"));
      await expect.poll(() => client.fatal.map(error => error.name)).toEqual(["StoreWentBack"]);
      expect(client.fatal[0]?.message).toContain("goes on with what the store has");
      expect(client.failures.map(f => [f.n, f.reason.outcome])).toEqual([[4, "not_stored"]]);
      expect(await world.log()).toHaveLength(2);
    });

    it("that went on from there is known by the mark of an append", async () => {
      const world = new StoreWorld(server);
      const { client, journal } = await threeEntries(world, false);
      // The other node never saw the entry that is gone, and writes at its place.
      await world.sql(goBack);
      const other = await world.node("n2");
      other.client.propose(wants("other c"), wants("other d"));
      await settled(other);
      await expect.poll(() => client.fatal.map(error => error.name)).toEqual(["StoreWentBack"]);
      client.propose(wants("d"));
      await expect.poll(() => client.failures.length).toBe(1);
      expect(client.delivered).toHaveLength(3);
      expect(await world.log()).toHaveLength(4);
      await journal.close();
    });

    it("that went on from there gets nothing from a node that has not read since", async () => {
      const world = new StoreWorld(server);
      const { client } = await threeEntries(world, true);
      await world.sql(goBack);
      const other = await world.node("n2");
      other.client.propose(wants("other c"), wants("other d"));
      await settled(other);
      client.propose(wants("d"));
      await expect.poll(() => client.failures.map(f => [f.n, f.reason.outcome])).toEqual([[4, "not_stored"]]);
      expect(client.fatal.map(error => error.name)).toEqual(["StoreWentBack"]);
      expect(await world.log()).toHaveLength(4);
    });

    it("or none: tables that are gone are not made again by a daemon that runs", async () => {
      const world = new StoreWorld(server);
      const { client, journal } = await threeEntries(world, true);
      await world.sql(`DROP SCHEMA "${world.schema}" CASCADE`);
      await expect(journal.saveSnapshot(3, [Buffer.from("x")])).rejects.toThrow("kite store join");
      client.propose(wants("d"));
      await expect.poll(() => client.fatal.map(error => error.name)).toEqual(["StoreLost"]);
      expect(await world.sql(`SELECT 1 FROM pg_namespace WHERE nspname = '${world.schema}'`)).toEqual([]);
    });

    it("is not touched where another one was joined", async () => {
      const world = new StoreWorld(server);
      const { journal } = await world.journal("n1", {}, { storeId: "joined" });
      await expect(journal.loadSnapshot()).rejects.toMatchObject({ name: "StoreLost" });
      expect(await world.sql(`SELECT 1 FROM pg_namespace WHERE nspname = '${world.schema}'`)).toEqual([]);
      const other = await world.node("n2");
      const again = await world.journal("n1", {}, { storeId: "joined" });
      await expect(Client.open(again.journal, "n1")).rejects.toMatchObject({
        name: "StoreLost",
        message: expect.stringContaining("kite store leave --away"),
      });
      expect(await world.sql("SELECT node FROM $.nodes")).toEqual([["n2"]]);
      const third = await world.node("n1", {}, { storeId: other.journal.storeId });
      expect(third.journal.storeId).toBe(other.journal.storeId);
    });

    it("made anew is another store", async () => {
      const world = new StoreWorld(server);
      const { client } = await world.node("n1");
      await world.sql("UPDATE $.head SET store = 'another'");
      client.propose(wants("a"));
      await expect.poll(() => client.fatal.map(error => error.name)).toEqual(["StoreLost"]);
      expect(client.failures.map(f => f.reason.outcome)).toEqual(["not_stored"]);
    });
  });

  describe("nodes", () => {
    it("that open for the same id are two: the earlier one ends", async () => {
      const world = new StoreWorld(server);
      const first = await world.node("n1");
      const second = await world.node("n1");
      expect(second.client.epoch).toBe(first.client.epoch + 1);
      first.client.propose(wants("a"));
      await expect.poll(() => first.client.fatal.map(error => error.name)).toEqual(["NodeTwice"]);
      expect(first.client.failures.map(f => f.reason.outcome)).toEqual(["not_stored"]);
      second.client.propose(wants("b"));
      await settled(second);
      expect(await world.log()).toEqual(["1 n1 2 1"]);
    });

    it("that live are not taken by a copy of their disk, which waits until they are silent", async () => {
      const world = new StoreWorld(server);
      const first = await world.node("n1", {}, { holder: "one" });
      const copy = () => world.journal("n1", {}, { holder: "two" });
      await expect(
        (await copy()).journal.open(
          0,
          () => {},
          () => {},
        ),
      ).rejects.toMatchObject({
        name: "NodeHeld",
        message: expect.stringContaining("kite store rejoin"),
      });
      first.client.propose(wants("a"));
      await settled(first);
      expect(first.client.fatal).toEqual([]);
      // A start of the same machine, also after a kill, goes on at once.
      const again = await world.node("n1", {}, { holder: "one" });
      expect(again.client.epoch).toBe(first.client.epoch + 1);
      await world.sql("UPDATE $.nodes SET seen = now() - interval '61 s'");
      const later = await world.node("n1", {}, { holder: "two" });
      expect(later.client.epoch).toBe(again.client.epoch + 1);
    });

    it("begin an epoch that they have not had, whatever the store remembers", async () => {
      const world = new StoreWorld(server);
      const { client } = await world.node("n1", {}, { epochAfter: 41 });
      expect(client.epoch).toBe(42);
    });

    it("that propose for another one have a bug", async () => {
      const world = new StoreWorld(server);
      const { client, journal } = await world.node("n1");
      const proposal = { origin: { node: "n2", epoch: client.epoch, n: 1 }, at: 1, command: wants("a") };
      expect(() => journal.propose([proposal], () => {})).toThrow("this journal writes for n1");
    });

    it("hear of each other at once, and by reading alone", async () => {
      const world = new StoreWorld(server);
      const slow = { pollMinMs: 20, pollMaxMs: 20, heardPollMs: 600_000 };
      const one = await world.node("n1", slow);
      const hears = await world.node("n2", slow);
      const reads = await world.node("n3", slow, { listens: false });
      for (let i = 1; i <= 20; i += 1) {
        one.client.propose(wants(`${i}`));
        for (const { client } of [one, hears, reads])
          await expect.poll(() => client.delivered.length).toBe(i);
      }
    });

    it("read what others append one by one together, and at once what they wait for", async () => {
      const world = new StoreWorld(server);
      const one = await world.node("n1");
      const never = { newsPauseMs: 600_000, heardPollMs: 600_000, pollMinMs: 600_000, pollMaxMs: 600_000 };
      const { client, journal } = await world.node("n2", never);
      // It listens from its first read on.
      await journal.barrier();
      const append = async (count: number) => {
        for (let i = 1; i <= count; i += 1) {
          one.client.propose(wants(`${i}`));
          await settled(one);
        }
      };
      await append(20);
      client.propose(wants("own"));
      await expect.poll(() => client.batches).toEqual([21]);
      await append(3);
      await journal.barrier();
      expect(client.batches).toEqual([21, 3]);
    });

    it("that may not listen read by time alone", async () => {
      const world = new StoreWorld(server);
      const one = await world.node("n1");
      const { journal, proxy } = await world.journal("n2", { heardPollMs: 600_000 });
      proxy.passesListen = false;
      const client = await Client.open(journal, "n2");
      for (let i = 1; i <= 3; i += 1) {
        one.client.propose(wants(`${i}`));
        await expect.poll(() => client.delivered.length).toBe(i);
      }
      expect(journal.awaySinceMs).toBeNull();
    });

    it("take turns: one order, each its own time of the store", async () => {
      const world = new StoreWorld(server);
      const nodes = await Promise.all(["a", "b", "c", "d", "e"].map(name => world.node(name)));
      for (let round = 0; round < 10; round += 1)
        for (const { client } of nodes) client.propose(wants("x"), wants("y"));
      await Promise.all(nodes.map(settled));
      await Promise.all(nodes.map(({ journal }) => journal.barrier()));
      const log = await world.log();
      expect(log).toHaveLength(100);
      for (const { client } of nodes) expect(client.delivered.map(lineOf)).toEqual(log);
      const times = nodes[0]?.client.delivered.map(e => e.at) ?? [];
      expect(times).toEqual([...times].sort((a, b) => a - b));
    });
  });

  describe("the tables", () => {
    it("are made once by nodes that come at the same time", async () => {
      const world = new StoreWorld(server);
      const nodes = await Promise.all(Array.from({ length: 8 }, (_, i) => world.node(`n${i}`)));
      expect(new Set(nodes.map(({ journal }) => journal.storeId)).size).toBe(1);
      expect(await world.sql("SELECT count(*)::int FROM $.head")).toEqual([[1]]);
    });

    it("are made by a node that saw no schema just before another one made it", async () => {
      const world = new StoreWorld(server);
      const [holder, late] = await Promise.all([world.connection(), world.connection()]);
      try {
        const lock = `pg_advisory_xact_lock(hashtext('kite'), hashtext('${world.schema}'))`;
        // A server's process that has made a schema before looks up less anew.
        await prepareSchema(late, `${world.schema}_before`, "here");
        await holder.query("BEGIN");
        await holder.query(`SELECT ${lock}`);
        const made = prepareSchema(late, world.schema, "here");
        made.catch(() => {});
        const waits = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
        await expect.poll(async () => (await holder.query(waits)).length).toBe(1);
        await holder.query(`CREATE SCHEMA "${world.schema}"`);
        await holder.query("COMMIT");
        expect(await made).toMatchObject({ id: expect.stringMatching(/^[0-9a-f]{16}$/) });
      } finally {
        await Promise.all([holder.end(), late.end()]);
      }
    });

    it("get additions once, and serve a program that does not know them", async () => {
      const world = new StoreWorld(server);
      const { client, journal } = await world.node("n1");
      const later = [
        (table: (name: string) => string) =>
          `ALTER TABLE ${table("nodes")} ADD COLUMN IF NOT EXISTS away text;`,
      ];
      const connections = await Promise.all([1, 2, 3].map(() => world.connection()));
      try {
        await Promise.all(connections.map(one => prepareSchema(one, world.schema, "here", { later })));
      } finally {
        await Promise.all(connections.map(one => one.end()));
      }
      client.propose(wants("a"));
      await settled({ journal });
      const second = await world.node("n2");
      expect(second.client.found).toEqual(client.delivered);
    });

    it("of a later level are refused, before and while a daemon runs", async () => {
      const world = new StoreWorld(server);
      const { client } = await world.node("n1");
      await world.sql(`UPDATE $.head SET level = ${schemaLevel + 1}`);
      client.propose(wants("a"));
      await expect
        .poll(() => client.fatal.map(error => error.message).join())
        .toContain("start a newer Kite");
      const next = await world.journal("n2");
      await expect(opened(next.journal, 0)).rejects.toMatchObject({ name: "StoreTooNew" });
    });
  });
});
