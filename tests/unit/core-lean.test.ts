import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Actor, FileRef } from "../../daemon/core/frame/actors.ts";
import { writeState } from "../../daemon/core/snapshot.ts";
import type { Command, Step } from "../../daemon/core/tables/entries.ts";
import { World } from "./core-world.ts";
import { begin, commands, files, lockOf, main, node } from "./lock-commands.ts";

const keeper: Actor = { session: "keeper", agent: null, incarnation: 0 };
const waiter: Actor = { ...keeper, session: "waiter" };
const far: FileRef = { file: "far", lexical: "/far", key: `${node}:/elsewhere/far`, dir: false };

/** A world of two sessions, and of two others far away, one of which waits for the other if the plain way is to be taken. */
function world(isPlain: boolean): { readonly world: World; readonly asked: number } {
  const made = new World();
  for (const session of ["s1", "s2", "keeper", "waiter"]) made.do(begin(session));
  made.do(lockOf({ actor: keeper, files: [far] }));
  made.do(lockOf({ actor: waiter, files: [far], waitMs: isPlain ? 600_000 : 0 }));
  const asked = made.n;
  // Only a request that waits has an event; this one is the latest in both worlds.
  made.do(begin("other"));
  return { world: made, asked };
}

/** A link to a file, and what moved to the link's target's name: the name that is released may mean either. */
const respelled: readonly Command[] = [
  ...files.slice(2, 4).map(one => lockOf({ actor: main, files: [one] })),
  { type: "lock_release", actor: main, files: files.slice(0, 1) },
];

describe("the lean way of a lock", () => {
  it("is the plain one, for any requests in any order", () => {
    let granted = 0;
    const same = fc.property(commands, list => {
      const [lean, plain] = [world(false), world(true)];
      expect([lean.world.state.locks.waiters.size, plain.world.state.locks.waiters.size]).toEqual([0, 1]);
      for (const command of list) {
        for (const { world: one } of [lean, plain]) one.now += 7;
        const steps: Step[] = [lean, plain].map(({ world: one }) => one.step(command));
        expect(JSON.stringify(steps[0])).toBe(JSON.stringify(steps[1]));
        if (command.type === "lock_request" && steps[0]?.reply?.ok === true) granted += 1;
      }
      for (const { world: one, asked } of [lean, plain])
        one.do({ type: "lock_detach", waiter: one.origin(asked) });
      expect(stateOf(lean.world)).toEqual(stateOf(plain.world));
    });
    fc.assert(same, { numRuns: 120, examples: [[[...respelled]]] });
    expect(granted).toBeGreaterThan(100);
  });

  it("is left to the plain one while somebody waits, who gets the file", () => {
    const made = new World();
    for (const session of ["s1", "s2"]) made.do(begin(session));
    const named = files.slice(0, 1);
    made.do(lockOf({ actor: main, files: named }));
    made.do(lockOf({ actor: { ...main, session: "s2" }, files: named, waitMs: 1_000 }));
    const { answers } = made.step({ type: "lock_release", actor: main, files: named });
    expect(answers.map(({ grant }) => grant?.actor.session)).toEqual(["s2"]);
  });
});

/** The state as it is stored, after the two far away have locked and released: that was their latest sign of life. */
function stateOf(of: World): string {
  of.do({ type: "lock_release", actor: keeper, files: "all" });
  of.do(lockOf({ actor: waiter, files: [far] }));
  of.do({ type: "lock_release", actor: waiter, files: "all" });
  return writeState(of.state);
}
