/** Explicit locks that descendants use: bound to a connection, several deep, given up meanwhile, unlocked by force. */

import { describe, expect, it } from "vitest";
import type { Actor, Bound } from "../../daemon/core/frame/actors.ts";
import { check } from "../../daemon/core/slices.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { LockRequest } from "../../daemon/core/tables/locks.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, World, waits } from "./core-world.ts";

const s1: Actor = { session: "a", agent: "s1", incarnation: 0 };
const s2: Actor = { session: "a", agent: "s2", incarnation: 0 };
const s3: Actor = { session: "a", agent: "s3", incarnation: 0 };
const under: Readonly<Record<string, Pick<LockRequest, "ancestors">>> = {
  s1: { ancestors: [null] },
  s2: { ancestors: [null, "s1"] },
  s3: { ancestors: [null, "s1", "s2"] },
};

const on = (epoch: number, connection: number): Bound => ({ node: "n", epoch, connection });
const unbind = (w: World, bound: Bound) => w.do({ type: "lock_unbind", bound });
const turnEnds = (w: World, who: Actor) => w.do({ type: "turn_end", actor: who, keepPrompt: null });
const lock = (w: World, who: Actor, more: Partial<LockRequest> = {}) =>
  w.lock(who, "x", { ...under[who.agent ?? ""], ...more });
const edit = (w: World, who: Actor, more: Partial<LockRequest> = {}) =>
  lock(w, who, { kind: "turn", waitMs: limits.hookWaitMs, placeMs: limits.placeMs, ...more });
const revoke = (w: World) =>
  w.step({ type: "lock_revoke", by: "a person", files: [{ file: "x", lexical: "/p/x", key: "n:/p/x" }] });
const lenders = (w: World) => {
  const found: (string | null)[] = [];
  for (let loan = w.state.locks.holds.get("n:/p/x")?.loan ?? null; loan !== null; loan = loan.loan)
    found.push(loan.actor.agent);
  return found;
};

/** a locked x explicitly, s1 below it did, s2 below that, and s3 below that edits it. */
function threeDeep(): World {
  const w = new World();
  lock(w, actor("a"));
  lock(w, s1);
  lock(w, s2);
  edit(w, s3);
  expect([w.holder("x"), lenders(w)]).toEqual(["a/s3", ["s2", "s1", null]]);
  return w;
}

