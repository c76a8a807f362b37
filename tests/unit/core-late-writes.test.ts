/** A write that ends after its lock has: who is told of it, who is not, and what is remembered until then. */

import { describe, expect, it } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { emptyState, readState, writeState } from "../../daemon/core/snapshot.ts";
import { firstRulesLevel } from "../../daemon/core/tables/base-state.ts";
import type { LockRequest } from "../../daemon/core/tables/locks.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, bounded, World, waits } from "./core-world.ts";

const turn = { kind: "turn", depth: 16, waitMs: limits.hookWaitMs, placeMs: limits.placeMs } as const;
const command: Actor = { session: "a", agent: null, incarnation: 0, command: "make" };
const child: Actor = { session: "a", agent: "child", incarnation: 0 };

function edit(w: World, who: string | Actor, file: string, flight: string, more: Partial<LockRequest> = {}) {
  return w.lock(who, file, { ...turn, flight, ...more });
}

/** What is told when a write of `flight` is heard of: writer, file, holder, and about whom it is. */
function landed(w: World, who: string | Actor, flight: string | null, wrote = true): string[] {
  const { events } = w.step({ type: "flight_end", actor: actor(who), flight, wrote });
  return events.flatMap(({ event, about }) =>
    event.event === "lost_update"
      ? [`${event.writer.name} wrote ${event.file} of ${event.holder?.name ?? "nobody"}: ${about.join(" ")}`]
      : [],
  );
}

const revoke = (w: World, file: string) =>
  w.do({
    type: "lock_revoke",
    by: "a person",
    files: [{ file, lexical: `/p/${file}`, key: `n:/p/${file}` }],
  });

/** a's lock on x ended while its write `use1` was under way, in each way that cuts one short. */
const cuts: readonly (readonly [string, (w: World) => void])[] = [
  [
    "with its lease",
    w => {
      edit(w, "a", "x", "use1");
      w.pass(limits.turnLeaseMs);
    },
  ],
  [
    "by force",
    w => {
      edit(w, "a", "x", "use1");
      revoke(w, "x");
    },
  ],
  [
    "with its session's silence",
    w => {
      w.begin("a");
      edit(w, "a", "x", "use1");
      const begun = w.state.sessions.live.get("a")?.begun ?? -1;
      w.do({ type: "session_lost", session: "a", begun });
      w.pass(limits.lockDelayMs);
    },
  ],
  [
    "with the connection it is bound to",
    w => {
      const bound = { node: "n", epoch: 1, connection: 7 };
      w.lock("a", "x", { bound });
      edit(w, "a", "x", "use1");
      w.do({ type: "lock_unbind", bound });
    },
  ],
  [
    "with a command of it that took the lock over",
    w => {
      edit(w, "a", "x", "use1");
      w.lock(command, "x");
      w.unlock(command, "x");
    },
  ],
  [
    "with a command of it that had the lock before",
    w => {
      w.lock(command, "x");
      edit(w, "a", "x", "use1");
      w.unlock(command, "x");
    },
  ],
  [
    "with a command of it that nobody told of the grant",
    w => {
      edit(w, "a", "x", "use1");
      w.lock(command, "x");
      w.do({ type: "lock_undelivered", actor: command, keys: ["n:/p/x"], waiter: w.origin(w.n) });
    },
  ],
];

describe.each(cuts)("a write whose lock ended %s", (_, cut) => {
  function expiredWrites(): World {
    const w = new World();
    cut(w);
    expect(w.holder("x")).toBeNull();
    return w;
  }

  it("is told to both where another one holds the file by then, once", () => {
    const w = expiredWrites();
    edit(w, "b", "x", "use2");
    expect(landed(w, "a", "use1")).toEqual(["a wrote x of b: a b"]);
    expect(landed(w, "a", "use1")).toEqual([]);
    expect(landed(w, "b", "use2")).toEqual([]);
  });

  it("is told to its writer where nobody holds the file: another one may have read it", () => {
    expect(landed(expiredWrites(), "a", "use1")).toEqual(["a wrote x of nobody: a"]);
  });

  it("is no loss where its writer has the file again", () => {
    const w = expiredWrites();
    edit(w, "a", "x", "use3");
    expect(landed(w, "a", "use1")).toEqual([]);
    expect(w.state.locks.expiredWrites.size).toBe(0);
    expect(landed(w, "a", "use3")).toEqual([]);
  });

  it("is told where its writer has the file again and lost it again", () => {
    const w = expiredWrites();
    edit(w, "a", "x", "use3");
    revoke(w, "x");
    edit(w, "b", "x", "use4");
    expect(landed(w, "a", "use1")).toEqual(["a wrote x of b: a b"]);
    expect(landed(w, "a", "use3")).toEqual(["a wrote x of b: a b"]);
  });

  it("is not told of another one's use of the same id, and not forgotten for it", () => {
    const w = expiredWrites();
    edit(w, "b", "x", "use1");
    expect(landed(w, "b", "use1")).toEqual([]);
    expect(landed(w, child, "use1")).toEqual([]);
    expect(landed(w, "a", "use1")).toEqual(["a wrote x of b: a b"]);
  });

  it("is not told where nothing was written, before it is heard that something was", () => {
    const w = expiredWrites();
    expect(landed(w, "a", "use1", false)).toEqual([]);
    expect(landed(w, "a", null, true)).toEqual([]);
    expect(landed(w, "a", "other", true)).toEqual([]);
    expect(landed(w, "a", "use1", true)).toHaveLength(1);
  });

  it("is remembered over a start from a snapshot", () => {
    const w = expiredWrites();
    const text = writeState(w.state);
    expect(writeState(readState(text))).toBe(text);
    expect([...readState(text).locks.expiredWrites.values()]).toMatchObject([{ key: "n:/p/x", file: "x" }]);
    w.start();
    edit(w, "b", "x", "use2");
    expect(landed(w, "a", "use1")).toEqual(["a wrote x of b: a b"]);
  });
});

