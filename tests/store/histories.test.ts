/**
 * Three daemons over one PostgreSQL, each through a proxy of its own, while daemons and servers are killed, connections break
 * and clocks jump: nothing acknowledged is lost, nothing is claimed twice.
 */
import { afterAll, expect, it } from "vitest";
import { findPooler, Pooler } from "../journal/pooler.ts";
import { withServer } from "../journal/postgres-world.ts";
import { buildDaemon, quickBounds } from "./build.ts";
import { runHistory } from "./history.ts";
import { type Door, Store, shippedDaemon } from "./machines.ts";

const count = Number(process.env["KITE_SEEDS"] ?? 7);
const first = Number(process.env["KITE_SEED"] ?? 1);
const seeds = Array.from({ length: count }, (_, i) => first + i);

await withServer("histories of daemons over one store", async (server, bin) => {
  const pooler = await poolerBefore(server);
  const quick = buildDaemon(quickBounds);
  afterAll(async () => (await quick).remove());
  const seen = new Map<string, number>();

  it.each(seeds)("history %i", { timeout: 600_000 }, async seed => {
    const takesOver = seed % 4 === 2;
    const door = seed % 4 === 3 ? (pooler ?? server) : server;
    const store = takesOver ? await Store.withStandby(bin) : await Store.on(server, `history_${seed}`, door);
    try {
      const program = seed % 4 === 0 ? shippedDaemon : (await quick).program;
      const { wrong, notes, seen: here } = await runHistory({ seed, store, program });
      for (const [what, times] of here) seen.set(what, (seen.get(what) ?? 0) + times);
      expect(wrong, `history ${seed}: ${notes.join("; ")}`).toEqual([]);
    } finally {
      if (takesOver) for (const one of store.servers) one.end();
    }
  });

  it("saw what they are for", () => {
    if (process.env["KITE_TOLD"] !== undefined) console.info([...seen].sort().join("\n"));
    for (const what of mustOccur) expect(seen.get(what) ?? 0, what).toBeGreaterThan(0);
  });
});

/** Some histories go through a pooler of transactions, where one can be had. */
async function poolerBefore(server: Door): Promise<Pooler | null> {
  const found = await findPooler();
  if ("missing" in found) {
    console.warn(`SKIPPED: histories through a pooler: ${found.missing}`);
    return null;
  }
  const pooler = await Pooler.start({ program: found.program, target: server.port });
  afterAll(() => pooler.end());
  return pooler;
}

const mustOccur = [
  "kill",
  "pause",
  "kill the server",
  "a try lost",
  "a try store_away",
  "a try outcome_unknown",
  "task_create ok",
  "task_claim ok",
  "task_claim task_claimed",
  "task_release ok",
  "task_update ok",
  "message_send ok",
  "message_ack ok",
  "context_set ok",
  "context_set context_conflict",
  "debate_open ok",
  "debate_challenge ok",
  "debate_close ok",
  "declare ok",
  "an overlap with another machine",
  "an overlap told to another machine",
  "an end of a session that declared",
  "an end of an agent that declared",
  "an end context_over",
  "an end node_silent",
];
