/** Random histories of kept work: `rescue-history.ts` says what they are, and what holds after each step. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { History, histories, play } from "./rescue-history.ts";

test("every version within the bounds comes back byte for byte, and none is named that cannot", async () => {
  await fc.assert(fc.asyncProperty(histories, play), { numRuns: 60, seed: 28 });
});

test("the last version of a file with uncommitted work outlasts every bound", async () => {
  const harmless = ["edit", "shell write", "pass", "prune", "restart", "commit"];
  await fc.assert(
    fc.asyncProperty(histories, async ops => {
      const history = new History();
      await history.begin();
      for (const one of ops) if (harmless.includes(one.op)) await history.run(one);
      await history.run({ op: "pass", hours: 1_000 });
      await history.notePruned();
      for (const path of history.dirty.keys()) {
        const latest = history.archive.versions.latestOf(path);
        const content = latest === null ? null : await history.archive.contentOf(latest);
        expect(content?.toString()).toBe(readFileSync(path, "utf8"));
      }
      await history.end();
    }),
    { numRuns: 15, seed: 28 },
  );
});
