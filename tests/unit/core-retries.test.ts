/** What a retry is told, also of a lock that is bound to a connection. */
import { describe, expect, it } from "vitest";
import { allDue } from "../../daemon/core/apply.ts";
import type { Bound } from "../../daemon/core/frame/actors.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { LockRequest } from "../../daemon/core/tables/locks.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, bounded, World, waits } from "./core-world.ts";

// What a retry is told: the answer that its client may have read, and never one that nobody can have.

const retry = { by: "a", requestId: "r", digest: "d" };

/** `b` holds x, and `a` waits for it; returns the number of a's request. */
function waiting(w: World, more: Partial<LockRequest> = {}): number {
  w.lock("b", "x");
  expect(w.lock("a", "x", { retry, ...more })).toBe(waits);
  return w.n;
}

const keys = ["n:/p/x"];

describe("a wait that ended with its connection", () => {
  it("is taken up anew by its retry", () => {
    const w = new World();
    const first = waiting(w);
    w.do({ type: "lock_detach", waiter: w.origin(first), kept: retry });
    expect(w.state.locks.waiters.size).toBe(0);
    expect(w.lock("a", "x", { retry })).toBe(waits);
    const again = w.n;
    w.unlock("b", "x");
    expect(w.answers.get(again)).toMatchObject({ grant: true });
  });

  it("is told of as ended to whoever watches, and to nobody else", () => {
    const w = new World();
    const first = waiting(w);
    const step = w.step({ type: "lock_detach", waiter: w.origin(first) });
    expect(step.events.map(e => e.event)).toMatchObject([
      { event: "lock_wait_ended", cause: "disconnected" },
    ]);
    expect([step.answers, w.state.replies.size]).toEqual([[], 0]);
  });

  it.each([
    ["its time was over", (w: World) => w.pass(30_000)],
    ["its turn ended", (w: World) => w.do({ type: "turn_end", actor: actor("a"), keepPrompt: null })],
    ["it was granted", (w: World) => w.unlock("b", "x")],
  ])("is taken up anew although, before that was known, %s", (_, answered) => {
    const w = new World();
    const first = waiting(w, { kind: "turn" });
    answered(w);
    expect(w.state.replies.size).toBe(1);
    const granted = w.answers.get(first)?.grant === true;
    w.do({ type: "lock_detach", waiter: w.origin(first), kept: retry });
    expect(w.state.replies.size).toBe(0);
    if (granted) w.do({ type: "lock_undelivered", waiter: w.origin(first), actor: actor("a"), keys });
    w.lock("b", "x");
    expect(w.lock("a", "x", { retry, kind: "turn" })).toBe(waits);
  });

  it("keeps no answer where its place outlived it and was given up then", () => {
    const w = new World();
    const first = waiting(w, { detach: true });
    w.do({ type: "lock_detach", waiter: w.origin(first), kept: retry });
    w.unlock("a", "x");
    expect(w.state.replies.size).toBe(0);
    expect(w.lock("a", "x", { retry })).toBe(waits);
  });

  it("keeps the answer that was read, where the place outlived it", () => {
    const w = new World();
    waiting(w, { kind: "turn", placeMs: limits.placeMs });
    w.pass(30_000);
    w.do({ type: "turn_end", actor: actor("a"), keepPrompt: null });
    expect(w.lock("a", "x", { retry, kind: "turn", placeMs: limits.placeMs })).toMatchObject({
      code: "lock_timeout",
    });
  });
});

describe("a grant that nobody heard of", () => {
  it("is granted anew, even where the lock had ended before that was known", () => {
    const w = new World();
    expect(w.lock("a", "x", { retry })).toMatchObject({ token: "store.1.1" });
    const first = w.n;
    w.do({ type: "lock_revoke", by: "someone", files: [{ file: "x", lexical: "/p/x", key: "n:/p/x" }] });
    w.do({ type: "lock_undelivered", waiter: w.origin(first), actor: actor("a"), keys, kept: retry });
    expect(w.lock("a", "x", { retry })).toMatchObject({ token: "store.1.2" });
    expect(w.holder("x")).toBe("a");
  });

  it("stays where its retry was answered meanwhile", () => {
    const w = new World();
    const reply = w.lock("a", "x", { retry });
    const first = w.n;
    expect(w.lock("a", "x", { retry })).toEqual(reply);
    w.do({ type: "lock_undelivered", waiter: w.origin(first), actor: actor("a"), keys, kept: retry });
    expect(w.holder("x")).toBe("a");
    expect(w.lock("a", "x", { retry })).toEqual(reply);
  });
});

