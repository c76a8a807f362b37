import { expect, it } from "vitest";
import { type Also, TwoLogs } from "./two-logs.ts";

const seedsMax = Number(process.env["KITE_SEEDS"] ?? 20);

it(`what nodes tell of their sessions comes out right over ${seedsMax} histories of two logs`, {
  timeout: 600_000,
}, () => {
  const seen = histories(seedsMax, []);
  for (const key of mustOccur) expect(seen.get(key) ?? 0, key).toBeGreaterThan(0);
});

it("what nodes tell of their merges comes out right, and once", { timeout: 600_000 }, () => {
  const seen = histories(Math.ceil(seedsMax / 2), ["merge"]);
  for (const key of ["task_return ok", "merge told", "task_return outbox_gap", "task_return unknown_node"])
    expect(seen.get(key) ?? 0, key).toBeGreaterThan(0);
});

it("a declaration that a power cut took back is taken back from the others", { timeout: 600_000 }, () => {
  histories(Math.ceil(seedsMax / 2), ["lost declaration"]);
});

/** Returns what occurred in this many histories, and how often. Throws if one of them came out wrong. */
function histories(count: number, also: readonly Also[]): Map<string, number> {
  const seen = new Map<string, number>();
  for (let seed = 1; seed <= count; seed += 1) {
    const world = new TwoLogs(seed, also);
    try {
      world.run(400);
      const wrong = [...world.wrong(), ...world.outboxes()];
      if (wrong.length > 0) throw new Error(wrong.join("; "));
    } catch (error) {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : error}`, { cause: error });
    }
    for (const [key, times] of world.seen) seen.set(key, (seen.get(key) ?? 0) + times);
  }
  return seen;
}

const mustOccur = [
  "session_begin ok",
  "session_end ok",
  "session_continue ok",
  "agent_begin ok",
  "agent_end ok",
  "actor_part ok",
  "node_sessions_are ok",
  "task_create ok",
  "task_claim ok",
  "task_claim session_ended",
  "message_send ok",
  "node_renew ok",
  "node_renew behind",
  "node_renew node_twice",
  "session_begin node_twice",
  "session_begin outbox_gap",
];
