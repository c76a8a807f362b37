/** Locks as agents ask for them, and the keys that are held. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import { HeldKeys } from "../../daemon/core/tables/locks.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, bounded, World, waits } from "./core-world.ts";

function grantOf(reply: unknown): number {
  return Number(String((reply as { token?: string }).token).split(".")[2]);
}

describe("one file", () => {
  it("is granted, refused to a second one that does not wait, and granted again after unlock", () => {
    const w = new World();
    expect(w.lock("a", "x")).toMatchObject({ ok: true, file: "x", path: "/p/x", token: "store.1.1" });
    expect(w.lock("b", "x", { waitMs: 0 })).toMatchObject({
      code: "lock_held",
      locked_by: "a",
      locked_ago: 0,
      queued: false,
    });
    expect(w.unlock("a", "x")).toEqual({ ok: true, released: ["x"] });
    expect(w.lock("b", "x")).toMatchObject({ ok: true, token: "store.1.2" });
  });

  it("gives the holder the same token again", () => {
    const w = new World();
    expect(w.lock("a", "x")).toEqual(w.lock("a", "x"));
  });

  it("passes on first come, first served, in the step of the release", () => {
    const w = new World();
    w.lock("a", "x");
    const waiting = ["b", "c", "d"].map(s => {
      expect(w.lock(s, "x")).toBe(waits);
      return w.n;
    });
    expect(w.lock("e", "x")).toMatchObject({
      error: "file locked by a, queue full",
      code: "lock_queue_full",
    });
    const tokens: number[] = [];
    for (const [i, s] of ["a", "b", "c"].entries()) {
      w.unlock(s, "x");
      const answer = w.answers.get(waiting[i] ?? -1);
      expect(answer).toMatchObject({ grant: true, reply: { ok: true, file: "x", granted_from_queue: true } });
      tokens.push(grantOf(answer?.reply));
    }
    expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
    expect(new Set(tokens).size).toBe(3);
    expect(w.holder("x")).toBe("d");
  });

  it("refuses a second request for what the actor waits for already", () => {
    const w = new World();
    w.lock("a", "x");
    w.lock("b", "x");
    expect(w.lock("b", "x")).toMatchObject({ error: "already queued for this file", code: "already_queued" });
  });

  it("ends a wait at its time, with the seconds waited in the published words", () => {
    const w = new World();
    w.lock("a", "x");
    w.lock("b", "x");
    const b = w.n;
    w.pass(29_999);
    expect(w.answers.get(b)).toBeUndefined();
    w.pass(1);
    expect(w.answers.get(b)?.reply).toMatchObject({
      error: "lock queue timeout (30s)",
      code: "lock_timeout",
      queued: false,
      locked_by: "a",
    });
    w.unlock("a", "x");
    expect(w.holder("x")).toBeNull();
  });

  it("releases nothing when one of the files is not the actor's", () => {
    const w = new World();
    w.lock("a", ["x", "y"]);
    expect(w.unlock("a", ["x", "z"])).toMatchObject({ code: "not_held", file: "z" });
    expect(w.holder("x")).toBe("a");
    expect(w.unlock("b", "x")).toMatchObject({ code: "not_held" });
  });

  it("lets a waiter give its place up", () => {
    const w = new World();
    w.lock("a", "x");
    w.lock("b", "x");
    const b = w.n;
    expect(w.unlock("b", "x")).toEqual({ ok: true, released: ["x"] });
    expect(w.answers.get(b)?.reply).toMatchObject({ code: "lock_given_up" });
  });

  it("lets the holder ask again past those who wait", () => {
    const w = new World();
    w.lock("a", "x");
    w.lock("a", "src/");
    w.lock("b", "x");
    w.lock("c", "src/");
    expect(w.lock("a", "x")).toMatchObject({ ok: true, token: "store.1.1" });
    expect(w.lock("a", "src/deep/y")).toMatchObject({ ok: true });
  });

  it("tells apart the agents of one session", () => {
    const w = new World();
    w.lock("a", "x");
    expect(w.lock({ session: "a", agent: "sub", incarnation: 0 }, "x")).toBe(waits);
  });
});

describe("directories", () => {
  it("lock everything below, and nothing beside", () => {
    const w = new World();
    w.lock("a", "src/");
    expect(w.lock("b", "src/auth/login.ts", { waitMs: 0 })).toMatchObject({
      code: "lock_held",
      locked_by: "a",
    });
    expect(w.lock("b", "src2/x")).toMatchObject({ ok: true });
    expect(w.lock("b", "srcx")).toMatchObject({ ok: true });
  });

  it("wait for what is held below, and hold back what comes after them", () => {
    const w = new World();
    w.lock("a", "src/one");
    w.lock("b", "src/");
    const b = w.n;
    expect(w.lock("c", "src/two", { waitMs: 0 })).toMatchObject({ code: "lock_held", locked_by: "b" });
    w.unlock("a", "src/one");
    expect(w.answers.get(b)).toMatchObject({ grant: true });
  });

  it("are taken by who holds files below already", () => {
    const w = new World();
    w.lock("a", "src/one");
    expect(w.lock("a", "src/")).toMatchObject({ ok: true });
  });
});

describe("several files", () => {
  it("are granted all or none, under one token, with nothing held while waiting", () => {
    const w = new World();
    w.lock("a", "x");
    expect(w.lock("b", ["w", "x", "y"])).toBe(waits);
    const b = w.n;
    expect(w.holder("w")).toBeNull();
    expect(w.holder("y")).toBeNull();
    w.unlock("a", "x");
    expect(w.answers.get(b)?.reply).toMatchObject({
      ok: true,
      files: ["w", "x", "y"],
      granted_from_queue: true,
    });
    expect(new Set(["w", "x", "y"].map(f => w.state.locks.holds.get(`n:/p/${f}`)?.token.grant)).size).toBe(1);
  });

  it("hold back who comes later for a part that is free, until the wait is over", () => {
    const w = new World();
    w.lock("a", "x");
    w.lock("b", ["x", "y"]);
    expect(w.lock("c", "y")).toBe(waits);
    const c = w.n;
    w.pass(10_000);
    expect(w.holder("y")).toBeNull();
    w.pass(20_000);
    expect(w.answers.get(c)).toMatchObject({ grant: true });
  });

  it("keep an older token valid when the actor takes more", () => {
    const w = new World();
    w.lock("a", "x");
    const both = w.lock("a", ["x", "y"]);
    expect(grantOf(both)).toBe(2);
    const hold = w.state.locks.holds.get("n:/p/x");
    expect([hold?.first.grant, hold?.token.grant]).toEqual([1, 2]);
  });
});

describe("deadlock", () => {
  it("is refused to the request that closes the cycle, in words", () => {
    const w = new World();
    w.begin("a", { name: "alice" });
    w.begin("b", { name: "bob" });
    w.begin("c", { name: "carol" });
    w.lock("a", "x");
    w.lock("b", "y");
    w.lock("c", "z");
    expect(w.lock("a", "y")).toBe(waits);
    expect(w.lock("b", "z")).toBe(waits);
    const refused = w.lock("c", "x");
    expect(refused).toMatchObject({ code: "lock_deadlock" });
    expect(String(refused["error"])).toContain(
      "carol waits for x behind alice, alice waits for y behind bob, bob waits for z behind carol",
    );
    w.unlock("b", "y");
    expect(w.holder("y")).toBe("a");
  });

  it("counts places in line: a set that waits for me must not be waited for", () => {
    const w = new World();
    w.lock("b", "x");
    w.lock("a", ["x", "y"]);
    expect(w.lock("b", "y")).toMatchObject({ code: "lock_deadlock" });
  });

  it("does not count turn holds, which end by themselves", () => {
    const w = new World();
    w.lock("a", "x", { kind: "turn" });
    w.lock("b", "y", { kind: "turn" });
    expect(w.lock("a", "y", { kind: "turn" })).toBe(waits);
    expect(w.lock("b", "x", { kind: "turn" })).toBe(waits);
  });

  it("is seen when a turn hold becomes explicit while its holder waits", () => {
    const w = new World();
    w.lock("a", "x", { kind: "turn" });
    w.lock("b", "y");
    w.lock("b", "x");
    w.lock("a", "y", { kind: "turn" });
    expect(w.lock("a", "x")).toMatchObject({ code: "lock_deadlock" });
  });
});

describe("cycles that close without a new request in line", () => {
  it("are seen when a place is taken up again ahead of one who came later", () => {
    const w = new World();
    w.lock("e", "src/");
    w.lock("a", "src/f", { kind: "turn", placeMs: limits.placeMs, waitMs: 1000 });
    w.pass(1000);
    w.lock("d", ["src/", "y"]);
    expect(w.lock("a", "y")).toBe(waits);
    // d waits for e alone; with a's old place back it would wait for a, who waits for d.
    expect(w.lock("a", "src/f", { kind: "turn" })).toMatchObject({ code: "lock_deadlock" });
  });

  it("are seen when an explicit lock is taken below one's own turn hold", () => {
    const w = new World();
    w.lock("c", "deep/", { kind: "turn" });
    w.lock("e", "a");
    expect(w.lock("c", "a")).toBe(waits);
    expect(w.lock("e", "deep/")).toBe(waits);
    expect(w.lock("c", "deep/f")).toMatchObject({ code: "lock_deadlock" });
  });

  it("are seen when a grant makes a turn hold explicit whose holder waits elsewhere", () => {
    const w = new World();
    w.lock("fay", "a");
    w.lock("eve", "g");
    w.lock("bob", "f", { kind: "turn" });
    w.lock("cyd", ["f", "a"]);
    w.lock("bob", ["f", "g"]);
    const bob = w.n;
    w.lock("bob", "a");
    w.unlock("eve", "g");
    expect(w.answers.get(bob)?.reply).toMatchObject({ code: "lock_deadlock" });
  });

  it("end the wait of who loses what it also waits for", () => {
    const w = new World();
    w.lock("c", "x");
    w.lock("c", "y");
    w.lock("e", "z");
    w.lock("a", ["x", "y"]);
    w.lock("c", ["x", "z"]);
    const c = w.n;
    w.do({ type: "lock_revoke", by: "a person", files: [{ file: "x", lexical: "/p/x", key: "n:/p/x" }] });
    expect(w.answers.get(c)?.reply).toMatchObject({ code: "lock_deadlock" });
    w.unlock("c", "y");
    expect(w.holder("x")).toBe("a");
  });
});

describe("places in line", () => {
  it("go with their connection", () => {
    const w = new World();
    w.lock("a", "x");
    w.lock("b", "x");
    const b = w.n;
    w.lock("c", "x");
    const c = w.n;
    w.do({ type: "lock_detach", waiter: w.origin(b) });
    w.unlock("a", "x");
    expect(w.answers.get(c)).toMatchObject({ grant: true });
    expect(w.state.locks.waiters.size).toBe(0);
  });

  it("of a hook outlive the time-out, are passed over, and are taken up where they were", () => {
    const w = new World();
    w.lock("a", "x");
    w.lock("b", "x", { kind: "turn", placeMs: limits.placeMs, waitMs: 1000 });
    w.pass(1000);
    w.lock("c", "x");
    const c = w.n;
    w.lock("b", "x", { kind: "turn", placeMs: limits.placeMs });
    const again = w.n;
    w.unlock("a", "x");
    expect(w.answers.get(again)).toMatchObject({ grant: true });
    expect(w.answers.get(c)).toBeUndefined();
  });

  it("that nobody takes up are gone after a minute", () => {
    const w = new World();
    w.lock("a", "x");
    w.lock("b", "x", { kind: "turn", placeMs: limits.placeMs, waitMs: 1000 });
    w.pass(1000 + limits.placeMs);
    expect(w.state.locks.waiters.size).toBe(0);
  });

  it("survive a restart detached, and so do holds and tokens", () => {
    const w = new World();
    w.lock("a", "x");
    w.lock("b", "x");
    const before = [...w.state.locks.holds.values()].map(h => h.token);
    w.start();
    expect([...w.state.locks.holds.values()].map(h => h.token)).toEqual(before);
    expect([...w.state.locks.waiters.values()].map(x => x.origin)).toEqual([null]);
    w.lock("b", "x");
    const b = w.n;
    w.unlock("a", "x");
    expect(w.answers.get(b)?.reply).toMatchObject({ token: "store.2.2", granted_from_queue: true });
  });

  it("leave nothing behind when a grant finds nobody", () => {
    const w = new World();
    w.lock("a", "x");
    w.lock("b", "x");
    const b = w.n;
    w.unlock("a", "x");
    expect(w.holder("x")).toBe("b");
    w.do({ type: "lock_undelivered", waiter: w.origin(b), actor: actor("b"), keys: ["n:/p/x"] });
    expect(w.holder("x")).toBeNull();
  });

  it("keep a grant that was asked for again meanwhile", () => {
    const w = new World();
    w.lock("a", "x");
    w.lock("b", "x");
    const b = w.n;
    w.unlock("a", "x");
    w.lock("b", "x");
    w.do({ type: "lock_undelivered", waiter: w.origin(b), actor: actor("b"), keys: ["n:/p/x"] });
    expect(w.holder("x")).toBe("b");
  });
});

describe("a place in line that a request of another kind takes up", () => {
  const hook = { kind: "turn", placeMs: limits.placeMs, prompt: "p" } as const;
  const end = { type: "turn_end", actor: actor("a"), keepPrompt: null } as const;

  /** b holds x and a's edit of it waited in vain: its place is kept, with another one behind it. */
  function kept(): World {
    const w = new World();
    w.lock("b", "x", { waitMs: 0 });
    w.lock("a", "x", hook);
    w.lock("c", "x", { waitMs: limits.waitMaxMs });
    w.pass(30_000);
    return w;
  }

  it("is explicit from then on, and outlives the turn", () => {
    const w = kept();
    expect(w.lock("a", "x")).toBe(waits);
    w.do(end);
    w.unlock("b", "x");
    expect([w.holder("x"), w.state.locks.holds.get("n:/p/x")?.kind]).toEqual(["a", "explicit"]);
    w.do(end);
    w.pass(limits.yieldMs);
    expect(w.holder("x")).toBe("a");
    w.unlock("a", "x");
    expect(w.holder("x")).toBe("c");
  });

  it("is explicit where it is granted at once", () => {
    const w = kept();
    w.lock("d", "y");
    w.do({ type: "turn_end", actor: actor("c"), keepPrompt: null });
    w.unlock("c", "x");
    w.unlock("b", "x");
    expect(w.lock("a", "x")).toMatchObject({ ok: true });
    expect(w.state.locks.holds.get("n:/p/x")?.kind).toBe("explicit");
  });

  it("is given up by an explicit request that waits in vain, as its own place would be", () => {
    const w = kept();
    w.lock("a", "x", { waitMs: 1_000 });
    w.pass(1_000);
    w.unlock("b", "x");
    expect(w.holder("x")).toBe("c");
    expect(w.lock("a", "x", { waitMs: 0 })).toMatchObject({ code: "lock_held", locked_by: "c" });
  });

  it("is a turn's again where an edit takes it up", () => {
    const w = new World();
    w.lock("b", "x", { waitMs: 0 });
    w.lock("a", "x", { detach: true });
    w.do({ type: "lock_detach", waiter: w.origin(w.n) });
    expect(w.lock("a", "x", hook)).toBe(waits);
    w.unlock("b", "x");
    expect(w.state.locks.holds.get("n:/p/x")?.kind).toBe("turn");
    w.do(end);
    expect(w.holder("x")).toBeNull();
  });

  it("is answered in the form of the request that takes it up", () => {
    const w = kept();
    w.lock("a", "x", { single: false });
    const { n } = w;
    w.unlock("b", "x");
    expect(w.answers.get(n)?.reply).toMatchObject({ files: ["x"], granted_from_queue: true });
    expect(writeState(readState(writeState(w.state)))).toBe(writeState(w.state));
  });
});

