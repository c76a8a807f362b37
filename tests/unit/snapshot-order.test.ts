import { expect, it } from "vitest";
import { copyOf, emptyState, readState, writeState } from "../../daemon/core/snapshot.ts";

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
