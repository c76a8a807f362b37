/** Whether the histories find bugs: each is built into a daemon of its own. */
import { describe, expect, it } from "vitest";
import { withServer } from "../journal/postgres-world.ts";
import { buildDaemon, quickBounds } from "./build.ts";
import { runHistory } from "./history.ts";
import { Store } from "./machines.ts";
import { plantedInStore } from "./planted.ts";

/** Sockets and processes take their own time, so what a seed draws meets a bug now and then alone. */
const seedsMax = 30;

await withServer("planted bugs of daemons over one store", server => {
  describe("a planted bug of a shared store is caught", () => {
    it.each(plantedInStore.map(one => [one.bug, one] as const))(
      "%s",
      { timeout: 1_200_000 },
      async (_, bug) => {
        const { program, remove } = await buildDaemon([...quickBounds, bug]);
        const found: string[] = [];
        try {
          for (let seed = 1; seed <= seedsMax; seed += 1) {
            const database = `planted_${plantedInStore.indexOf(bug)}_${seed}`;
            const store = await Store.on(server, database);
            // With some bugs no history can begin.
            const { wrong } = await runHistory({ seed, store, program, settleMs: 8_000 }).catch(error => ({
              wrong: [String(error)],
            }));
            if (wrong.some(one => bug.tells.test(one))) {
              if (process.env["KITE_TOLD"] !== undefined) console.info(`${bug.bug}: history ${seed}`);
              return;
            }
            found.push(...wrong);
          }
        } finally {
          remove();
        }
        expect.fail(`${found.length === 0 ? "nothing" : found.join("; ")} was found, not ${bug.tells}`);
      },
    );
  });
});
