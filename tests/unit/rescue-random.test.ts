/** Random histories of kept work, whole and with planted bugs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { loadAnew } from "../simulation/modules.ts";
import type { Planted } from "../simulation/planted.ts";
import { misquoted, withBug } from "../simulation/quotes.ts";
import { History, histories, play, wrongOver as wrongWithout } from "./rescue-history.ts";

// Random histories of kept work: `rescue-history.ts` says what they are, and what holds after each step.
describe("without any bug", () => {
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
});

// Bugs in what keeps the agents' work, each of which the random histories have to find.
describe("planted bugs", () => {
  type Histories = typeof import("./rescue-history.ts");

  const root = fileURLToPath(new URL("../..", import.meta.url));

  const planted: readonly Planted[] = [
    {
      bug: "a content that goes with its last version but one",
      file: "daemon/rescue/versions.ts",
      find: "if (content.count > 0) return null;",
      put: "if (content.count > 1) return null;",
      tells: /^v-\d+ of|are missing/,
    },
    {
      bug: "a content that counts once, however many versions have it",
      file: "daemon/rescue/versions.ts",
      find: "content.count += 1;",
      put: "",
      tells: /^v-\d+ of|are missing/,
    },
    {
      bug: "a version that the latest one of its file stands for, whatever it has",
      file: "daemon/rescue/archive.ts",
      find: "const isSame = latest?.hash === hash && latest.mode === draft.mode;",
      put: "const isSame = latest?.mode === draft.mode;",
      tells: /is the latest version|is kept|^v-\d+ of/,
    },
    {
      bug: "a number used again after a kill",
      file: "daemon/rescue/archive.ts",
      find: "this.next = [this.next[0] + limits.rescueNumbersSkipped, this.next[1] + limits.rescueNumbersSkipped];",
      put: "",
      tells: /^v-\d+ of|is the latest version|is kept|brings back|came back/,
    },
    {
      bug: "a removal that the index does not have",
      file: "daemon/rescue/archive.ts",
      find: "await this.#index.append([{ gone: versions.map(({ n }) => n) }]);",
      put: "",
      tells: /came back/,
    },
    {
      bug: "a content without a line that does not come back",
      file: "daemon/rescue/archive.ts",
      find: "if (isFree && this.isDoubted) {",
      put: "if (isFree && !this.isDoubted) {",
      tells: /without a line comes back|are missing|that the file never had/,
    },
    {
      bug: "rebuilt lines that are not in the index",
      file: "daemon/rescue/archive.ts",
      find: "if (isChanged) await this.#index.rewrite(this.#lines.records());",
      put: "if (isChanged) await this.#index.rewrite([]);",
      tells: /are missing|came back|^v-\d+ of|last version of uncommitted work|went too early/,
    },
    {
      bug: "a version that is named though its content is gone",
      file: "daemon/rescue/archive.ts",
      find: "const missing = await this.#which(({ hash }) => !there.has(hash));",
      put: "const missing = [];",
      tells: /^v-\d+ of/,
    },
    {
      bug: "uncommitted work that the bounds take",
      file: "daemon/rescue/archive.ts",
      find: "table.nextOf(version) === null && lasting.isDirty(version.path);",
      put: "table.nextOf(version) !== null && lasting.isDirty(version.path);",
      tells: /last version of uncommitted work/,
    },
    {
      bug: "versions that go before their time",
      file: "daemon/rescue/archive.ts",
      find: "if (version.atMs >= nowMs - bounds.keptMs) break;",
      put: "if (version.atMs >= nowMs - bounds.keptMs / 8) break;",
      tells: /went too early/,
    },
    {
      bug: "a shell line whose writes are not kept",
      file: "daemon/rescue/wiped.ts",
      find: "  for (const written of changed) {\n    const what",
      put: "  for (const written of changed.slice(1)) {\n    const what",
      tells: /what the line wrote is kept/,
    },
    {
      bug: "a wipe that is looked for after the line's own writes were kept",
      file: "daemon/rescue/wiped.ts",
      find: "known.version ??= archive.versions.latestOf(path);",
      put: "known.version ??= null;",
      tells: /who was wiped is told/,
    },
    {
      bug: "work that is wiped again when something else takes its place",
      file: "daemon/rescue/wiped.ts",
      find: 'return compared.gone.get(path) === (keeper.seen(path)?.stamp ?? "");',
      put: "return compared.gone.get(path) === keeper;",
      tells: /gone before is told/,
    },
    {
      bug: "a file that counts as moved, wherever it is",
      file: "daemon/rescue/losses.ts",
      find: "found.content.equals(content)) return true;",
      put: "found.content.length > 0) return true;",
      tells: /who was wiped is told/,
    },
    {
      bug: "the work of another that counts as the doer's own",
      file: "daemon/rescue/wiped.ts",
      find: "const isOwn = writers.every(",
      put: "const isOwn = writers.some(",
      tells: /who was wiped is told/,
    },
    {
      bug: "what a person changes that is not kept",
      file: "daemon/rescue/wiped.ts",
      find: "const outcome = await keeper.keep({ ...what, ...whose }, () => false, isExplained);",
      put: 'const outcome = { is: "kept" };',
      tells: /what a person wrote is kept|brings back/,
    },
  ];

  const [runs, seed] = [200, 28];

  it("random histories hold without any", { timeout: 300_000 }, async () => {
    expect(await wrongWithout(20, seed)).toBeNull();
  });

  describe("a planted bug is caught", { timeout: 300_000 }, () => {
    it.each(planted.map(bug => [bug.bug, bug] as const))("%s", async (_, bug) => {
      const path = join(root, bug.file);
      const source = readFileSync(path, "utf8");
      expect([...misquoted(bug, new Map([[bug.file, source]]))]).toEqual([]);
      const entry = join(root, "tests/unit/rescue-history.ts");
      const { wrongOver } = loadAnew(entry, { path, text: withBug(bug, source) }) as Histories;
      expect((await wrongOver(runs, seed)) ?? "nothing").toMatch(bug.tells);
    });
  });
});
