/** What is saved of a damaged journal: all that does not build on what is lost. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { check } from "../../daemon/core/slices.ts";
import { writeState } from "../../daemon/core/snapshot.ts";
import type { Command, Entry } from "../../daemon/core/tables/entries.ts";
import { rebuild } from "../../daemon/engine/replay.ts";
import { salvage } from "../../daemon/engine/salvage.ts";
import { BatchEncoder } from "../../daemon/journal/batch.ts";
import { inspectJournal, readRemains, replaceJournal } from "../../daemon/journal/remains.ts";
import { intactEntries } from "../../daemon/journal/segments.ts";

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
  ])("of %s gives a whole state with what is left, and a new journal that starts", async (_of, form) => {
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
        const remains = readRemains(dir);
        const { state, snapshot, lostEntries } = salvage(remains);
        const left = [...remains.entries.values()];
        const seq = Math.max(0, ...remains.entries.keys());
        expect(state?.seq ?? 0).toBe(seq);
        expect(lostEntries).toBeGreaterThanOrEqual(seq - left.length);
        if (left.length < entries.length) expect(lostEntries).toBeGreaterThan(0);
        if (state !== null) expect(check(state)).toEqual([]);
        if (state !== null && left.length === seq)
          expect(writeState(state)).toBe(writeState(rebuild(null, entries.slice(0, seq)).state));
        const copy = join(root, "copy");
        const names = readdirSync(dir);
        await replaceJournal(dir, copy, remains.epoch, snapshot);
        expect(inspectJournal(dir).damage).toBeNull();
        expect(inspectJournal(dir).lastSeq).toBe(seq);
        expect(readdirSync(copy).sort()).toEqual(names.sort());
        rmSync(copy, { recursive: true });
      }),
      { numRuns: 40 },
    );
  });
});

describe("of a journal of many tasks", () => {
  const count = 60;
  const project = "/p";
  const who = { session: "s", agent: null, incarnation: 0 };
  const idOf = (n: number) => `t-${(1_000 + n).toString(36)}-${n.toString(36)}`;
  const created = (n: number, name = idOf(n - 1)): Command => ({
    type: "task_create",
    by: who,
    tasks: [
      {
        name: null,
        description: `task ${n}`,
        priority: "normal",
        labels: [],
        dependsOn: n % 10 === 9 ? [name] : [],
      },
    ],
    many: false,
    project,
    wallMs: 1_000 + n,
  });
  const done = (n: number, name = idOf(n)): Command => ({
    type: "task_update",
    by: null,
    task: name,
    status: "done",
    result: `result ${n}`,
    dependsOn: null,
    description: null,
    priority: null,
    labels: null,
    project,
    cwd: project,
    wallMs: 2_000 + n,
  });

  /** Writes them as one segment for each list, a line an entry. Returns the path of each. */
  function write(...segments: readonly (readonly Command[])[]): readonly string[] {
    mkdirSync(dir);
    const encoder = new BatchEncoder();
    let seq = 0;
    return segments.map((commands, i) => {
      const number = (n: number, digits: number) => String(n).padStart(digits, "0");
      const path = join(dir, `${number(i + 1, 10)}-${number(seq + 1, 16)}.log`);
      const lines = commands.map(command => {
        seq += 1;
        encoder.begin();
        const entry = { seq, at: seq, origin: { node: "n", epoch: 1, n: seq }, command };
        encoder.add(entry, Number.POSITIVE_INFINITY);
        return Buffer.from(encoder.end());
      });
      writeFileSync(path, Buffer.concat(lines));
      return path;
    });
  }

  const numbers = Array.from({ length: count }, (_, i) => i + 1);
  const first: Command = { type: "daemon_started", epoch: 1, storeId: "store" };

  /** Makes the lines from `line` on, `lines` of them, unreadable. */
  function garble(path: string, line: number, lines = 1): void {
    const all = readFileSync(path, "utf8").split("\n");
    for (let i = line; i < line + lines; i += 1) all[i] = (all[i] ?? "").replaceAll(/[a-m]/g, "?");
    writeFileSync(path, all.join("\n"));
  }

  function saved() {
    const { state, lostEntries, readable } = salvage(readRemains(dir));
    const tasks = [...(state?.tasks.all.values() ?? [])];
    expect(state === null ? ["nothing"] : check(state)).toEqual([]);
    const states = new Map(tasks.map(task => [task.description, task.state.status]));
    return { tasks, states, lostEntries, readable };
  }

  it("those behind a damaged line are saved, with what became of them, under their ids", () => {
    const [path = ""] = write([first, ...numbers.map(n => created(n)), ...numbers.map(n => done(n))]);
    garble(path, 14, 2);
    const { tasks, states, lostEntries, readable } = saved();
    // Tasks 14 and 15 are lost, and with them the two reports that they are done; task 19 builds on 18, which is there.
    expect(tasks.map(({ id }) => id)).toEqual(numbers.filter(n => n < 14 || n > 15).map(idOf));
    expect(new Set(states.values())).toEqual(new Set(["done"]));
    expect(lostEntries).toBe(2);
    expect(readable).toEqual(new Map([["task_update", 2]]));
  });

  it("one that depends on a lost one is lost as well, and no other", () => {
    const [path = ""] = write([first, ...numbers.map(n => created(n)), ...numbers.map(n => done(n))]);
    garble(path, 18);
    const { tasks, readable } = saved();
    const missing = numbers.filter(n => !tasks.some(({ description }) => description === `task ${n}`));
    expect(missing).toEqual([18, 19]);
    expect(readable.get("task_create")).toBe(1);
  });

  it("those of later segments are saved where the first one is missing", () => {
    const [path = ""] = write(
      [first, ...numbers.map(n => created(n))],
      numbers.map(n => created(n + count)),
      [done(count + 7)],
    );
    rmSync(path);
    const { tasks, states, lostEntries } = saved();
    expect(lostEntries).toBe(count + 1);
    expect(tasks.map(({ id }) => id)).toEqual(numbers.map(n => idOf(n + count)));
    expect(states.get(`task ${count + 7}`)).toBe("done");
    expect(states.get(`task ${count + 8}`)).toBe("pending");
  });

  it("no number names another task than before, though nothing tells the ids", () => {
    // People name tasks by the last part alone.
    const short = (n: number) => n.toString(36);
    const creates = numbers.map(n => created(n, short(n - 1)));
    const [path = ""] = write([first, ...creates, done(30, short(30))]);
    garble(path, 14);
    const { tasks, states, readable } = saved();
    expect(states.get("task 30")).toBe("pending");
    expect(new Set(states.values())).toEqual(new Set(["pending"]));
    expect(readable.get("task_update")).toBe(1);
    const ends = tasks.map(({ id }) => Number.parseInt(id.slice(id.lastIndexOf("-") + 1), 36));
    // The first thirteen keep theirs; all others have new ones.
    expect(ends.filter(n => n <= count)).toEqual(numbers.slice(0, 13));
    expect(new Set(ends).size).toBe(ends.length);
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