it("a grant that is told again leaves its hold of the kind it is", () => {
  const w = new World();
  const granted = w.lock("a", "x", { retry, kind: "turn" });
  const kind = () => w.state.locks.holds.get("n:/p/x")?.kind;
  const before = kind();
  expect(w.lock("a", "x", { retry, kind: "explicit" })).toEqual(granted);
  expect([before, kind()]).toEqual(["turn", "turn"]);
});

describe("a lock bound to its connection", () => {
  const on = (epoch: number, connection: number): Bound => ({ node: "n", epoch, connection });

  it("that ended with it is not told to a retry as held", () => {
    const w = new World();
    w.lock("a", "x", { retry, bound: on(1, 7) });
    w.do({ type: "lock_unbind", bound: on(1, 7) });
    expect(w.lock("a", "x", { retry, bound: on(1, 8) })).toMatchObject({ token: "store.1.2" });
    expect(w.holder("x")).toBe("a");
  });

  it("that was asked for again is not told as held to a retry of that", () => {
    const w = new World();
    const later = { ...retry, requestId: "later" };
    w.lock("a", "x", { retry, bound: on(1, 7) });
    w.lock("a", "x", { retry: later, bound: on(1, 8) });
    w.do({ type: "lock_unbind", bound: on(1, 8) });
    expect(w.lock("a", "x", { retry: later, bound: on(1, 9) })).toMatchObject({ token: "store.1.2" });
    expect(w.holder("x")).toBe("a");
  });

  it("is bound to the connection of its retry, after a restart and without", () => {
    const w = new World();
    const reply = w.lock("a", "x", { retry, bound: on(1, 7) });
    expect(w.lock("a", "x", { retry, bound: on(1, 8) })).toEqual(reply);
    w.do({ type: "lock_unbind", bound: on(1, 7) });
    expect(w.holder("x")).toBe("a");
    w.start();
    expect(w.lock("a", "x", { retry, bound: on(2, 1) })).toEqual(reply);
    w.pass(limits.boundGraceMs);
    expect(w.holder("x")).toBe("a");
    w.do({ type: "lock_unbind", bound: on(2, 1) });
    expect(w.holder("x")).toBeNull();
  });

  it("is not told as held to a retry that came too late after a restart", () => {
    const w = new World();
    w.lock("a", "x", { retry, bound: on(1, 7) });
    w.start();
    w.pass(limits.boundGraceMs);
    w.lock("b", "x");
    expect(w.lock("a", "x", { retry, bound: on(2, 1), waitMs: 0 })).toMatchObject({ code: "lock_held" });
  });

  it("given back by its holder is not taken again by a retry of what took it", () => {
    const w = new World();
    const reply = w.lock("a", "x", { retry, bound: on(1, 7) });
    w.unlock("a", "x");
    w.do({ type: "lock_unbind", bound: on(1, 7) });
    expect(w.lock("a", "x", { retry, bound: on(1, 8) })).toEqual(reply);
    expect(w.holder("x")).toBeNull();
  });
});

describe("a retry of what was granted", () => {
  const x = (dir: boolean) => [{ file: "x", lexical: "/p/x", key: "n:/p/x", dir }];

  it("does not lock the folder that stands there by now", () => {
    const w = new World();
    const reply = w.lock("a", "x", { retry, files: x(false) });
    w.lock("b", "x/y");
    expect(w.lock("a", "x", { retry, files: x(true) })).toEqual(reply);
    expect(w.state.locks.holds.get("n:/p/x")?.dir).toBe(false);
    expect(w.lock("a", "x/y", { waitMs: 0 })).toMatchObject({ code: "lock_held" });
    expect(w.lock("c", "x/z", { waitMs: 0 })).toMatchObject({ ok: true });
  });
});

