import { describe, expect, it } from "vitest";
import type { Journal } from "../../daemon/journal/journal.ts";
import { Client, entriesOf, frees, opened, wants } from "./commands.ts";

/** A store, and the journals opened over it one after the other. */
export interface World {
  /** A new journal; the process of the one before it is gone in that moment. */
  start(): Journal;
  /** Runs until everything proposed and asked for has happened. */
  settle(): Promise<void>;
  /** Removes what the world left behind. */
  end?(): void | Promise<void>;
}

/** What every journal has to do; `make` gives a world that is empty and makes no faults. */
export function journalSuite(name: string, make: () => World): void {
  const test = (title: string, body: (world: World) => Promise<void>) =>
    it(title, async () => {
      const world = make();
      try {
        await body(world);
      } finally {
        await world.end?.();
      }
    });

  describe(name, () => {
    test("an empty store holds nothing and begins with an epoch", async world => {
      const journal = world.start();
      expect(await journal.loadSnapshot()).toBeNull();
      const { entries, epoch } = await opened(journal, 0);
      expect(entries).toEqual([]);
      expect(epoch).toBeGreaterThan(0);
      expect(journal.durableSeq).toBe(0);
      expect(journal.health.full).toBe(false);
      await journal.close();
    });

    test("delivers what is proposed, in order, numbered from 1, as it was", async world => {
      const client = await Client.open(world.start());
      client.propose(wants("a"), wants('b "quoted"\n\u2028 and ünïcödé \u{1f600} \ud800'));
      client.propose(frees());
      await world.settle();
      expect(client.delivered.map(e => [e.seq, e.origin.n])).toEqual([
        [1, 1],
        [2, 2],
        [3, 3],
      ]);
      expect(client.delivered.map(e => e.at)).toEqual([1001, 1002, 1003]);
      expect(client.delivered.map(e => e.command)).toEqual([
        wants("a"),
        wants('b "quoted"\n\u2028 and ünïcödé \u{1f600} \ud800'),
        frees(),
      ]);
      expect(client.failures).toEqual([]);
      expect(await entriesOf(client.journal, 0)).toEqual(client.delivered);
      await client.journal.close();
    });

    test("delivers nothing within propose, and what is proposed while delivering later", async world => {
      const client = await Client.open(world.start());
      let inside = false;
      client.onBatch = batch => {
        expect(inside).toBe(false);
        inside = true;
        if (batch.some(e => e.origin.n === 1)) client.propose(wants("second"));
        inside = false;
      };
      client.propose(wants("first"));
      expect(client.delivered).toEqual([]);
      await world.settle();
      expect(client.delivered.map(e => e.origin.n)).toEqual([1, 2]);
      expect(client.batches).toEqual([1, 1]);
      await client.journal.close();
    });

    test("takes what is proposed at any moment after a delivery", async world => {
      const client = await Client.open(world.start());
      let left = 20;
      client.onBatch = async () => {
        left -= 1;
        if (left < 0) return;
        for (let turns = left; turns > 0; turns -= 1) await null;
        client.propose(wants(`after ${left}`));
      };
      client.propose(wants("first"));
      for (let tries = 0; tries < 100 && client.delivered.length < 21; tries += 1) await world.settle();
      expect(client.delivered.length).toBe(21);
      expect(client.failures).toEqual([]);
      await client.journal.close();
    });

    test("a barrier passes when what was proposed before it has been delivered", async world => {
      const client = await Client.open(world.start());
      await client.journal.barrier();
      client.propose(wants("a"), wants("b"));
      let seen = -1;
      const passed = client.journal.barrier().then(() => {
        seen = client.delivered.length;
      });
      expect(seen).toBe(-1);
      await world.settle();
      await passed;
      expect(seen).toBe(2);
      await client.journal.barrier();
      await client.journal.close();
    });

    test("a barrier asked for while delivering waits for what was proposed there", async world => {
      const client = await Client.open(world.start());
      let seen = -1;
      client.onBatch = batch => {
        if (batch[0]?.origin.n !== 1) return;
        client.propose(wants("second"));
        void client.journal.barrier().then(() => {
          seen = client.delivered.length;
        });
      };
      client.propose(wants("first"));
      await world.settle();
      expect(seen).toBe(2);
      await client.journal.close();
    });

    test("what was delivered survives the end of the process, under a new epoch", async world => {
      const first = await Client.open(world.start());
      first.propose(wants("a"), wants("b"), wants("c"));
      await world.settle();
      const second = await Client.open(world.start());
      expect(second.found).toEqual(first.delivered);
      expect(second.epoch).toBeGreaterThan(first.epoch);
      second.propose(wants("d"));
      await world.settle();
      expect(second.delivered.map(e => e.seq)).toEqual([4]);
      const third = await Client.open(world.start());
      expect(third.found).toEqual(second.known);
      expect(third.epoch).toBeGreaterThan(second.epoch);
      await third.journal.close();
    });

    test("becomes durable when asked to, and says so", async world => {
      const client = await Client.open(world.start());
      client.propose(wants("a"), wants("b"));
      await world.settle();
      expect(client.journal.durableSeq).toBeLessThanOrEqual(2);
      client.journal.sync();
      client.journal.sync();
      await world.settle();
      expect(client.journal.durableSeq).toBe(2);
      expect(client.durable.at(-1)).toBe(2);
      expect(client.durable).toEqual([...new Set(client.durable)].sort((a, b) => a - b));
      client.journal.sync();
      await world.settle();
      expect(client.durable.at(-1)).toBe(2);
      await client.journal.close();
    });

    test("what is stored at the opening is durable", async world => {
      const first = await Client.open(world.start());
      first.propose(wants("a"));
      await world.settle();
      const second = await Client.open(world.start());
      expect(second.journal.durableSeq).toBe(1);
      await second.journal.close();
    });

    test("a snapshot takes the place of the entries before it", async world => {
      const first = await Client.open(world.start());
      first.propose(wants("a"), wants("b"), wants("c"));
      await world.settle();
      const saved = first.journal.saveSnapshot(2, [Buffer.from("state after 2\n")]);
      await world.settle();
      await saved;
      expect(first.journal.durableSeq).toBeGreaterThanOrEqual(2);
      expect(await first.journal.loadSnapshot()).toEqual({ seq: 2, bytes: Buffer.from("state after 2\n") });
      expect((await entriesOf(first.journal, 2)).map(e => e.seq)).toEqual([3]);

      const second = await Client.open(world.start());
      expect(second.found.map(e => e.seq)).toEqual([3]);
      expect(second.journal.durableSeq).toBe(3);
      const savedAgain = second.journal.saveSnapshot(3, [Buffer.alloc(0)]);
      await world.settle();
      await savedAgain;

      const third = await Client.open(world.start());
      expect(await third.journal.loadSnapshot()).toEqual({ seq: 3, bytes: Buffer.alloc(0) });
      expect(third.found).toEqual([]);
      third.propose(wants("d"));
      await world.settle();
      expect(third.delivered.map(e => e.seq)).toEqual([4]);
      await third.journal.close();
    });

    test("refuses a snapshot of what was not delivered", async world => {
      const client = await Client.open(world.start());
      await expect(client.journal.saveSnapshot(1, [Buffer.from("x")])).rejects.toThrow("not delivered");
      await client.journal.close();
    });

    test("reads up to the batch being delivered", async world => {
      const client = await Client.open(world.start());
      const reads: Promise<void>[] = [];
      client.onBatch = () => {
        const expected = [...client.known];
        reads.push(entriesOf(client.journal, 0).then(entries => expect(entries).toEqual(expected)));
      };
      client.propose(wants("a"));
      await world.settle();
      client.propose(wants("b"), wants("c"));
      await world.settle();
      await Promise.all(reads);
      expect(reads.length).toBeGreaterThanOrEqual(2);
      expect(await entriesOf(client.journal, 2)).toEqual(client.delivered.slice(2));
      expect(await entriesOf(client.journal, 3)).toEqual([]);
      await client.journal.close();
    });

    test("after close nothing is delivered, and what waits fails for good", async world => {
      const client = await Client.open(world.start());
      client.propose(wants("a"));
      await world.settle();
      client.propose(wants("b"));
      const closing = client.journal.close();
      client.propose(wants("c"));
      await world.settle();
      await closing;
      await client.journal.close();
      await client.journal.barrier();
      expect(client.delivered.map(e => e.origin.n)).toEqual([1]);
      expect(client.failures.map(f => [f.n, f.reason.code, f.reason.outcome])).toEqual([
        [2, "restarting", "not_stored"],
        [3, "restarting", "not_stored"],
      ]);
      expect(client.journal.durableSeq).toBe(1);
      const next = await Client.open(world.start());
      expect(next.found).toEqual(client.delivered);
      await next.journal.close();
    });

    test("close within delivery ends it there", async world => {
      const client = await Client.open(world.start());
      let closing: Promise<void> | null = null;
      client.onBatch = () => {
        closing ??= client.journal.close();
        client.propose(wants("after"));
      };
      client.propose(wants("a"));
      await world.settle();
      await closing;
      expect(client.delivered.length).toBe(1);
      expect(client.failures.map(f => f.n)).toEqual([2]);
    });

    test("is opened once, and before anything is proposed", async world => {
      const journal = world.start();
      const proposal = { origin: { node: "n1", epoch: 1, n: 1 }, at: 1, command: wants("a") };
      expect(() => journal.propose(proposal, () => {})).toThrow("open the journal");
      await opened(journal, 0);
      await expect(opened(journal, 0)).rejects.toThrow("opened once");
      await journal.close();
    });

    test("many batches over many lives stay one log", async world => {
      let expected: unknown[] = [];
      for (let life = 0; life < 5; life++) {
        const client = await Client.open(world.start());
        expect(client.found.map(e => e.command)).toEqual(expected);
        for (let i = 0; i < 20; i++) {
          client.propose(...Array.from({ length: i % 4 }, (_, k) => wants(`${life}.${i}.${k}`)));
          if (i % 3 === 0) await world.settle();
        }
        await world.settle();
        expect(client.known.map(e => e.seq)).toEqual(client.known.map((_, i) => i + 1));
        expected = client.known.map(e => e.command);
        if (life % 2 === 0) await client.journal.close();
      }
      expect(expected.length).toBe(150);
    });
  });
}
