/** Commands of one actor: they exclude each other, unless one runs inside the other; its other requests pass. */

import { describe, expect, it } from "vitest";
import type { Actor, Bound } from "../../daemon/core/frame/actors.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, World, waits } from "./core-world.ts";

const of = (command: string, agent: string | null = null): Actor => ({
  session: "a",
  agent,
  incarnation: 0,
  command,
});
const waitMs = limits.waitMs;
const on = (connection: number, epoch = 1): Bound => ({ node: "n", epoch, connection });
const command = (w: World, who: Actor, files: string | readonly string[], connection = 1) =>
  w.lock(who, files, { waitMs, bound: on(connection) });
const edit = (w: World, who: string | Actor, files: string, flight = "use1") =>
  w.lock(who, files, { kind: "turn", flight, waitMs });
const holderOf = (w: World, file: string) => w.state.locks.holds.get(`n:/p/${file}`)?.actor ?? null;
const refusal = (reply: { readonly ok: boolean }) =>
  reply as { code?: string; error?: string; cycle?: unknown };

describe("two commands of one actor", () => {
  it("hold a file one after the other, and a release ends only its own", () => {
    const w = new World();
    expect(command(w, of("one"), "x", 1)).toMatchObject({ ok: true, token: "store.1.1" });
    expect(command(w, of("two"), "x", 2)).toBe(waits);
    const waiting = w.n;
    expect(refusal(w.unlock(of("three"), "x")).code).toBe("not_held");
    w.unlock(of("one"), "x");
    expect(w.answers.get(waiting)?.reply).toMatchObject({ ok: true, token: "store.1.2" });
    expect(holderOf(w, "x")).toEqual(of("two"));
    w.unlock(of("two"), "x");
    expect(w.state.locks.holds.size).toBe(0);
  });

  it("wait for a folder of the other, and for each of several files", () => {
    const w = new World();
    command(w, of("one"), "src/");
    expect(command(w, of("two"), ["b", "src/deep/a"], 2)).toBe(waits);
    expect(holderOf(w, "b")).toBeNull();
    w.unlock(of("one"), "src");
    expect([holderOf(w, "b"), holderOf(w, "src/deep/a")]).toEqual([of("two"), of("two")]);
  });

  it("keep the order among themselves and with other sessions", () => {
    const w = new World();
    w.lock("b", "x");
    command(w, of("one"), "x", 1);
    w.lock("c", "x", { waitMs });
    command(w, of("two"), "x", 2);
    const order: unknown[] = [];
    for (const who of ["b", of("one"), "c", of("two")]) {
      order.push(holderOf(w, "x"));
      w.unlock(who, "x");
    }
    expect(order).toEqual([actor("b"), of("one"), actor("c"), of("two")]);
  });

  it("do not fill the queue for each other", () => {
    const w = new World();
    for (const name of ["one", "two", "three", "four", "five", "six"]) command(w, of(name), "x");
    expect(w.state.locks.waiters.size).toBe(5);
  });

  it("are refused at once when they do not wait, in words that name no other session", () => {
    const w = new World();
    command(w, of("one"), "x");
    const reply = refusal(w.lock(of("two"), "x", { waitMs: 0 }));
    expect(reply.code).toBe("lock_held");
    expect(reply.error).toBe("another command of yours locked x; ask again with waitMs to wait for its end");
  });

  it("exclude each other over a lock of their actor, which gets it back", () => {
    const w = new World();
    const own = w.lock("a", "x");
    command(w, of("one"), "x", 1);
    expect(command(w, of("two"), "x", 2)).toBe(waits);
    w.unlock(of("one"), "x");
    expect(holderOf(w, "x")).toEqual(of("two"));
    w.unlock(of("two"), "x");
    expect(holderOf(w, "x")).toEqual(actor("a"));
    // The actor's own token was never another's.
    expect(w.lock("a", "x")).toMatchObject({ token: own.ok && own["token"] });
  });

  it("exclude those of the agents below, whose edits pass", () => {
    const w = new World();
    command(w, of("one"), "x", 1);
    const child = of("two", "child");
    expect(w.lock(child, "x", { waitMs, ancestors: [null] })).toBe(waits);
    w.unlock(child, "x");
    const below: Actor = { session: "a", agent: "child", incarnation: 0 };
    expect(w.lock(below, "x", { kind: "turn", ancestors: [null] })).toMatchObject({ ok: true });
    w.do({ type: "turn_end", actor: below, keepPrompt: null });
    expect(holderOf(w, "x")).toEqual(of("one"));
  });
});

