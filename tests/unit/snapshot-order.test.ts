import { expect, it } from "vitest";
import { emptyState } from "../../daemon/core/empty-state.ts";
import { copyOf, readState, writeState } from "../../daemon/core/snapshot.ts";

it("a snapshot has its fields and lists in the order in which they were released", () => {
  const state = emptyState();
  for (const table of [state.debates, state.spawns, state.merges]) table.count = 1;
  const { header, lists } = copyOf(state);
  expect(Object.keys(header).join(" ")).toBe(
    "format rules seq t storeId epoch nodes ended grants expiredWrites taskCount taskNumbers taskNumbersFrom " +
      "taskStamp contextVersions debateCount spawnCount mergeCount messageCount sent editHoldCount noteCount " +
      "endedDeclarations told",
  );
  expect([...lists.keys()].join(" ")).toBe(
    "sessions keptNames idle holds waiters tasks writes settled risks notes conflicts declarations " +
      "endedDeclarations context debates messages editHolds checks spawns merges stashes replies",
  );
  expect(writeState(readState(writeState(state)))).toBe(writeState(state));
});
