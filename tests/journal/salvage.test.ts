/** What is saved of a damaged journal: the longest unbroken beginning, and nothing behind a gap. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { check } from "../../daemon/core/check.ts";
import type { Entry } from "../../daemon/core/commands.ts";
import { writeState } from "../../daemon/core/snapshot.ts";
import { rebuild } from "../../daemon/engine/replay.ts";
import { salvage } from "../../daemon/engine/salvage.ts";
import { BatchEncoder } from "../../daemon/journal/batch-encoder.ts";
import { inspectJournal } from "../../daemon/journal/inspect.ts";
import { readRemains, replaceJournal } from "../../daemon/journal/remains.ts";
import { intactEntries } from "../../daemon/journal/segment.ts";

const fixture = fileURLToPath(new URL("../fixtures/journals/0.1.0/journal", import.meta.url));
let root: string;
let dir: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "kite-salvage-"));
  dir = join(root, "journal");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Copies the journal of a released version, without its snapshots if `whole` is false. */
function released(whole: boolean): void {
  rmSync(dir, { recursive: true, force: true });
  cpSync(fixture, dir, { recursive: true });
  if (!whole) for (const name of files(".snapshot")) rmSync(join(dir, name));
}

/** Writes the log anew, each segment in batches of three. */
function inBatches(): void {
  const encoder = new BatchEncoder();
  for (const name of files(".log")) {
    const path = join(dir, name);
    const { entries } = intactEntries(readFileSync(path));
    const writes: Buffer[] = [];
    for (let from = 0; from < entries.length; from += 3) {
      encoder.begin();
      for (const entry of entries.slice(from, from + 3)) encoder.add(entry, Number.POSITIVE_INFINITY);
      writes.push(Buffer.from(encoder.end()));
    }
    writeFileSync(path, Buffer.concat(writes));
  }
}

const files = (end: string) =>
  readdirSync(dir)
    .filter(name => name.endsWith(end))
    .sort();

function all(): { readonly entries: readonly Entry[]; readonly seq: number } {
  const { entries } = readRemains(dir);
  const list = [...entries.values()].sort((a, b) => a.seq - b.seq);
  return { entries: list, seq: list.at(-1)?.seq ?? 0 };
}

describe("a journal with a damaged byte", () => {
  it.each([
    ["lines of an entry each", () => {}],
    ["batches", inBatches],
  ])("of %s gives the state before the damage, whole, and a new journal that starts", async (_of, form) => {
    released(false);
    form();
    const { entries } = all();
    const logs = files(".log").filter(name => readFileSync(join(dir, name)).length > 0);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...logs), fc.nat(), async (log, n) => {
        released(false);
        form();
        const bytes = readFileSync(join(dir, log));
        const at = n % bytes.length;
        bytes[at] = (bytes[at] ?? 0) ^ 0x55;
        writeFileSync(join(dir, log), bytes);
        const { state, snapshot, lostEntries } = salvage(readRemains(dir));
        const seq = state?.seq ?? 0;
        expect(seq).toBeLessThanOrEqual(entries.length);
        if (seq < entries.length) expect(lostEntries).toBeGreaterThan(0);
        const before = rebuild(
          null,
          entries.filter(entry => entry.seq <= seq),
        ).state;
        if (state !== null) {
          expect(writeState(state)).toBe(writeState(before));
          expect(check(state)).toEqual([]);
        }
        const copy = join(root, "copy");
        const names = readdirSync(dir);
        await replaceJournal(dir, copy, readRemains(dir).epoch, snapshot);
        expect(inspectJournal(dir).damage).toBeNull();
        expect(inspectJournal(dir).lastSeq).toBe(seq);
        expect(readdirSync(copy).sort()).toEqual(names.sort());
        rmSync(copy, { recursive: true });
      }),
      { numRuns: 40 },
    );
  });
});

it("lines of a damaged snapshot are a last resort, and only as far as the invariants hold", () => {
  released(false);
  const { entries } = all();
  const { state } = rebuild(null, entries);
  const text = writeState(state);
  rmSync(dir, { recursive: true });
  mkdirSync(dir);
  // No checksum behind it: a snapshot that was torn, with one line that is no JSON.
  const lines = text.split("\n");
  const at = lines.findIndex(line => line.startsWith('{"holds"'));
  const broken = lines.map((line, i) => (i === at ? line.slice(0, -2) : line)).join("\n");
  writeFileSync(
    join(dir, `0000000009-${String(state.seq).padStart(16, "0")}.snapshot`),
    `${broken}\nno checksum\n`,
  );
  const found = salvage(readRemains(dir));
  expect(found.isPartial).toBe(true);
  expect(found.state?.tasks.all.size).toBe(state.tasks.all.size);
  expect(found.state === null ? ["nothing"] : check(found.state)).toEqual([]);
});

it.each([
  ["lines of an entry each", () => {}],
  ["batches", inBatches],
])("the log behind an intact snapshot is saved with it, though the log before is gone: %s", (_of, form) => {
  released(true);
  form();
  const { seq } = all();
  for (const name of files(".log")) if (name < "0000000002-0000000000000120") rmSync(join(dir, name));
  expect(salvage(readRemains(dir)).state?.seq).toBe(seq);
});

it("an empty folder has nothing to save", () => {
  mkdirSync(dir);
  expect(salvage(readRemains(dir))).toMatchObject({
    state: null,
    snapshot: null,
    lostEntries: 0,
    isPartial: false,
  });
});
