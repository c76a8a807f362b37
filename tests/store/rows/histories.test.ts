/**
 * Three machines over one PostgreSQL, each through a proxy of its own, while processes and servers are killed, paused and cut
 * off: nothing acknowledged is lost, nothing is claimed twice, and all copies come to be what the store has.
 */
import { afterAll, expect, it } from "vitest";
import { withServer } from "../../store/postgres-world.ts";
import { Database } from "./database.ts";
import { buildNode, runHistory } from "./history.ts";

const count = Number(process.env["KITE_SEEDS"] ?? 8);
const first = Number(process.env["KITE_SEED"] ?? 1);
const seeds = Array.from({ length: count }, (_, i) => first + i);

await withServer("histories of machines over rows", async (server, bin) => {
  const built = await buildNode();
  afterAll(() => built.remove());
  const seen = new Map<string, number>();

  it.each(seeds)("history %i", { timeout: 300_000 }, async seed => {
    // After a crash of the server its standby takes over.
    const hasStandby = seed % 8 === 4;
    const name = `rows_${seed}`;
    const database = hasStandby ? await Database.withStandby(bin) : await Database.on(server, bin, name);
    try {
      const { wrong, notes, seen: here } = await runHistory({ seed, database, program: built.program });
      for (const [what, times] of here) seen.set(what, (seen.get(what) ?? 0) + times);
      expect(wrong, `history ${seed}: ${notes.join("; ")}`).toEqual([]);
    } finally {
      database.end();
    }
  });

  it("saw what they are for", () => {
    if (process.env["KITE_TOLD"] !== undefined)
      console.info(
        [...seen]
          .map(row => row.join(": "))
          .sort()
          .join("\n"),
      );
    for (const what of mustOccur) expect(seen.get(what) ?? 0, what).toBeGreaterThan(0);
  });
});

const mustOccur = [
  ...["kill", "stop", "pause", "pause beyond the lease", "cut", "lose answers", "the server is back"],
  ...["a try lost", "a try store_away", "a try outcome_unknown", "done although asked again"],
  ...[
    "create ok",
    "claim ok",
    "claim task_claimed",
    "claim task_blocked",
    "done ok",
    "failed ok",
    "release ok",
  ],
  ...["reopen ok", "depend ok", "set ok", "set context_conflict", "send ok", "take ok", "told ok", "ack ok"],
  ...["open ok", "enter ok", "a letter"],
];
