/** The journal over PostgreSQL behind a pooler that gives each transaction another connection of the server. */
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { PostgresJournal } from "../../daemon/journal/postgres/postgres-journal.ts";
import { Client, wants } from "./commands.ts";
import { findPooler, Pooler } from "./pooler.ts";
import { lineOf, quick, settled, withServer } from "./postgres-world.ts";
import { journalSuite } from "./suite.ts";

await withServer("a store behind a pooler", async server => {
  const found = await findPooler();
  if ("missing" in found) {
    const loud = `SKIPPED: a store behind a pooler: ${found.missing}`;
    it(loud, () => console.warn(loud));
    return;
  }
  const pooler = await Pooler.start({ program: found.program, target: server.port });
  afterAll(() => pooler.end());

  let worlds = 0;
  journalSuite("the journal over PostgreSQL behind a pooler of transactions", () => {
    worlds += 1;
    const address = server.address(`pooled_${worlds}`, pooler.port);
    const journals: PostgresJournal[] = [];
    return {
      clock: "store",
      start: () => {
        const journal = new PostgresJournal({ address, node: "n1" });
        journals.push(journal);
        return journal;
      },
      settle: async () => {
        do {
          await journals.at(-1)?.barrier();
          await new Promise(resolve => setImmediate(resolve));
        } while (journals.at(-1)?.isIdle === false);
        await journals.at(-1)?.barrier();
      },
      end: () => Promise.all(journals.map(journal => journal.close())).then(() => {}),
    };
  });

  describe("nodes behind a pooler", () => {
    const ends = { waitMs: 60_000, answerMs: 60_000 };

    it("come to one log by reading it, though the server ends meanwhile", { timeout: 120_000 }, async () => {
      const address = server.address("pooled", pooler.port);
      const names = ["a", "b", "c", "d", "e"];
      const journals = names.map(
        node => new PostgresJournal({ address, node, bounds: { ...quick, ...ends } }),
      );
      onTestFinished(() => Promise.all(journals.map(journal => journal.close())).then(() => {}));
      const clients = await Promise.all(journals.map((journal, i) => Client.open(journal, names[i])));
      const rounds = 30;
      for (let round = 1; round <= rounds; round += 1) {
        for (const client of clients) client.propose(wants(`${round}`), wants(`${round} again`));
        if (round === rounds / 2) await server.kill().then(() => server.start());
        await clients[round % names.length]?.journal.barrier();
      }
      for (const journal of journals) await settled({ journal });
      for (const journal of journals) await journal.barrier();
      const [first, ...others] = clients;
      const log = first?.delivered.map(lineOf) ?? [];
      expect(log).toHaveLength(2 * rounds * names.length);
      expect(new Set(log.map(line => line.replace(/^\d+ /, ""))).size).toBe(log.length);
      for (const { delivered } of others) expect(delivered.map(lineOf)).toEqual(log);
      for (const { failures, fatal } of clients) expect([failures, fatal]).toEqual([[], []]);
    });
  });
});