describe("what passes a command of its actor", () => {
  it("is an edit, whose end leaves the command its lock", () => {
    const w = new World();
    command(w, of("one"), "x");
    expect(edit(w, "a", "x")).toMatchObject({ ok: true });
    expect(w.state.locks.holds.get("n:/p/x")).toMatchObject({ actor: of("one"), flights: ["use1"] });
    w.do({ type: "flight_end", actor: actor("a"), flight: "use1", wrote: true });
    expect(w.state.locks.holds.get("n:/p/x")).toMatchObject({ actor: of("one"), flights: [] });
    w.do({ type: "turn_end", actor: actor("a"), keepPrompt: null });
    expect(holderOf(w, "x")).toEqual(of("one"));
  });

  it("is a command that takes over a file while the actor's own write is in flight", () => {
    const w = new World();
    edit(w, "a", "x");
    expect(command(w, of("one"), "x")).toMatchObject({ ok: true });
    expect(w.state.locks.holds.get("n:/p/x")?.flights).toEqual(["use1"]);
    w.do({ type: "flight_end", actor: actor("a"), flight: "use1", wrote: true });
    expect(w.state.locks.holds.get("n:/p/x")?.flights).toEqual([]);
  });

  it("is a lock of the actor, which outlasts the command and is not bound as it is", () => {
    const w = new World();
    command(w, of("one"), "x", 1);
    const reply = w.lock("a", "x");
    expect(reply).toMatchObject({ ok: true });
    expect(holderOf(w, "x")).toEqual(of("one"));
    expect(command(w, of("two"), "x", 2)).toBe(waits);
    w.do({ type: "lock_unbind", bound: on(1) });
    w.do({ type: "lock_unbind", bound: on(2) });
    expect(holderOf(w, "x")).toEqual(actor("a"));
    expect(w.lock("a", "x")).toMatchObject({ token: reply.ok && reply["token"] });
  });

  it("is an edit while a command of its actor waits, in which case it waits by itself", () => {
    const w = new World();
    w.lock("b", "x");
    command(w, of("one"), "x");
    expect(edit(w, "a", "x")).toBe(waits);
    const edited = w.n;
    w.unlock("b", "x");
    expect(w.answers.get(edited)?.reply).toMatchObject({ ok: true });
    expect(holderOf(w, "x")).toEqual(of("one"));
  });

  it("is a command inside it, which gives the lock back and leaves it when it goes", () => {
    const w = new World();
    const outer = command(w, of("one"), "x", 1);
    expect(command(w, of("one/in"), "x", 2)).toMatchObject({ ok: true });
    expect(command(w, of("one/in/deep"), "x", 3)).toMatchObject({ ok: true });
    // Another one inside the outer waits for the first.
    expect(command(w, of("one/too"), "x", 4)).toBe(waits);
    w.do({ type: "lock_unbind", bound: on(3) });
    expect(holderOf(w, "x")).toEqual(of("one/in"));
    w.unlock(of("one/in"), "x");
    expect(holderOf(w, "x")).toEqual(of("one/too"));
    w.unlock(of("one/too"), "x");
    expect(holderOf(w, "x")).toEqual(of("one"));
    // A connection that comes back asks again: it is told that the lock was never another's.
    expect(command(w, of("one"), "x", 5)).toMatchObject({ token: outer.ok && outer["token"] });
  });
});