describe("a grant that was asked for again", () => {
  const undelivered = (w: World, n: number, who: Actor = actor("b")) =>
    w.do({ type: "lock_undelivered", waiter: w.origin(n), actor: who, keys: ["n:/p/x"] });

  /** b has x by a grant that it waited for; returns where its answers went. */
  function asked(w: World, times: number): number[] {
    w.lock("a", "x");
    w.lock("b", "x");
    const answers = [w.n];
    w.unlock("a", "x");
    while (answers.length <= times) {
      w.lock("b", "x");
      answers.push(w.n);
    }
    return answers;
  }

  it.each([
    ["in their order", (all: number[]) => all],
    ["the other way round", (all: number[]) => all.toReversed()],
  ])("goes when none of its answers was delivered, told %s", (_, order) => {
    const w = new World();
    const answers = order(asked(w, 2));
    for (const n of answers) {
      expect(w.holder("x")).toBe("b");
      undelivered(w, n);
    }
    expect(w.holder("x")).toBeNull();
  });

  it.each([0, 1, 2])("stays when answer %i was", heard => {
    const w = new World();
    for (const [i, n] of asked(w, 2).entries()) {
      if (i === heard) continue;
      undelivered(w, n);
      undelivered(w, n);
    }
    expect(w.holder("x")).toBe("b");
    expect(writeState(readState(writeState(w.state)))).toBe(writeState(w.state));
  });

  it("counts as heard after so many answers", () => {
    const w = new World();
    const answers = asked(w, limits.grantAnswersMax + 1);
    for (const n of answers) undelivered(w, n);
    expect(w.holder("x")).toBe("b");
    expect(w.state.locks.holds.get("n:/p/x")?.askedAgain).toHaveLength(limits.grantAnswersMax);
  });

  it("does not come back to a lender to whom no answer was delivered", () => {
    for (const lost of [1, 2]) {
      const w = new World();
      const answers = asked(w, 1);
      const child = { session: "b", agent: "s1", incarnation: 0 };
      w.lock(child, "x", { kind: "turn", ancestors: [null] });
      for (const n of answers.slice(0, lost)) undelivered(w, n);
      w.do({ type: "turn_end", actor: child, keepPrompt: null });
      expect(w.holder("x")).toBe(lost === 1 ? "b" : null);
    }
  });
});