describe("a refusal", () => {
  it("that was heard is given again", () => {
    const w = new World();
    w.lock("b", "x");
    const first = w.lock("a", "x", { retry, waitMs: 0 });
    w.unlock("b", "x");
    expect(w.lock("a", "x", { retry, waitMs: 0 })).toEqual(first);
  });

  it("that was not heard is not", () => {
    const w = new World();
    w.lock("b", "x");
    w.lock("a", "x", { retry, waitMs: 0 });
    const first = w.n;
    w.unlock("b", "x");
    w.do({ type: "reply_unheard", to: w.origin(first), kept: retry });
    expect(w.lock("a", "x", { retry, waitMs: 0 })).toMatchObject({ ok: true });
  });

  it("that a later retry heard stays", () => {
    const w = new World();
    w.lock("b", "x");
    const refusal = w.lock("a", "x", { retry, waitMs: 0 });
    const first = w.n;
    w.lock("a", "x", { retry, waitMs: 0 });
    w.unlock("b", "x");
    w.do({ type: "reply_unheard", to: w.origin(first), kept: retry });
    expect(w.lock("a", "x", { retry, waitMs: 0 })).toEqual(refusal);
  });

  it("of before a restart is not given again: nobody knows whether it was heard", () => {
    const w = new World();
    w.lock("b", "x");
    w.lock("a", "x", { retry, waitMs: 0 });
    const other = { ...retry, requestId: "other" };
    const granted = w.lock("a", "y", { retry: other });
    w.unlock("b", "x");
    w.start();
    expect(w.lock("a", "x", { retry, waitMs: 0 })).toMatchObject({ ok: true });
    expect(w.lock("a", "y", { retry: other })).toEqual(granted);
  });

  it("is forgotten by a restart, a success is not: what it did is not done again", () => {
    const w = new World();
    const granted = w.lock("a", "x", { retry });
    w.unlock("a", "x");
    w.start();
    expect(w.lock("a", "x", { retry })).toEqual(granted);
    expect(w.holder("x")).toBeNull();
  });

  it("to another node's client outlives a start of this one", () => {
    const w = new World();
    w.lock("b", "x");
    w.node = "m";
    const first = w.lock("a", "x", { retry, waitMs: 0 });
    w.node = "n";
    w.unlock("b", "x");
    w.start();
    expect(w.lock("a", "x", { retry, waitMs: 0 })).toEqual(first);
  });
});

it("a success that was not heard is kept all the same: it is not carried out twice", () => {
  const w = new World();
  w.begin("a");
  const create = {
    type: "task_create",
    by: null,
    tasks: [{ name: null, description: "it", priority: "normal", labels: [], dependsOn: [] }],
    many: false,
    project: "/p",
    wallMs: 1,
    retry,
  } as const;
  const first = w.do(create);
  w.do({ type: "reply_unheard", to: w.origin(w.n), kept: retry });
  expect(w.do(create)).toEqual(first);
  expect(w.state.tasks.all.size).toBe(1);
});

it("to whom an answer went is remembered over a snapshot", () => {
  const w = new World();
  w.lock("a", "x", { retry });
  const text = writeState(w.state);
  expect(writeState(readState(text))).toBe(text);
  expect([...readState(text).replies.values()]).toMatchObject([{ to: w.origin(w.n) }]);
});

it("answers are kept for retries up to a bound on their length, the latest ones", () => {
  const repliesChars = 100_000;
  const w = new World(bounded({ repliesChars }));
  const many = Array.from({ length: 10 }, (_, i) => `${"x".repeat(200)}${i}`);
  let length = 0;
  let n = 0;
  for (; length < repliesChars + 10_000; n += 1) {
    const reply = w.lock("a", many, { retry: { by: "a", requestId: `r${n}`, digest: "d" } });
    length += JSON.stringify(reply).length;
  }
  expect(w.state.replyChars).toBeLessThanOrEqual(repliesChars);
  expect(w.state.replyChars).toBeGreaterThan(repliesChars / 2);
  expect(w.state.replies.has("a\nr0")).toBe(false);
  expect(w.state.replies.has(`a\nr${n - 1}`)).toBe(true);
});

