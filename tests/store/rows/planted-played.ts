/** Whether histories and cases find bugs: each is built into the program of the machines. Two test files have half of them each. */
import { describe, expect, it, onTestFinished } from "vitest";
import type { PostgresServer } from "../../store/postgres-server.ts";
import { withServer } from "../../store/postgres-world.ts";
import { Database } from "./database.ts";
import { buildNode, runHistory } from "./history.ts";
import { type PlantedInRows, plantedInRows } from "./planted.ts";
import { SmallWorld } from "./small-world.ts";

/** Sockets and processes take their own time, so what a seed draws meets a bug now and then alone. */
const seedsMax = Number(process.env["KITE_SEEDS"] ?? 8);

/** Plays every second bug, from the first (0) or the second (1) on. */
export async function playPlanted(from: 0 | 1): Promise<void> {
  const some = plantedInRows.flatMap((one, i) => (i % 2 === from ? [[one.bug, one] as const] : []));
  await withServer("planted bugs of machines over rows", (server, bin) => {
    describe("a planted bug of the rows is caught", () => {
      it.each(some)("%s", { timeout: 900_000 }, async (_, bug) => {
        const { program, remove } = await buildNode([bug]);
        onTestFinished(remove);
        const { case: play } = bug;
        const world = { server, bin, program };
        const told = play === undefined ? await toldByHistories(bug, world) : await toldBy(play, world);
        if (process.env["KITE_TOLD"] !== undefined) console.info(`${bug.bug}: ${told.slice(0, 300)}`);
        expect(told).toMatch(bug.tells);
      });
    });
  });
}

interface World {
  readonly server: PostgresServer;
  readonly bin: string;
  readonly program: string;
}

/** Returns how the case fails; empty: it holds. */
async function toldBy(play: (world: SmallWorld) => Promise<void>, world: World): Promise<string> {
  const small = await SmallWorld.make(world);
  return play(small).then(
    () => "",
    (error: unknown) => {
      // What it compared says more than how.
      const { actual, expected } = error as { readonly actual?: unknown; readonly expected?: unknown };
      return [String(error), actual, expected].map(one => JSON.stringify(one)).join(" ");
    },
  );
}

/** Plays histories until one tells the bug, and returns what it says; else what all of them say. */
async function toldByHistories(bug: PlantedInRows, { server, bin, program }: World): Promise<string> {
  const found: string[] = [];
  for (let seed = 1; seed <= seedsMax; seed += 1) {
    const database = await Database.on(server, bin, `planted_${plantedInRows.indexOf(bug)}_${seed}`);
    // With some bugs no history can begin.
    const { wrong } = await runHistory({ seed, database, program, settleMs: 5_000 }).catch(error => ({
      wrong: [String(error)],
    }));
    const telling = wrong.find(one => bug.tells.test(one));
    if (telling !== undefined) return `history ${seed}: ${telling}`;
    found.push(...wrong);
  }
  return found.slice(0, 20).join("; ");
}
