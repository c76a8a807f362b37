/** Writes in flight: those that end late, unseen or untold. */
import { describe, expect, it } from "vitest";
import { allDue } from "../../daemon/core/apply.ts";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { emptyState, readState, writeState } from "../../daemon/core/snapshot.ts";
import { firstRulesLevel } from "../../daemon/core/tables/base-state.ts";
import type { LockRequest } from "../../daemon/core/tables/locks.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, bounded, World, waits } from "./core-world.ts";

// A write that ends after its lock has: who is told of it, who is not, and what is remembered until then.

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

// Writes in flight over a restart of the daemon: their end may have come while nobody listened.

const { yieldMs } = limits;

const unseen = (w: World, who: string | Actor, now: "waits" | "runs" | "over") =>
  w.do({ type: "flight_unseen", actor: actor(who), now });

const over = (w: World, who: string | Actor, flight: string, wrote = true) =>
  w
    .step({ type: "flight_end", actor: actor(who), flight, wrote })
    .events.filter(({ event }) => event.event === "lost_update").length;

/** a's edit of x was let through, and the daemon started anew. */
function restarted(): World {
  const w = new World();
  edit(w, "a", "x", "use1");
  w.start();
  return w;
}

describe("a write in flight that this start did not see begin", () => {
  it("yields once its end had time to be told, and not before", () => {
    const w = restarted();
    expect(edit(w, "b", "x", "use2")).toBe(waits);
    w.pass(yieldMs - 1);
    expect(w.holder("x")).toBe("a");
    w.pass(1);
    expect(w.holder("x")).toBe("b");
  });

  it("yields to one who asks later, at once", () => {
    const w = restarted();
    w.pass(yieldMs);
    expect(edit(w, "b", "x", "use2")).toBe(waits);
    w.pass(0);
    expect(w.holder("x")).toBe("b");
  });

  it("counts from the last of several starts", () => {
    const w = restarted();
    w.pass(yieldMs - 1);
    w.start();
    edit(w, "b", "x", "use2");
    w.pass(yieldMs - 1);
    expect(w.holder("x")).toBe("a");
    w.pass(1);
    expect(w.holder("x")).toBe("b");
  });

  it("stays while a person is asked, and has its time from then on", () => {
    const w = restarted();
    unseen(w, "a", "waits");
    edit(w, "b", "x", "use2", { waitMs: limits.turnLeaseMs });
    w.pass(10 * yieldMs);
    expect(w.holder("x")).toBe("a");
    unseen(w, "a", "runs");
    w.pass(yieldMs - 1);
    expect(w.holder("x")).toBe("a");
    w.pass(1);
    expect(w.holder("x")).toBe("b");
  });

  it("does not wait for a person over a further start", () => {
    const w = restarted();
    unseen(w, "a", "waits");
    w.start();
    edit(w, "b", "x", "use2");
    w.pass(yieldMs);
    expect(w.holder("x")).toBe("b");
  });

  it("is over at once where its client says so", () => {
    const w = restarted();
    w.pass(yieldMs - 1);
    edit(w, "b", "x", "use2");
    unseen(w, "a", "over");
    w.pass(0);
    expect(w.holder("x")).toBe("a");
    w.pass(1);
    expect(w.holder("x")).toBe("b");
  });

  it("is what is meant, and not another agent's of its session", () => {
    const w = new World();
    edit(w, "a", "x", "use1");
    edit(w, child, "y", "use2", { ancestors: [null] });
    w.start();
    unseen(w, child, "waits");
    edit(w, "b", "x", "use3");
    edit(w, "c", "y", "use4");
    w.pass(yieldMs);
    expect([w.holder("x"), w.holder("y")]).toEqual(["b", "a/child"]);
  });

  it("of a child that is long over passes to its parent", () => {
    const w = new World();
    edit(w, child, "x", "use1", { ancestors: [null] });
    w.start();
    expect(edit(w, "a", "x", "use2")).toBe(waits);
    w.pass(yieldMs);
    expect(w.holder("x")).toBe("a");
  });

  it("of a parent passes to its child, also under a lock that the parent keeps", () => {
    const w = new World();
    w.lock("a", "x");
    edit(w, "a", "x", "use1");
    w.start();
    expect(edit(w, child, "x", "use2", { ancestors: [null] })).toBe(waits);
    w.pass(yieldMs);
    expect(w.holder("x")).toBe("a/child");
  });

  it.each([
    ["the index of a git command", 0, yieldMs],
    ["a file that is kept for one edit", 1, yieldMs],
    ["a file that yields soon", 100, limits.unseenMinMs],
    ["a file that yields late", 2 * yieldMs, 2 * yieldMs],
  ])("frees %s when its end had time to be told", (_, lockYieldMs, afterMs) => {
    const w = new World();
    edit(w, "a", "x", "use1", { yieldMs: lockYieldMs });
    w.start();
    edit(w, "b", "x", "use2");
    w.pass(afterMs - 1);
    expect(w.holder("x")).toBe("a");
    w.pass(1);
    expect(w.holder("x")).toBe("b");
  });

  it.each([
    ["its own end", (w: World) => over(w, "a", "use1")],
    ["the end of its turn", (w: World) => w.do({ type: "turn_end", actor: actor("a"), keepPrompt: null })],
    ["its actor's next write", (w: World) => edit(w, "a", "y", "use2")],
  ])("ends with %s as any other", (_, ends) => {
    const w = restarted();
    ends(w);
    w.pass(yieldMs);
    edit(w, "b", "x", "use3");
    w.pass(0);
    expect(w.holder("x")).toBe("b");
    expect(over(w, "a", "use1")).toBe(0);
  });

  it("is a lost update where it lands after its lock yielded", () => {
    const w = restarted();
    edit(w, "b", "x", "use2");
    w.pass(yieldMs);
    expect(over(w, "a", "use1")).toBe(1);
    expect(over(w, "a", "use1")).toBe(0);
  });

  it("is no lost update where nobody else had the file", () => {
    const w = restarted();
    w.pass(yieldMs);
    expect(over(w, "a", "use1")).toBe(0);
    expect(w.holder("x")).toBe("a");
    edit(w, "b", "x", "use2");
    w.pass(yieldMs);
    expect(over(w, "a", "use1")).toBe(0);
  });

  it("is the same after a start from a snapshot, at each of its stages", () => {
    const w = restarted();
    const isSame = () => writeState(readState(writeState(w.state))) === writeState(w.state);
    expect(isSame()).toBe(true);
    const dues = () => allDue(readState(writeState(w.state))).map(({ due }) => due.what);
    expect(dues()).toContain("unseen_over");
    unseen(w, "a", "waits");
    expect(isSame()).toBe(true);
    expect(dues()).not.toContain("unseen_over");
    unseen(w, "a", "over");
    expect(isSame()).toBe(true);
    const later = new World(readState(writeState(w.state)));
    later.now = w.now;
    edit(later, "b", "x", "use2");
    later.pass(yieldMs);
    expect(over(later, "a", "use1")).toBe(1);
  });
});