// Locks that are bound to a connection, over a restart: who comes back in time keeps them, who does not loses them.

const on = (epoch: number, connection: number, node = "n"): Bound => ({ node, epoch, connection });
const grace = limits.boundGraceMs;

/** a's lock on x is bound to a connection, b waits for it, and the daemon began anew. */
function restarted(): World {
  const w = new World();
  w.lock("a", "x", { bound: on(1, 7) });
  w.lock("a", "free");
  w.start();
  expect(w.lock("b", "x", { waitMs: limits.waitMaxMs })).toBe(waits);
  return w;
}

const causes = (w: World) =>
  w.steps.flatMap(s =>
    s.events.flatMap(({ event }) => (event.event === "lock_released" ? [event.cause] : [])),
  );

describe("a lock bound to a connection of before a restart", () => {
  it("is its holder's for the whole of the grace, and no longer", () => {
    const w = restarted();
    const b = w.n;
    w.pass(grace - 1);
    expect([w.holder("x"), causes(w)]).toEqual(["a", []]);
    w.pass(1);
    expect([w.holder("x"), w.holder("free"), causes(w)]).toEqual(["b", "a", ["disconnected"]]);
    expect(w.answers.get(b)).toMatchObject({ grant: true });
  });

  it("stays where its client comes back in the last moment, under the token it has", () => {
    const w = restarted();
    w.pass(grace - 1);
    const again = w.lock("a", "x", { bound: on(2, 1), waitMs: 0 });
    expect(again).toMatchObject({ ok: true, token: "store.1.1" });
    w.pass(10 * grace);
    expect(w.holder("x")).toBe("a");
    w.do({ type: "lock_unbind", bound: on(1, 7) });
    expect(w.holder("x")).toBe("a");
    w.do({ type: "lock_unbind", bound: on(2, 1) });
    expect(w.holder("x")).toBe("b");
  });

  it("is not had again by who comes back a moment too late: another one has it", () => {
    const w = restarted();
    w.pass(grace);
    expect(w.lock("a", "x", { bound: on(2, 1), waitMs: 0 })).toMatchObject({ code: "lock_held" });
    w.pass(grace);
    expect(w.holder("x")).toBe("b");
  });

  it("stays where its client takes it again without a connection", () => {
    const w = restarted();
    w.lock("a", "x");
    w.pass(10 * grace);
    w.do({ type: "lock_unbind", bound: on(1, 7) });
    expect(w.holder("x")).toBe("a");
  });

  it("has a grace of its own after each restart", () => {
    const w = restarted();
    w.pass(grace - 1);
    w.start();
    w.pass(grace - 1);
    expect(w.holder("x")).toBe("a");
    w.pass(1);
    expect(w.holder("x")).not.toBe("a");
  });

  it("of the daemon that runs has no grace, and needs none", () => {
    const w = new World();
    w.start();
    w.lock("a", "x", { bound: on(2, 7) });
    w.pass(10 * grace);
    expect(w.holder("x")).toBe("a");
    w.do({ type: "lock_unbind", bound: on(2, 7) });
    expect(w.holder("x")).toBeNull();
  });

  it("of another node is that one's matter", () => {
    const w = new World();
    w.lock("a", "x", { bound: on(1, 7, "m") });
    w.start();
    w.pass(10 * grace);
    expect(w.holder("x")).toBe("a");
  });

  it("is not another one's that took the file meanwhile", () => {
    const w = new World();
    w.lock("a", "x", { bound: on(1, 7) });
    w.start();
    w.unlock("a", "x");
    w.lock("b", "x");
    w.pass(grace);
    expect(w.holder("x")).toBe("b");
  });

  it("ends in time too where the start was from a snapshot", () => {
    const w = new World();
    w.lock("a", "x", { bound: on(1, 7) });
    w.start();
    const due = allDue(readState(writeState(w.state))).filter(one => one.due.what === "bound_over");
    expect(due).toEqual([{ at: w.now + grace, due: { what: "bound_over", key: "n:/p/x", first: 1 } }]);
  });
});