describe("a lock that is lent three deep", () => {
  it("comes back one by one, and every token that was told stays good", () => {
    const w = new World();
    const tokens = [lock(w, actor("a")), lock(w, s1), lock(w, s2)].map(reply => reply.ok && reply["token"]);
    edit(w, s3);
    const firsts: string[] = [];
    for (const who of [s3, s2, s1]) {
      turnEnds(w, who);
      const first = w.state.locks.holds.get("n:/p/x")?.first;
      firsts.push(`${w.holder("x")} store.${first?.epoch}.${first?.grant}`);
    }
    expect(firsts).toEqual([`a/s2 ${tokens[2]}`, `a/s1 ${tokens[1]}`, `a ${tokens[0]}`]);
    w.unlock("a", "x");
    expect(w.state.locks.holds.size).toBe(0);
  });

  it.each([
    ["its first lender", actor("a"), ["s2", "s1"], ["a/s2", "a/s1", "a/s1"]],
    ["one in between", s1, ["s2", null], ["a/s2", "a", "a"]],
    ["its last lender", s2, ["s1", null], ["a/s1", "a/s1", "a"]],
  ])("and given up by %s, passes that one over on its way back", (_, who, left, way) => {
    const w = threeDeep();
    expect(w.unlock(who, "x")).toEqual({ ok: true, released: ["x"] });
    expect(lenders(w)).toEqual(left);
    expect(w.unlock(who, "x")).toMatchObject({ code: "not_held" });
    expect(
      [s3, s2, s1].map(ends => {
        turnEnds(w, ends);
        return w.holder("x");
      }),
    ).toEqual(way);
  });

  it("and given up by all of them, is free when who uses it is done", () => {
    const w = threeDeep();
    for (const who of [actor("a"), s1, s2])
      expect(w.unlock(who, "all")).toEqual({ ok: true, released: ["x"] });
    lock(w, actor("b"));
    turnEnds(w, s3);
    expect(w.holder("x")).toBe("b");
  });

  it("does not come back to one whose turn has ended meanwhile, but to whose lock it is", () => {
    const w = threeDeep();
    turnEnds(w, s1);
    expect(lenders(w)).toEqual(["s2", null]);
    turnEnds(w, s2);
    expect(lenders(w)).toEqual([null]);
    turnEnds(w, s3);
    expect(w.holder("x")).toBe("a");
  });

  it("stays a subagent's own where it borrowed it from nobody: its turn does not end that", () => {
    const w = new World();
    lock(w, s1);
    edit(w, s2);
    turnEnds(w, s1);
    turnEnds(w, s2);
    expect(w.holder("x")).toBe("a/s1");
  });

  it("is gone for all of them by force, and each of them is told", () => {
    const w = threeDeep();
    const { reply, events } = revoke(w);
    expect(reply).toEqual({ ok: true, released: ["x"] });
    expect(w.state.locks.holds.size).toBe(0);
    const told = events.flatMap(({ event }) => (event.event === "lock_revoked" ? [event.holder.agent] : []));
    expect(told).toEqual(["s3", "s2", "s1", null]);
    expect(events.filter(({ event }) => event.event === "lock_revoked").map(e => e.about)).toEqual(
      Array.from({ length: 4 }, () => ["a"]),
    );
    for (const who of [actor("a"), s1, s2, s3]) turnEnds(w, who);
    expect(w.state.locks.holds.size).toBe(0);
  });

  it("reads back as it was written", () => {
    const w = threeDeep();
    const text = writeState(w.state);
    expect(writeState(readState(text))).toBe(text);
  });
});

describe("a lent lock that is bound to a connection", () => {
  it("does not come back where its lender's connection has closed", () => {
    const w = new World();
    lock(w, actor("a"), { bound: on(1, 7) });
    edit(w, s1);
    unbind(w, on(1, 7));
    expect([w.holder("x"), lenders(w)]).toEqual(["a/s1", []]);
    turnEnds(w, s1);
    expect(w.holder("x")).toBeNull();
  });

  it("comes back to its lender, bound as it was, and goes with that connection", () => {
    const w = new World();
    lock(w, actor("a"), { bound: on(1, 7) });
    lock(w, s1, { bound: on(1, 8) });
    unbind(w, on(1, 8));
    expect(w.holder("x")).toBe("a");
    unbind(w, on(1, 8));
    expect(w.holder("x")).toBe("a");
    unbind(w, on(1, 7));
    expect(w.holder("x")).toBeNull();
  });

  it("goes with the one connection that all of them share", () => {
    const w = new World();
    lock(w, actor("a"), { bound: on(1, 7) });
    lock(w, s1, { bound: on(1, 7) });
    lock(w, s2);
    lock(w, s3, { bound: on(1, 7) });
    unbind(w, on(1, 7));
    expect([w.holder("x"), lenders(w)]).toEqual(["a/s2", []]);
    w.unlock(s2, "x");
    expect(w.holder("x")).toBeNull();
  });

  it("lets whoever waits for it have it once who uses it is done", () => {
    const w = new World();
    lock(w, actor("a"), { bound: on(1, 7) });
    edit(w, s1);
    expect(lock(w, actor("b"))).toBe(waits);
    const b = w.n;
    unbind(w, on(1, 7));
    w.pass(limits.yieldMs);
    expect(w.answers.get(b)).toMatchObject({ grant: true });
  });

  it("does not come back after a restart to one whose client stays away", () => {
    const w = new World();
    lock(w, actor("a"), { bound: on(1, 7) });
    edit(w, s1);
    w.start();
    w.pass(limits.boundGraceMs - 1);
    expect(lenders(w)).toEqual([null]);
    w.pass(1);
    expect(lenders(w)).toEqual([]);
    turnEnds(w, s1);
    expect(w.holder("x")).toBeNull();
  });

  it("that comes back within the grace ends with it all the same where the client stays away", () => {
    const w = new World();
    lock(w, actor("a"), { bound: on(1, 7) });
    edit(w, s1);
    w.start();
    w.pass(5000);
    turnEnds(w, s1);
    expect(w.holder("x")).toBe("a");
    w.pass(limits.boundGraceMs - 5000);
    expect(w.holder("x")).toBeNull();
  });

  it("that came back within the grace stays where its client does, too", () => {
    const w = new World();
    lock(w, actor("a"), { bound: on(1, 7) });
    edit(w, s1);
    w.start();
    turnEnds(w, s1);
    lock(w, actor("a"), { bound: on(2, 1) });
    w.pass(limits.boundGraceMs);
    expect(w.holder("x")).toBe("a");
  });

  it("is not touched by the start of another node's daemon", () => {
    const w = new World();
    lock(w, actor("a"), { bound: on(1, 7) });
    edit(w, s1);
    w.node = "m";
    w.start();
    w.start();
    w.pass(limits.boundGraceMs);
    turnEnds(w, s1);
    expect(w.holder("x")).toBe("a");
  });

  it("is not told as held to a retry, once its connection has closed", () => {
    const w = new World();
    const retry = { by: "a", requestId: "r", digest: "d" };
    lock(w, actor("a"), { bound: on(1, 7), retry });
    edit(w, s1);
    unbind(w, on(1, 7));
    turnEnds(w, s1);
    expect(lock(w, actor("a"), { bound: on(1, 8), retry })).toMatchObject({ ok: true });
    expect(w.holder("x")).toBe("a");
  });
});

