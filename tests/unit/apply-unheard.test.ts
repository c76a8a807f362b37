/** An entry whose replies and events nobody gets changes the state as any other. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { apply, applyUnheard } from "../../daemon/core/apply.ts";
import { check } from "../../daemon/core/slices.ts";
import { emptyState, writeState } from "../../daemon/core/snapshot.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { World } from "./core-world.ts";
import { begin, commands, files, lockOf, main } from "./lock-commands.ts";

/** A person freezes a file for some of the commands. */
const freeze: Command = {
  type: "broadcast",
  actor: null,
  project: "/p",
  text: "wait",
  bytes: 4,
  hold: { files: files.slice(0, 1), ttlMs: 50 },
  wallMs: 0,
};

const absence = fc.constantFrom("lost", "suspended", null);

/** Takes s1 for gone for a while. */
function away({ sessions }: State, how: "lost" | "suspended" | null): readonly Command[] {
  const session = sessions.live.get("s1");
  if (session === undefined || how === null) return [];
  if (how === "suspended") return [{ type: "session_suspend", session: "s1" }];
  return [{ type: "session_lost", session: "s1", begun: session.begun }];
}

it("leaves the state as the plain way does, for any requests in any order", () => {
  let unheard = 0;
  const same = fc.property(commands, fc.boolean(), absence, (list, isFrozen, how) => {
    const plain = new World();
    for (const session of ["s1", "s2"]) plain.do(begin(session));
    plain.do(lockOf({ actor: { ...main, session: "s2" }, files: files.slice(1, 2), waitMs: 1_000 }));
    for (const [i, command] of list.entries()) {
      plain.now += 7;
      if (isFrozen && i === 5) plain.do(freeze);
      if (i === 15) plain.pass(60);
      if (i % 4 === 1) for (const gone of away(plain.state, how)) plain.do(gone);
      // A clock that goes back.
      plain.now -= i % 4 === 0 ? 9 : 0;
      plain.do(command);
    }
    const state = emptyState();
    for (const entry of plain.entries) {
      const before = state.seq;
      if (applyUnheard(state, entry)) unheard += 1;
      else {
        expect(state.seq).toBe(before);
        apply(state, entry);
      }
    }
    expect(check(state)).toEqual([]);
    expect(writeState(state)).toBe(writeState(plain.state));
  });
  fc.assert(same, { numRuns: 150 });
  // Some 320, as the runs fall.
  expect(unheard).toBeGreaterThan(100);
});