describe("ends", () => {
  it("of a session release all it has in one step, and nothing goes to its own agents", () => {
    const w = new World();
    w.begin("a");
    w.lock("a", ["x", "y"]);
    w.lock({ session: "a", agent: "sub", incarnation: 0 }, "x");
    const sub = w.n;
    w.lock("b", "x");
    const b = w.n;
    const step = w.step({ type: "session_end", session: "a", incarnation: null, cause: "anchor_gone" });
    expect(w.answers.get(sub)).toMatchObject({ grant: false, reply: { code: "lock_given_up" } });
    expect(w.answers.get(b)).toMatchObject({ grant: true });
    expect(step.answers.filter(a => a.grant !== null)).toHaveLength(1);
    expect(w.holder("y")).toBeNull();
  });

  it("of a turn release turn holds only, and spare those of the prompt that goes on", () => {
    const w = new World();
    w.lock("a", "x", { kind: "turn", prompt: "p1" });
    w.lock("a", "y", { kind: "turn", prompt: "p2" });
    w.lock("a", "z");
    w.do({ type: "turn_end", actor: actor("a"), keepPrompt: "p2" });
    expect([w.holder("x"), w.holder("y"), w.holder("z")]).toEqual([null, "a", "a"]);
    w.do({ type: "turn_end", actor: actor("a"), keepPrompt: null });
    expect([w.holder("y"), w.holder("z")]).toEqual([null, "a"]);
  });

  it("of a turn hold come by themselves ten minutes after its last touch", () => {
    const w = new World();
    w.lock("a", "x", { kind: "turn" });
    w.pass(limits.turnLeaseMs - 1);
    w.lock("a", "x", { kind: "turn" });
    w.pass(limits.turnLeaseMs - 1);
    expect(w.holder("x")).toBe("a");
    w.pass(1);
    expect(w.holder("x")).toBeNull();
  });

  it("of a connection release what is bound to it, of a restart only if nobody comes back", () => {
    const w = new World();
    const bound = { node: "n", epoch: 1, connection: 7 };
    w.lock("a", "x", { bound });
    w.lock("a", "y", { bound });
    w.lock("a", "z");
    w.start();
    w.lock("a", "y", { bound: { node: "n", epoch: 2, connection: 1 } });
    w.pass(limits.boundGraceMs);
    expect([w.holder("x"), w.holder("y"), w.holder("z")]).toEqual([null, "a", "a"]);
    w.do({ type: "lock_unbind", bound: { node: "n", epoch: 2, connection: 1 } });
    expect([w.holder("y"), w.holder("z")]).toEqual([null, "a"]);
  });

  it("by force tell the holder", () => {
    const w = new World();
    w.lock("a", "x");
    const step = w.step({
      type: "lock_revoke",
      by: "someone",
      files: [{ file: "x", lexical: "/p/x", key: "n:/p/x" }],
    });
    expect(step.reply).toEqual({ ok: true, released: ["x"] });
    expect(step.events[0]).toMatchObject({ event: { event: "lock_revoked", by: "someone" }, about: ["a"] });
  });
});