describe("waits between commands of one actor", () => {
  it("are refused if they wait crosswise, with the cycle in words", () => {
    const w = new World();
    command(w, of("one"), "x", 1);
    command(w, of("two"), "y", 2);
    expect(command(w, of("one/in"), "y", 3)).toBe(waits);
    const reply = refusal(command(w, of("two/in"), "x", 4));
    expect(reply.code).toBe("lock_deadlock");
    expect(reply.error).toBe(
      "deadlock: a command of a waits for x behind a command of a, a command of a waits for y behind a command of a; release what you hold first",
    );
  });

  it("are no deadlock while the one ahead runs and waits for nobody", () => {
    const w = new World();
    command(w, of("one"), "x", 1);
    w.lock("b", "y");
    expect(command(w, of("two"), "y", 2)).toBe(waits);
    // b waits for one, which goes on: two alone waits for b.
    expect(w.lock("b", "x", { waitMs })).toBe(waits);
  });

  it("hold up their actor: what waits for a lock of it waits for them", () => {
    const w = new World();
    w.lock("a", "x");
    w.lock("b", "y");
    expect(command(w, of("one"), "y")).toBe(waits);
    expect(refusal(w.lock("b", "x", { waitMs })).code).toBe("lock_deadlock");
    const other = new World();
    other.lock("a", "x");
    other.lock("b", "y");
    expect(other.lock("b", "x", { waitMs })).toBe(waits);
    expect(refusal(command(other, of("one"), "y")).code).toBe("lock_deadlock");
  });

  it("make turn locks of their actor yield at once", () => {
    const w = new World();
    w.lock("b", "y");
    w.lock("a", "x", { kind: "turn" });
    command(w, of("one"), "y");
    expect(w.lock("b", "x", { kind: "turn", waitMs })).toBe(waits);
    w.pass(1);
    expect(w.holder("x")).toBe("b");
  });
});

describe("what ends for an actor ends for its commands", () => {
  const held = () => {
    const w = new World();
    w.begin("a", { anchor: { pid: 10, startTime: "t" } });
    command(w, of("one"), "x", 1);
    command(w, of("one/in"), "x", 2);
    command(w, of("two"), "y", 3);
    return w;
  };

  it.each([
    ["an unlock of all", (w: World) => w.unlock("a", "all")],
    ["an unlock by a client that names no command", (w: World) => w.unlock("a", ["x", "y"])],
    [
      "the end of its session",
      (w: World) => w.do({ type: "session_end", session: "a", incarnation: null, cause: "ended" }),
    ],
  ])("%s", (_, ends) => {
    const w = held();
    expect(ends(w)).toMatchObject({ ok: true });
    expect(w.state.locks.holds.size).toBe(0);
    expect(w.state.locks.actors.byKey.size).toBe(0);
  });

  it("an unlock of the actor's own lock leaves a command the file", () => {
    const w = new World();
    w.lock("a", "x");
    command(w, of("one"), "x");
    w.unlock("a", "x");
    expect(holderOf(w, "x")).toEqual(of("one"));
    w.unlock(of("one"), "x");
    expect(w.state.locks.holds.size).toBe(0);
  });

  it("and goes on with a process that goes on under another id", () => {
    const w = held();
    w.lock("a", "y");
    w.do({ type: "session_suspend", session: "a" });
    const anchor = { pid: 10, startTime: "t" };
    w.begin("b", { anchor });
    expect([holderOf(w, "x"), holderOf(w, "y")].map(one => one?.session)).toEqual(["b", "b"]);
    w.do({ type: "lock_unbind", bound: on(2) });
    w.do({ type: "lock_unbind", bound: on(3) });
    expect([holderOf(w, "x"), holderOf(w, "y")]).toEqual([{ ...of("one"), session: "b" }, actor("b")]);
  });
});

describe("a daemon that starts anew", () => {
  it("reads commands and their loans from a snapshot, and takes back those that return", () => {
    const w = new World();
    const first = command(w, of("one"), "x", 1);
    command(w, of("one/in"), "x", 2);
    const text = writeState(w.state);
    expect(writeState(readState(text))).toBe(text);
    const next = new World(readState(text));
    next.now = w.now;
    expect(command(next, of("one"), "x", 1)).toMatchObject({ token: first.ok && first["token"] });
    next.lock(of("one/in"), "x", { bound: on(2, next.epoch) });
    next.lock(of("one"), "x", { bound: on(1, next.epoch) });
    next.pass(limits.boundGraceMs + 1);
    expect(holderOf(next, "x")).toEqual(of("one/in"));
    next.unlock(of("one/in"), "x");
    expect(holderOf(next, "x")).toEqual(of("one"));
  });
});
