import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Actor } from "../../daemon/core/actor.ts";
import type { Command, CommandOf, LockRequest } from "../../daemon/core/commands.ts";
import type { FileRef } from "../../daemon/core/file-ref.ts";
import type { Step } from "../../daemon/core/outcome.ts";
import { writeState } from "../../daemon/core/snapshot.ts";
import { lockTerms } from "../lock-terms.ts";
import { World } from "./core-world.ts";

const node = "n";
const keeper: Actor = { session: "keeper", agent: null, incarnation: 0 };
const waiter: Actor = { ...keeper, session: "waiter" };
const far: FileRef = { file: "far", lexical: "/far", key: `${node}:/elsewhere/far`, dir: false };

/** Files under their own names, a link and its target, a path folded by case, a folder and a file in it. */
const files: readonly FileRef[] = [
  { file: "a.ts", lexical: "/p/a.ts", key: `${node}:/p/a.ts`, dir: false },
  { file: "./b.ts", lexical: "/p/b.ts", key: `${node}:/p/b.ts`, dir: false },
  { file: "link.ts", lexical: "/p/link.ts", key: `${node}:/p/a.ts`, dir: false },
  { file: "a.ts", lexical: "/p/a.ts", key: `${node}:/p/moved.ts`, dir: false },
  { file: "README", lexical: "/p/README", key: `${node}:/p/readme`, dir: false, path: "/p/README" },
  { file: "src", lexical: "/p/src", key: `${node}:/p/src`, dir: true },
  { file: "src/c.ts", lexical: "/p/src/c.ts", key: `${node}:/p/src/c.ts`, dir: false },
  { file: "/", lexical: "/", key: `${node}:`, dir: true },
];

function isOneOfThree({ key, lexical }: FileRef): boolean {
  return [key, lexical].some(text => text.endsWith("/p/a.ts"));
}

const main: Actor = { session: "s1", agent: null, incarnation: 0 };

/** Mostly a session and an agent of it, who lend each other locks. */
const actor = fc.constantFrom<Actor[]>(
  ...Array.from({ length: 3 }, () => main),
  ...Array.from({ length: 3 }, () => ({ session: "s1", agent: "a1", incarnation: 0 })),
  { session: "s1", agent: null, incarnation: 1 },
  { session: "s2", agent: null, incarnation: 0 },
  { session: "stranger", agent: null, incarnation: 0 },
);
/** Mostly one that has several names. */
const file = fc.oneof(fc.constantFrom(...files), fc.constantFrom(...files.filter(one => isOneOfThree(one))));
const some = fc.oneof(
  { arbitrary: fc.tuple(file), weight: 6 },
  { arbitrary: fc.uniqueArray(file, { maxLength: 3, selector: ({ key }) => key }), weight: 1 },
);
const retry = fc.constantFrom(
  ...Array.from({ length: 8 }, () => undefined),
  { by: "s1", requestId: "r1", digest: "d1" },
  { by: "s1", requestId: "r1", digest: "d2" },
);

/** A request that does not wait, with these terms. */
function lockOf(of: Pick<LockRequest, "actor" | "files"> & Partial<LockRequest>): CommandOf<"lock_request"> {
  const { retry: kept, ...terms } = of;
  return {
    type: "lock_request",
    ...lockTerms,
    single: of.files.length === 1,
    project: "/p",
    cwd: "/p",
    wallMs: 0,
    ...terms,
    ...(kept === undefined ? {} : { retry: kept }),
  };
}

const lock: fc.Arbitrary<Command> = fc
  .record({
    actor,
    files: some,
    kind: fc.constantFrom<LockRequest["kind"]>(
      ...Array.from({ length: 5 }, () => "explicit" as const),
      "turn",
    ),
    flight: fc.constantFrom(...Array.from({ length: 7 }, () => null), "t1"),
    bound: fc.constantFrom(null, null, { node, epoch: 1, connection: 1 }),
    retry,
  })
  .map(({ retry: kept, ...rest }) => {
    const of = { ...rest, ancestors: rest.actor.agent === null ? [] : [null] };
    return lockOf(kept === undefined ? of : { ...of, retry: kept });
  });

const release: fc.Arbitrary<Command> = fc.record({ actor, files: some, isByKey: fc.boolean(), retry }).map(
  ({ actor: by, files: named, isByKey, retry: kept }): CommandOf<"lock_release"> => ({
    type: "lock_release",
    actor: by,
    files: named.map(one => ({ file: one.file, lexical: one.lexical, key: isByKey ? one.key : null })),
    ...(kept === undefined ? {} : { retry: kept }),
  }),
);

const rest: fc.Arbitrary<Command> = fc.oneof(
  actor.map((by): Command => ({ type: "lock_release", actor: by, files: "all" })),
  actor.map((by): Command => ({ type: "turn_end", actor: by, keepPrompt: null })),
  fc.constant<Command>({ type: "lock_unbind", bound: { node, epoch: 1, connection: 1 } }),
);

const commands = fc.array(
  fc.oneof({ arbitrary: lock, weight: 5 }, { arbitrary: release, weight: 5 }, { arbitrary: rest, weight: 1 }),
  { maxLength: 40, size: "max" },
);

function begin(session: string): Command {
  const place = { cwd: "/p", project: "/p", worktree: "/p", branch: "main" };
  return { type: "session_begin", session, anchor: null, ...place, name: null, revive: false, wallMs: 0 };
}

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