describe("a lent lock", () => {
  it("that passes on from one that edits it to the next comes back to its lender past the first", () => {
    const w = new World();
    lock(w, actor("a"));
    edit(w, s1);
    edit(w, s2);
    expect([w.holder("x"), lenders(w)]).toEqual(["a/s2", [null]]);
    turnEnds(w, s1);
    expect(w.holder("x")).toBe("a/s2");
    turnEnds(w, s2);
    expect(w.holder("x")).toBe("a");
  });

  it("that its lender never heard of does not come back to it", () => {
    const w = new World();
    lock(w, actor("a"));
    const granted = w.n;
    edit(w, s1);
    const keys = ["n:/p/x"];
    w.do({ type: "lock_undelivered", waiter: w.origin(granted), actor: actor("a"), keys });
    turnEnds(w, s1);
    expect(w.holder("x")).toBeNull();
  });

  it("that its lender asked for again before it was lent comes back, whatever became of the first answer", () => {
    const w = new World();
    lock(w, actor("a"));
    const granted = w.n;
    lock(w, actor("a"));
    edit(w, s1);
    const keys = ["n:/p/x"];
    w.do({ type: "lock_undelivered", waiter: w.origin(granted), actor: actor("a"), keys });
    turnEnds(w, s1);
    expect(w.holder("x")).toBe("a");
  });

  it("whose borrower did not hear of it comes back at once", () => {
    const w = new World();
    lock(w, actor("a"));
    edit(w, s1);
    w.do({ type: "lock_undelivered", waiter: w.origin(w.n), actor: s1, keys: ["n:/p/x"] });
    expect(w.holder("x")).toBe("a");
  });

  it("is refused to its lender who does not wait, and it is told that its own agent uses it", () => {
    const w = new World();
    w.begin("a");
    w.do({ type: "agent_begin", session: "a", agent: "s1", name: "Explore" });
    lock(w, actor("a"));
    edit(w, s1);
    expect(lock(w, actor("a"), { waitMs: 0 })).toMatchObject({
      code: "lock_held",
      error: "your agent a/Explore is using x and will return it to you; ask again with waitMs to wait",
      lent: true,
      locked_by: "a",
      locked_by_agent: "s1",
    });
    expect(lock(w, s2, { waitMs: 0, ancestors: [null] })).not.toHaveProperty("lent");
    expect(lock(w, actor("b"), { waitMs: 0 })).not.toHaveProperty("lent");
  });

  it("is waited for by its lender, however many others wait", () => {
    const w = new World();
    lock(w, actor("a"));
    edit(w, s1);
    for (const other of ["b", "c"]) lock(w, actor(other), { depth: 2 });
    expect(lock(w, actor("d"), { depth: 2 })).toMatchObject({ code: "lock_queue_full" });
    expect(lock(w, actor("a"), { depth: 2 })).toBe(waits);
    turnEnds(w, s1);
    expect(w.holder("x")).toBe("a");
  });

  it("comes back with its borrower's lease, and does not yield before", () => {
    const w = new World();
    lock(w, actor("a"));
    edit(w, s1);
    expect(lock(w, actor("b"), { waitMs: limits.waitMaxMs })).toBe(waits);
    w.pass(limits.turnLeaseMs - 1);
    expect(w.holder("x")).toBe("a/s1");
    w.pass(1);
    expect(w.holder("x")).toBe("a");
  });

  it("comes back to the same process after /clear", () => {
    const w = new World();
    const anchor = { pid: 1, startTime: "1" };
    w.begin("a", { anchor });
    lock(w, actor("a"));
    edit(w, s1);
    w.do({ type: "session_suspend", session: "a" });
    w.begin("a2", { anchor });
    expect(w.holder("x")).toBe("a2");
  });

  it("ends with the terminal it was taken in, and not with another one of the session", () => {
    const w = new World();
    w.begin("a", { anchor: { pid: 1, startTime: "1" } });
    w.begin("a", { anchor: { pid: 2, startTime: "2" } });
    lock(w, actor("a"));
    edit(w, s1);
    w.do({ type: "session_end", session: "a", incarnation: 1, cause: "anchor_gone" });
    expect(w.holder("x")).toBe("a/s1");
    turnEnds(w, s1);
    expect(w.holder("x")).toBe("a");
  });
});