describe("retries", () => {
  const retry = { by: "a", requestId: "r1", digest: "d" };

  it("get the same reply and are applied once", () => {
    const w = new World();
    const first = w.lock("a", "x", { retry });
    w.unlock("a", "x");
    expect(w.lock("a", "x", { retry })).toEqual(first);
    expect(w.holder("x")).toBeNull();
    expect(w.lock("a", "x", { retry: { ...retry, digest: "other" } })).toMatchObject({
      code: "request_conflict",
    });
    w.pass(limits.replyKeptMs);
    expect(w.lock("a", "x", { retry })).toMatchObject({ token: "store.1.2" });
  });

  it("of a request that waits take its place over", () => {
    const w = new World();
    w.lock("b", "x");
    w.lock("a", "x", { retry });
    const first = w.n;
    w.lock("c", "x");
    expect(w.lock("a", "x", { retry })).toBe(waits);
    const again = w.n;
    expect(w.answers.get(first)?.reply).toMatchObject({ code: "lock_given_up" });
    w.unlock("b", "x");
    expect(w.answers.get(again)).toMatchObject({ grant: true });
    expect(w.lock("a", "x", { retry })).toEqual(w.answers.get(again)?.reply);
  });
});

it("bounds what one session may hold", () => {
  const locksPerSessionMax = 10;
  const w = new World(bounded({ locksPerSessionMax }));
  const files = Array.from({ length: locksPerSessionMax }, (_, i) => `f${i}`);
  expect(w.lock("a", files)).toMatchObject({ ok: true });
  expect(w.lock("a", "more")).toMatchObject({ code: "too_many_locks" });
  expect(w.lock("b", "more")).toMatchObject({ ok: true });
});