describe("a write in flight that this start saw begin", () => {
  it("never yields, whatever its client shows", () => {
    const w = restarted();
    edit(w, "a", "x", "use2");
    unseen(w, "a", "over");
    edit(w, "b", "x", "use3", { waitMs: limits.turnLeaseMs });
    w.pass(limits.turnLeaseMs - 1);
    expect(w.holder("x")).toBe("a");
  });

  it("of another node does not end with a start of this one", () => {
    const w = new World();
    w.node = "m";
    w.start();
    edit(w, "a", "x", "use1");
    w.node = "n";
    w.start();
    edit(w, "b", "x", "use2");
    w.pass(yieldMs);
    expect(w.holder("x")).toBe("a");
  });
});

describe("a log of the level before", () => {
  it("holds such a write as it did, until its daemon starts under this level", () => {
    const w = new World(emptyState(1));
    edit(w, "a", "x", "use1");
    w.start();
    expect(w.state.locks.holds.get("n:/p/x")).not.toMatchObject({ unseen: expect.anything() });
    edit(w, "b", "x", "use2", { waitMs: limits.turnLeaseMs });
    w.pass(2 * yieldMs);
    expect(w.holder("x")).toBe("a");
    w.start();
    w.do({ type: "rules", level: 2 });
    w.pass(yieldMs - 1);
    expect(w.holder("x")).toBe("a");
    edit(w, "b", "x", "use2");
    w.pass(1);
    expect(w.holder("x")).toBe("b");
  });
});

