/** What an entry does to the state, heard or not, and what it costs. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { apply, applyUnheard, costOf } from "../../daemon/core/apply.ts";
import type { Actor, FileRef } from "../../daemon/core/frame/actors.ts";
import { check } from "../../daemon/core/slices.ts";
import { emptyState, writeState } from "../../daemon/core/snapshot.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command, CommandOf } from "../../daemon/core/tables/entries.ts";
import type { LockRequest } from "../../daemon/core/tables/locks.ts";
import { limits } from "../../protocol/limits.ts";
import { Crowd, upTo } from "../bench/growth-steps.ts";
import { lockTerms } from "../lock-terms.ts";
import { World } from "./core-world.ts";
import { WorkCount } from "./work-count.ts";

// Requests for locks of all kinds, by few actors for few files, so that they meet.

const node = "n";

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

/** The actor of most of them. */
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

/** Some of them, in any order. */
const commands = fc.array(
  fc.oneof({ arbitrary: lock, weight: 5 }, { arbitrary: release, weight: 5 }, { arbitrary: rest, weight: 1 }),
  { maxLength: 40, size: "max" },
);

/** Begins a session that has no process. */
function begin(session: string): Command {
  const place = { cwd: "/p", project: "/p", worktree: "/p", branch: "main" };
  return { type: "session_begin", session, anchor: null, ...place, name: null, revive: false, wallMs: 0 };
}

// An entry whose replies and events nobody gets changes the state as any other.
describe("an entry that nobody hears", () => {
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
});

describe("a command's cost", () => {
  const end: Command = { type: "session_end", session: "a", incarnation: null, cause: "ended" };
  const timer: Command = { type: "elapse", due: { what: "lost_leases_over", session: "a", begun: 1 } };

  it("the end of a session costs its locks, its waits and its letters", () => {
    const w = new World();
    w.begin("a");
    w.begin("b");
    expect(costOf(w.state, end)).toBe(limits.sessionEndCost);
    w.lock("b", "theirs");
    w.lock("a", ["one", "two"]);
    w.lock("a", "theirs");
    const message = { text: "x", bytes: 1, wallMs: 1, agents: [], replyTo: null, urgent: false };
    w.do({ type: "message_send", actor: null, project: "/p", to: "a", ...message });
    expect(costOf(w.state, end)).toBe(limits.sessionEndCost + 4);
    expect(costOf(w.state, timer)).toBe(limits.sessionEndCost + 4);
    const all: Command = {
      type: "lock_release",
      actor: { session: "a", agent: null, incarnation: 0 },
      files: "all",
    };
    expect(costOf(w.state, all)).toBe(4);
  });

  it("a command of many rows costs as many, and to tell so costs none of them", () => {
    const crowd = new Crowd({ step: work => work() });
    const place = { project: "/p", cwd: "/p", worktree: "/p", branch: null, wallMs: 1 };
    for (const i of upTo(500))
      crowd.before({
        type: "session_begin",
        session: `s${i}`,
        anchor: null,
        name: null,
        revive: true,
        ...place,
      });
    const said: Command = {
      type: "broadcast",
      actor: null,
      project: "/p",
      text: "x",
      bytes: 1,
      wallMs: 1,
      hold: null,
    };
    const tasks: Command = { type: "task_remove", by: null, tasks: upTo(900).map(i => `t${i}`) };
    const work = new WorkCount();
    expect(work.step(() => [costOf(crowd.state, said), costOf(crowd.state, tasks)])).toEqual([501, 900]);
    expect(work.total).toBeLessThan(10);
  });
});
