/** The journal over PostgreSQL, with a real server: what every journal has to do. */
import { PostgresJournal } from "../../daemon/journal/postgres/postgres-journal.ts";
import { withServer } from "./postgres-world.ts";
import { journalSuite } from "./suite.ts";

await withServer("the suite of journals over PostgreSQL", server => {
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
