/** The journal over PostgreSQL, with a real server: what every journal has to do. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { PostgresJournal } from "../../daemon/journal/postgres/postgres-journal.ts";
import { postgresJournal } from "../../daemon/journal/shared-journal.ts";
import { Client, wants } from "./commands.ts";
import { withServer } from "./postgres-world.ts";
import { journalSuite } from "./suite.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The program as a daemon with a store loads it. */
interface Built {
  readonly PostgresJournal: typeof PostgresJournal;
}

await withServer("the suite of journals over PostgreSQL", server => {
  it("works as it is built, in a file of its own that brings its packages along", async () => {
    const built: Built = await import(pathToFileURL(join(root, "dist/postgres-journal.mjs")).href);
    const address = server.address("built");
    const journals = [
      new built.PostgresJournal({ address, node: "n1" }),
      await postgresJournal({ address, node: "n1" }),
    ];
    const found: number[] = [];
    for (const journal of journals) {
      const client = await Client.open(journal);
      found.push(client.found.length);
      client.propose(wants("a"));
      await expect.poll(() => client.delivered.length).toBe(1);
      await journal.close();
    }
    expect(found).toEqual([0, 1]);
    const { "postgres-journal.mjs": chunk } = JSON.parse(readFileSync(join(root, "dist/.built"), "utf8"));
    expect(chunk.packages).toContain("pg");
    expect(chunk.packages).not.toContain("zod");
    expect(readFileSync(join(root, "dist/daemon.mjs"), "utf8")).not.toContain("SCRAM-SHA-256");
  });

  let worlds = 0;
  for (const listens of [true, false]) {
    const how = listens ? "with notifications" : "by polling alone";
    journalSuite(`the journal over PostgreSQL, ${how}`, () => {
      worlds += 1;
      const address = server.address(`world_${worlds}`);
      const journals: PostgresJournal[] = [];
      return {
        clock: "store",
        start: () => {
          const journal = new PostgresJournal({ address, node: "n1", listens });
          journals.push(journal);
          return journal;
        },
        settle: async () => {
          // Proposals made while others are delivered count as well.
          do {
            await journals.at(-1)?.barrier();
            await new Promise(resolve => setImmediate(resolve));
          } while (journals.at(-1)?.isIdle === false);
          // So does a barrier asked for meanwhile: it ends before this one.
          await journals.at(-1)?.barrier();
        },
        end: () => Promise.all(journals.map(journal => journal.close())).then(() => {}),
      };
    });
  }
});
