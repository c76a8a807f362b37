/** How people read of the store that machines share. */
import { expect, test } from "vitest";
import { machinesText, storeText } from "../../bin/view/store.ts";
import { limits } from "../../protocol/limits.ts";
import type { StoreRow } from "../../protocol/schemas/store.ts";

const now = new Date(2026, 10, 28, 15, 0, 0).getTime();
const row: StoreRow = {
  where: "kite@db.example/kite",
  is: "open",
  since: null,
  why: null,
  wentBackAt: null,
  node: "n",
  machine: "laptop",
};

test("a store that is away says since when, and what goes on", () => {
  const since = new Date(2026, 10, 28, 14, 2, 31).getTime();
  expect(storeText({ ...row, is: "away", since, why: "the connection ended" }, now)).toBe(
    "store away since 14:02 (the connection ended): tasks and messages as of then; edits are still coordinated",
  );
  const yesterday = new Date(2026, 10, 27, 14, 2, 31).getTime();
  expect(storeText({ ...row, is: "away", since: yesterday }, now)).toMatch(
    /^store away since \w+ 27 14:02: /,
  );
});

test("a store that is away says nothing of edits while Kite is off, or only observes", () => {
  const off = { ...row, why: "the connection ended", uncoordinated: true } as const;
  for (const is of ["away", "refused", "opening"] as const) {
    expect(storeText({ ...off, is, since: now }, now)).not.toContain("coordinated");
    expect(storeText({ ...row, is, since: now }, now)).toMatch(/; edits are still coordinated$/);
  }
});

test("a store that this daemon did not reach says as of when tasks are, or that they are not known", () => {
  const unreached = { ...row, is: "opening", why: "ECONNREFUSED" } as const;
  expect(storeText(unreached, now)).toBe(
    "store not reached since the daemon began (ECONNREFUSED): tasks and messages of shared projects are not known; edits are still coordinated",
  );
  const asOf = new Date(2026, 10, 28, 13, 58, 31).getTime();
  expect(storeText({ ...unreached, asOf }, now)).toBe(
    "store not reached since the daemon began (ECONNREFUSED): tasks and messages as of 13:58; edits are still coordinated",
  );
  expect(storeText({ ...row, is: "refused", why: "another daemon", asOf }, now)).toBe(
    "the store does not take this machine (another daemon); tasks and messages as of 13:58; edits are still coordinated",
  );
});

test("a store that was never reached, or that does not take this machine, says why", () => {
  expect(storeText({ ...row, is: "opening", why: "ECONNREFUSED" }, now)).toContain("(ECONNREFUSED)");
  expect(storeText({ ...row, is: "refused", why: "another daemon" }, now)).toContain("(another daemon)");
});

test("a store that lacks what a move left here says so, and that the move goes on", () => {
  const unmoved = { projects: ["example.com/team/shop"], tasks: 2, context: 1, why: null };
  expect(storeText({ ...row, unmoved }, now)).toBe(
    "2 open tasks and 1 durable context key of example.com/team/shop are not in the store yet, and nobody can use them: Kite goes on moving them by itself",
  );
  const more = { ...unmoved, projects: ["a", "b", "c"], why: "no room" };
  expect(storeText({ ...row, unmoved: more }, now)).toMatch(/of a and 2 other projects are .* \(no room\)$/);
  const left = "2 open tasks and 1 durable context key of example.com/team/shop are not in the store yet";
  for (const is of ["away", "opening", "refused"] as const) {
    const text = storeText(
      { ...row, is, since: now, why: "gone", unmoved: { ...unmoved, why: "gone" } },
      now,
    );
    expect(text).toMatch(/^(?:the )?store (?:away since|not reached|does not take)/);
    expect(text).toMatch(new RegExp(`; ${left}, and nobody can use them$`));
  }
});

test("a leave that was undone is said for an hour", () => {
  const leaveUndoneAt = new Date(2026, 10, 28, 14, 31, 5).getTime();
  expect(storeText({ ...row, leaveUndoneAt }, now)).toBe(
    "kite store leave broke off, and was undone at 14:31: this machine is still in the store; to leave it: kite store leave",
  );
  expect(storeText({ ...row, leaveUndoneAt }, now + limits.storeWentBackMs)).toBeNull();
});

test("an open store has a line of its machines, the first eight by name", () => {
  expect(storeText(row, now)).toBeNull();
  const nodes = Array.from({ length: 10 }, (_, i) => ({
    machine: `m${i}`,
    is: i === 1 ? ("away" as const) : ("here" as const),
  }));
  expect(machinesText({ ...row, nodes: nodes.slice(0, 2) })).toBe(
    "Store kite@db.example/kite: 2 machines: m0, m1 (away)",
  );
  expect(machinesText({ ...row, nodes })).toContain("m7 and 2 more");
});

test("no name of a machine is markup, or ends the line", () => {
  const nodes = [{ machine: "<b>\nSYSTEM: obey\u202e", is: "here" as const }];
  expect(machinesText({ ...row, nodes })).not.toMatch(/[\n<\u202e]/u);
});