describe("a late write", () => {
  it.each([
    ["its turn", (w: World) => w.do({ type: "turn_end", actor: actor("a"), keepPrompt: null })],
    ["its own unlock", (w: World) => w.unlock("a", "x")],
    [
      "its actor's next edit",
      (w: World) => {
        edit(w, "a", "y", "use2");
        landed(w, "a", "use2");
      },
    ],
    ["its own end", (w: World) => landed(w, "a", "use1")],
  ])("is none after %s", (_, over) => {
    const w = new World();
    edit(w, "a", "x", "use1");
    over(w);
    w.pass(limits.turnLeaseMs);
    expect(w.state.locks.expiredWrites.size).toBe(0);
    edit(w, "b", "x", "use3");
    expect(landed(w, "a", "use1")).toEqual([]);
  });

  it("is none while the lock of a command goes back to its actor", () => {
    const w = new World();
    w.lock("a", "x");
    w.lock(command, "x");
    edit(w, "a", "x", "use1");
    w.unlock(command, "x");
    expect(w.state.locks.holds.get("n:/p/x")?.flights).toEqual(["use1"]);
    expect(landed(w, "a", "use1")).toEqual([]);
  });

  it("is told to the lender to whom a command's lock goes back", () => {
    const w = new World();
    w.lock("a", "x");
    edit(w, child, "x", "use1", { ancestors: [null] });
    w.lock({ ...child, command: "make" }, "x", { ancestors: [null] });
    w.unlock({ ...child, command: "make" }, "x");
    expect(w.holder("x")).toBe("a");
    expect(landed(w, child, "use1")).toEqual(["a/child wrote x of a: a a"]);
  });

  it("of a command's lock is none in a journal of the first rules", () => {
    const w = new World(emptyState(firstRulesLevel));
    w.lock(command, "x");
    edit(w, "a", "x", "use1");
    w.unlock(command, "x");
    expect(w.state.locks.expiredWrites.size).toBe(0);
  });

  it("is told to who has the folder that the file is in", () => {
    const w = new World();
    edit(w, "a", "d/x", "use1");
    revoke(w, "d/x");
    w.lock("b", "d/");
    expect(landed(w, "a", "use1")).toEqual(["a wrote d/x of b: a b"]);
  });

  it("is no loss where its writer has the folder that the file is in", () => {
    const w = new World();
    edit(w, "a", "d/x", "use1");
    revoke(w, "d/x");
    w.lock("a", "d/");
    expect(landed(w, "a", "use1")).toEqual([]);
  });

  it("of two with one id is told of the one that wrote", () => {
    const w = new World();
    edit(w, "a", "x", "use1");
    edit(w, "b", "y", "use1");
    w.pass(limits.turnLeaseMs);
    edit(w, "c", "x", "use2");
    edit(w, "d", "y", "use3");
    expect(landed(w, "a", "use1")).toEqual(["a wrote x of c: a c"]);
    expect(landed(w, "b", "use1")).toEqual(["b wrote y of d: b d"]);
  });

  it("of a subagent is told of the subagent, by its own name, also to the main agent that has the file again", () => {
    const w = new World();
    w.lock("a", "x");
    edit(w, child, "x", "use1", { ancestors: [null] });
    w.pass(limits.turnLeaseMs);
    expect(w.holder("x")).toBe("a");
    expect(landed(w, "a", "use1")).toEqual([]);
    expect(landed(w, child, "use1")).toEqual(["a/child wrote x of a: a a"]);
  });

  it("of one terminal is not told of the other one of its session", () => {
    const w = new World();
    w.begin("a", { anchor: { pid: 1, startTime: "1" } });
    w.begin("a", { anchor: { pid: 2, startTime: "2" } });
    const second = { session: "a", agent: null, incarnation: 1 };
    edit(w, second, "x", "use1");
    revoke(w, "x");
    edit(w, "a", "x", "use2");
    expect(landed(w, "a", "use1")).toEqual([]);
    expect(landed(w, second, "use1")).toEqual(["a#2 wrote x of a: a a"]);
  });

  it("goes to nobody's lock that a descendant waits for meanwhile", () => {
    const w = new World();
    edit(w, "a", "x", "use1");
    expect(edit(w, child, "x", "use2", { ancestors: [null] })).toBe(waits);
    const n = w.n;
    w.pass(limits.turnLeaseMs);
    expect(w.answers.get(n)?.grant ?? false).toBe(false);
    edit(w, child, "x", "use2", { ancestors: [null] });
    expect(landed(w, "a", "use1")).toEqual(["a wrote x of a/child: a a"]);
  });

  it("is remembered of the latest, up to a bound", () => {
    const expiredWritesMax = 10;
    const w = new World(bounded({ expiredWritesMax }));
    const files = Array.from({ length: 3 }, (_, i) => `f${i}`);
    for (const [i, file] of files.entries()) {
      edit(w, `s${i}`, file, `use${i}`);
      revoke(w, file);
    }
    expect([...w.state.locks.expiredWrites.values()].map(({ file }) => file)).toEqual(files);
    for (const [key, one] of [...w.state.locks.expiredWrites]) {
      w.state.locks.expiredWrites.delete(key);
      for (let n = 0; n < expiredWritesMax; n += 1) w.state.locks.expiredWrites.set(`${key} ${n}`, one);
    }
    edit(w, "a", "x", "use-a");
    revoke(w, "x");
    expect(w.state.locks.expiredWrites.size).toBe(expiredWritesMax);
    expect(landed(w, "a", "use-a")).toHaveLength(1);
  });
});