it("bounds what one session may wait for, by the files that its requests name", () => {
  const [queuedPerSessionMax, each] = [50, 10];
  const w = new World(bounded({ queuedPerSessionMax }));
  const files = Array.from({ length: queuedPerSessionMax }, (_, i) => `f${i}`);
  w.lock("b", files.concat("one"));
  for (let at = 0; at < files.length; at += each) {
    expect(w.lock("a", files.slice(at, at + each))).toBe(waits);
  }
  expect(w.lock("a", "one")).toMatchObject({ code: "too_many_locks" });
  expect(w.lock("a", "free")).toMatchObject({ ok: true });
  expect(w.lock("c", "one")).toBe(waits);
  w.unlock("a", files.slice(0, each));
  expect(w.lock("a", "one")).toBe(waits);
});

it("writes and reads itself byte for byte", () => {
  const w = new World();
  w.begin("a", { anchor: { pid: 1, startTime: "2" } });
  w.lock("a", "x", { retry: { by: "a", requestId: "r", digest: "d" } });
  w.lock("b", "x", { kind: "turn", prompt: "p" });
  w.lock("c", "src/", { bound: { node: "n", epoch: 1, connection: 3 } });
  w.do({ type: "session_end", session: "c", incarnation: null, cause: "ended" });
  const text = writeState(w.state);
  expect(writeState(readState(text))).toBe(text);
});

describe("keys that are held", () => {
  it("held keys are those of a set, in its order, whatever comes and goes", () => {
    const all = Array.from({ length: 100 }, (_, n) => ({ key: `f${n}`, placeInRow: 0 }));
    const some = fc.array(fc.nat({ max: all.length - 1 }), { maxLength: 400, size: "max" });
    const same = fc.property(some, numbers => {
      const [keys, set] = [new HeldKeys(), new Set<string>()];
      for (const number of numbers) {
        const hold = all[number];
        if (hold === undefined) throw new Error(`there is no lock ${number}`);
        if (set.delete(hold.key)) keys.remove(hold);
        else {
          set.add(hold.key);
          keys.add(hold);
        }
        expect(keys.size).toBe(set.size);
        // A list with many gaps closes them: places stay below that.
        expect(hold.placeInRow).toBeLessThanOrEqual(2 * Math.max(set.size, 16) + 1);
      }
      expect([...keys]).toEqual([...set]);
      expect(keys.latest(5)).toEqual([...set].slice(-5));
    });
    fc.assert(same);
  });
});