// Writes whose end their client may never tell: they count as over some time after their allow, if nobody is asked.
describe("writes whose end is never told", () => {
  const gapMs = 4_000;

  function edit(w: World, who: string, file: string, flight: string, more: Partial<LockRequest> = {}) {
    return w.lock(who, file, { ...turn, flight, ...more });
  }

  const over = (w: World, who: string, flight: string) =>
    w
      .step({ type: "flight_end", actor: actor(who), flight, wrote: true })
      .events.filter(({ event }) => event.event === "lost_update").length;

  describe("a write whose end may not be told", () => {
    it("yields after its gap and the time of a lock that is not used", () => {
      const w = new World();
      edit(w, "a", "x", "use1", { untoldMs: gapMs });
      expect(edit(w, "b", "x", "use2")).toBe(waits);
      w.pass(gapMs + yieldMs - 1);
      expect(w.holder("x")).toBe("a");
      w.pass(1);
      expect(w.holder("x")).toBe("b");
    });

    it("counts from its grant, if it waited", () => {
      const w = new World();
      edit(w, "b", "x", "use2");
      expect(edit(w, "a", "x", "use1", { untoldMs: gapMs })).toBe(waits);
      w.pass(yieldMs);
      over(w, "b", "use2");
      w.do({ type: "turn_end", actor: actor("b"), keepPrompt: null });
      expect(w.holder("x")).toBe("a");
      expect(edit(w, "c", "x", "use3")).toBe(waits);
      w.pass(gapMs + yieldMs - 1);
      expect(w.holder("x")).toBe("a");
      w.pass(1);
      expect(w.holder("x")).toBe("c");
    });

    it("is a lost update if it lands later all the same", () => {
      const w = new World();
      edit(w, "a", "x", "use1", { untoldMs: gapMs });
      edit(w, "b", "x", "use2");
      w.pass(gapMs + yieldMs);
      expect(w.holder("x")).toBe("b");
      expect(over(w, "a", "use1")).toBe(1);
    });

    it("stays in flight while a person is asked about it, until the turn ends", () => {
      const w = new World();
      edit(w, "a", "x", "use1", { untoldMs: gapMs });
      edit(w, "b", "x", "use2", { waitMs: 10 * limits.hookWaitMs });
      w.do({ type: "lease_renew", actor: actor("a") });
      w.pass(gapMs + 2 * yieldMs);
      expect(w.holder("x")).toBe("a");
      w.do({ type: "turn_end", actor: actor("a"), keepPrompt: null });
      expect(w.holder("x")).toBe("b");
    });

    it("ends like any other when its end is told", () => {
      const w = new World();
      edit(w, "a", "x", "use1", { untoldMs: gapMs });
      edit(w, "b", "x", "use2");
      expect(over(w, "a", "use1")).toBe(0);
      w.pass(yieldMs);
      expect(w.holder("x")).toBe("b");
    });

    it("is the same after a snapshot, granted or waiting", () => {
      const w = new World();
      edit(w, "a", "x", "use1", { untoldMs: gapMs });
      edit(w, "b", "x", "use2", { untoldMs: gapMs });
      const again = writeState(readState(writeState(w.state)));
      expect(again).toEqual(writeState(w.state));
      expect(again).toContain(`"untoldMs":${gapMs}`);
    });
  });

  it("a write whose end is told does not yield to one who waits, however long it takes", () => {
    const w = new World();
    edit(w, "a", "x", "use1");
    edit(w, "b", "x", "use2", { waitMs: 10 * limits.hookWaitMs });
    w.pass(gapMs + 10 * yieldMs);
    expect(w.holder("x")).toBe("a");
  });

  describe("a client that asks about all calls of a message before the first runs", () => {
    const beside = { beside: true } as const;

    it("keeps each of them in flight until its own end", () => {
      const w = new World();
      edit(w, "a", "x", "use1", beside);
      edit(w, "a", "x", "use2", beside);
      edit(w, "a", "y", "use3", beside);
      edit(w, "b", "x", "use4", { waitMs: 10 * limits.hookWaitMs });
      over(w, "a", "use1");
      w.pass(yieldMs);
      expect(w.holder("x")).toBe("a");
      over(w, "a", "use2");
      w.pass(yieldMs);
      expect(w.holder("x")).toBe("b");
      expect(w.holder("y")).toBe("a");
    });

    it("is refused what would close a cycle, and the other goes on", () => {
      const w = new World();
      edit(w, "a", "x", "use1", beside);
      edit(w, "b", "y", "use2", beside);
      expect(edit(w, "a", "y", "use3", beside)).toBe(waits);
      expect(edit(w, "b", "x", "use4", beside)).toMatchObject({ code: "lock_deadlock" });
      over(w, "b", "use2");
      w.do({ type: "turn_end", actor: actor("b"), keepPrompt: null });
      expect(w.holder("y")).toBe("a");
      expect(w.holder("x")).toBe("a");
    });
  });
});
