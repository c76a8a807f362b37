/**
 * Journals of released versions, and of earlier levels of rules, replay to their recorded state for ever.
 * tests/fixtures/journals/make.mjs made them and says when it may do so again.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { commandRules } from "../../daemon/core/apply.ts";
import { check } from "../../daemon/core/slices.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { Entry } from "../../daemon/core/tables/entries.ts";
import { BatchEncoder } from "../../daemon/journal/batch.ts";
import { scanSegment } from "../../daemon/journal/segments.ts";
import { hashOf, type Kept, readJournal, replay } from "../fixtures/journals/read.ts";
import { LineEncoder } from "./line-encoder.ts";

const root = fileURLToPath(new URL("../fixtures/journals/", import.meta.url));
const folders = readdirSync(root, { withFileTypes: true }).filter(entry => entry.isDirectory());

describe.each(folders.map(({ name }) => name))("the journal of %s", version => {
  const folder = join(root, version);
  let kept: Kept;

  beforeAll(async () => {
    kept = await readJournal(folder);
  });

  it.each([
    ["by its whole log", false],
    ["from its snapshot on", true],
  ])("replays to its recorded state, %s", (_how, fromSnapshot) => {
    const state = replay(kept, fromSnapshot);
    // The text shows what differs, the hash says that nothing does.
    const lines: unknown[] = writeState(state)
      .split("\n")
      .map(line => JSON.parse(line));
    expect(lines).toEqual(JSON.parse(readFileSync(join(folder, "state.json"), "utf8")));
    expect(hashOf(state)).toBe(readFileSync(join(folder, "state.sha256"), "utf8").trim());
  });

  it("holds to every invariant, and its state reads back as itself", () => {
    const state = replay(kept, false);
    expect(check(state)).toEqual([]);
    expect(hashOf(readState(writeState(state)))).toBe(hashOf(state));
  });

  it.each([
    ["batches", new BatchEncoder()],
    ["a line an entry, as before batches", new LineEncoder()],
  ])("reads back as itself, written as %s", (_form, encoder) => {
    const found: Entry[] = [];
    encoder.begin();
    for (const entry of kept.entries) encoder.add(entry, Number.POSITIVE_INFINITY);
    const scan = scanSegment([encoder.end()], 1, 0, entry => void found.push(entry));
    expect(scan.fault).toBeNull();
    expect(found).toEqual(kept.entries);
  });

  it("was cut by a snapshot in its midst, so that both ways are worth something", () => {
    const last = kept.entries.at(-1)?.seq ?? 0;
    expect(kept.snapshot.seq).toBeGreaterThan(10);
    expect(kept.snapshot.seq).toBeLessThan(last - 10);
  });
});

it("the journal of this version tells of every command and of everything that passes with time", async () => {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const { entries } = await readJournal(join(root, String(version)));
  const told = new Set(entries.map(({ command }) => command.type));
  expect([...told].sort()).toEqual(Object.keys(commandRules).sort());
  const passed = new Set(
    entries.flatMap(({ command }) => (command.type === "elapse" ? [command.due.what] : [])),
  );
  expect([...passed].sort()).toEqual([
    "bound_over",
    "context_over",
    "edit_hold_over",
    "lost_leases_over",
    "lost_over",
    "lost_turns_over",
    "place_over",
    "spawn_over",
    "suspend_over",
    "turn_lease_over",
    "unseen_over",
    "wait_over",
    "yield_over",
  ]);
});
