/** A large state is written without being in memory a second time. */
import { afterEach, expect, it, vi } from "vitest";
import { Snapshots } from "../../daemon/engine/replay.ts";
import type { Journal, Pieces } from "../../daemon/journal/journal.ts";
import { World } from "./core-world.ts";

afterEach(() => vi.restoreAllMocks());

it("each line is made when the one before is stored, and none is long", async () => {
  const w = new World();
  const files = Array.from({ length: 1_000 }, (_, n) => `${"long".repeat(20)}-${n}`);
  w.lock("a", files);
  const stringify = vi.spyOn(JSON, "stringify");
  const made: number[] = [];
  const lengths: number[] = [];
  const saveSnapshot = async (_seq: number, pieces: Pieces) => {
    for await (const piece of pieces) {
      made.push(stringify.mock.calls.length);
      lengths.push(piece.length);
    }
  };
  const journal = { health: { bytes: 0, full: false }, saveSnapshot } as unknown as Journal;
  await new Snapshots(journal, task => task()).take(w.state);
  expect(made.at(-1)).toBeGreaterThan(1_000);
  // The most that one piece cost, in items.
  const steps = made.map((all, i) => all - (made[i - 1] ?? 0));
  expect(Math.max(...steps)).toBeLessThan(300);
  expect(Math.max(...lengths)).toBeLessThan(70_000);
});
