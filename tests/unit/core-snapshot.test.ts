/** A snapshot: its bounds and its order. */
import { describe, expect, it } from "vitest";
import { copyOf, emptyState, readState, writeState } from "../../daemon/core/snapshot.ts";
import type { State } from "../../daemon/core/state.ts";
import { limits } from "../../protocol/limits.ts";
import { bounded } from "./core-world.ts";

// The bounds of the core's tables: other tests fill tables with small ones, so this one holds the product's.
describe("the product's bounds", () => {
  /** The bounds of the state, and of its tables that make room by themselves. */
  function boundsOf(state: State) {
    const { limits: own, declarations, debates, messages, checks, spawns, merges, stashes, commits } = state;
    return [
      own,
      ...[declarations, debates, messages, checks, spawns, merges, stashes, commits].map(
        table => table.limits,
      ),
    ];
  }

  it("a state has the product's bounds, new or from a snapshot, and others where a test gives them", () => {
    for (const bounds of boundsOf(emptyState())) expect(bounds).toBe(limits);
    const small = bounded({ inboxMax: 3 });
    for (const bounds of boundsOf(small)) expect(bounds).toEqual({ ...limits, inboxMax: 3 });
    const back = readState(writeState(small));
    for (const bounds of boundsOf(back)) expect(bounds).toBe(limits);
  });

  it("the product's tables hold so many rows", () => {
    expect(limits).toMatchObject({
      sessionsMax: 10_000,
      sessionsAnchoredMax: 20_000,
      sessionsPerProcessMax: 64,
      locksPerSessionMax: 10_000,
      queuedPerSessionMax: 5_000,
      expiredWritesMax: 1_000,
      claimsPerSessionMax: 1_000,
      writesMax: 10_000,
      writersPerFileMax: 8,
      settledWorkMax: 2_000,
      stashEntriesMax: 1_000,
      commitsKeptMax: 2_000,
      mergeRisksMax: 1_000,
      fileNotesMax: 5,
      notedActorsMax: 1_000,
      conflictsToldMax: 10_000,
      declarationsMax: 10_000,
      declarationsEndedMax: 1_000,
      declaredFilesMax: 100,
      debatesMax: 200,
      debatesPerProjectMax: 20,
      debatesOpenMax: 10,
      debateParticipantsMax: 100,
      inboxMax: 1_000,
      messageRateMax: 20,
      messagesBytes: 64 * 1024 * 1024,
      freezesMax: 1_000,
      freezesPerActorMax: 2,
      contextKeysMax: 10_000,
      contextBytes: 64 * 1024 * 1024,
      checkResultsMax: 1_000,
      spawnsMax: 500,
      mergesMax: 1_000,
      mergesOpenMax: 100,
      repliesMax: 100_000,
      repliesChars: 16 * 1024 * 1024,
    });
  });
});

it("a snapshot of an earlier program is read without what it knew of one file on two machines", () => {
  const file = { what: "same_file", file: "a.ts", other: "bob@desk", session: "bob@m.1.1", branch: null };
  const note = { what: "overlap", file: "a.ts", other: "bob@desk", will: "" };
  const whose = { session: "s@n.1.1", agent: null };
  const rows = {
    branches: [{ session: "s@n.1.1", project: "/p", branch: null, files: [["a.ts", null]] }],
    notes: [
      { ...whose, notes: [{ n: 1, note: file }], dropped: 0 },
      {
        ...whose,
        agent: "x",
        notes: [
          { n: 2, note: file },
          { n: 3, note },
        ],
        dropped: 0,
      },
    ],
  };
  const lines = Object.entries(rows).map(([name, list]) => JSON.stringify({ [name]: list }));
  const state = readState([writeState(emptyState()), ...lines]);
  expect([...state.notes.pending.values()]).toEqual([
    { ...whose, agent: "x", notes: [{ n: 3, note }], dropped: 0 },
  ]);
  expect(writeState(state)).not.toMatch(/same_file|branch/);
});

it.each([
  ["leases", { leases: [{ node: "n1" }] }],
  ["outboxTold", { outboxTold: [] }],
])("a snapshot with %s of a log that machines had in common is not read", (name, rows) => {
  expect(() => readState([writeState(emptyState()), JSON.stringify(rows)])).toThrow(name);
  const header = { ...(JSON.parse(writeState(emptyState())) as object), isShared: true };
  expect(() => readState(JSON.stringify(header))).toThrow("isShared");
});

describe("the order of a snapshot", () => {
  const fields =
    "format rules seq t storeId epoch nodes ended grants expiredWrites taskCount taskNumbers taskNumbersFrom " +
    "taskStamp contextVersions debateCount spawnCount mergeCount messageCount sent editHoldCount noteCount " +
    "endedDeclarations told";
  const lists =
    "sessions keptNames idle holds waiters tasks writes settled risks notes conflicts declarations " +
    "endedDeclarations context debates messages editHolds checks spawns merges stashes replies";

  /** The names that were released, in the order in which the snapshot has them; later ones may stand anywhere. */
  function released(names: Iterable<string>, all: string): string {
    const known = all.split(" ");
    return [...names].filter(name => known.includes(name)).join(" ");
  }

  it("a snapshot has its fields and lists in the order in which they were released", () => {
    const state = emptyState();
    for (const table of [state.debates, state.spawns, state.merges]) table.count = 1;
    const copy = copyOf(state);
    expect(released(Object.keys(copy.header), fields)).toBe(fields);
    expect(released(copy.lists.keys(), lists)).toBe(lists);
    expect(writeState(readState(writeState(state)))).toBe(writeState(state));
  });
});