it("what a lost session lent goes with its own locks, however deep", () => {
  const w = new World();
  w.begin("a");
  lock(w, actor("a"));
  lock(w, s1);
  lock(w, s2);
  edit(w, s3);
  const begun = w.state.sessions.live.get("a")?.begun ?? 0;
  w.do({ type: "session_lost", session: "a", begun });
  w.pass(limits.explicitLeaseMs);
  expect(w.state.sessions.live.get("a")?.lostAt).not.toBeNull();
  expect(w.holder("x")).toBeNull();
});

it("what agents lent of a suspended session does not come back to them", () => {
  const w = new World();
  w.begin("a", { anchor: { pid: 1, startTime: "1" } });
  lock(w, actor("a"));
  lock(w, s1);
  lock(w, s2);
  w.do({ type: "session_suspend", session: "a" });
  expect([w.holder("x"), lenders(w)]).toEqual(["a", []]);
});

describe("a lock that passes on and comes back", () => {
  it("comes last each time, also in a snapshot", () => {
    const w = threeDeep();
    w.lock("a", "later");
    const order = () => [...w.state.locks.holds.values()].map(({ file, place }) => `${place} ${file}`);
    expect(order()).toEqual(["4 x", "5 later"]);
    turnEnds(w, s3);
    expect(order()).toEqual(["5 later", "6 x"]);
    const text = writeState(w.state);
    expect(writeState(readState(text))).toBe(text);
    turnEnds(w, s2);
    turnEnds(w, s1);
    expect(order()).toEqual(["5 later", "8 x"]);
  });

  it("has the place of the one before it, read from a snapshot that put it last and has no places", () => {
    const w = new World();
    for (const file of ["x", "y", "z"]) w.lock("a", file);
    const [head = "", ...lines] = writeState(w.state).split("\n");
    const old = lines.map(line => {
      const { holds, ...lists } = JSON.parse(line);
      return JSON.stringify(holds === undefined ? lists : { holds: [...holds.slice(1), holds[0]] });
    });
    const read = readState([head, ...old]);
    expect([...read.locks.holds.values()].map(({ place }) => place)).toEqual([2, 3, 3]);
    expect(check(read)).toEqual([]);
  });
});
