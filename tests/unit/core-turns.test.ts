/** Locks that last a turn, and that hooks alone never wait in a cycle. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import type { LockRequest } from "../../daemon/core/tables/locks.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, lockOf, World, waits } from "./core-world.ts";

const turn = { kind: "turn", depth: 16, waitMs: limits.hookWaitMs, placeMs: limits.placeMs } as const;
const one = { pid: 10, startTime: "100" };

function edit(
  w: World,
  who: string | Actor,
  file: string,
  flight: string | null = null,
  more: Partial<LockRequest> = {},
) {
  return w.lock(who, file, { ...turn, flight, ...more });
}

function sub(agent: string): Actor {
  return { session: "a", agent, incarnation: 0 };
}

function landed(w: World, who: string | Actor, flight: string | null, wrote = true) {
  return w.step({ type: "flight_end", actor: actor(who), flight, wrote });
}

describe("a turn hold", () => {
  it("yields to who waits when it was untouched for 15 seconds", () => {
    const w = new World();
    edit(w, "a", "x");
    w.pass(10_000);
    edit(w, "b", "x");
    const b = w.n;
    w.pass(4_999);
    expect(w.answers.get(b)).toBeUndefined();
    w.pass(1);
    expect(w.answers.get(b)).toMatchObject({ grant: true });
  });

  it("is touched by every edit, and stays as long as nobody waits", () => {
    const w = new World();
    edit(w, "a", "x");
    w.pass(60_000);
    expect(w.holder("x")).toBe("a");
    edit(w, "b", "x");
    edit(w, "a", "x");
    w.pass(14_999);
    expect(w.holder("x")).toBe("a");
    w.pass(1);
    expect(w.holder("x")).toBe("b");
  });

  it("yields at once while its holder waits itself, so that hooks alone never block each other for good", () => {
    const w = new World();
    edit(w, "a", "x");
    edit(w, "b", "y");
    expect(edit(w, "a", "y")).toBe(waits);
    const a = w.n;
    expect(edit(w, "b", "x")).toBe(waits);
    w.pass(0);
    expect([w.holder("x"), w.holder("y")]).toEqual(["b", "b"]);
    w.pass(15_000);
    expect(w.answers.get(a)).toMatchObject({ grant: true });
  });

  it("never yields when it is explicit", () => {
    const w = new World();
    w.lock("a", "x");
    edit(w, "b", "x");
    w.pass(40_000);
    expect(w.holder("x")).toBe("a");
  });
});

describe("a write in flight", () => {
  it("does not yield, however long a person takes to answer", () => {
    const w = new World();
    edit(w, "a", "x", "use1");
    for (let minute = 0; minute < 9; minute += 1) {
      edit(w, "b", "x", "use2");
      w.pass(60_000);
      expect(w.holder("x")).toBe("a");
    }
    landed(w, "a", "use1");
    edit(w, "b", "x", "use2");
    w.pass(0);
    expect(w.holder("x")).toBe("b");
  });

  it("loses its hold with the lease after eleven minutes, and both sides are told when it appears", () => {
    const w = new World();
    edit(w, "a", "x", "use1");
    w.pass(limits.turnLeaseMs - 20_000);
    edit(w, "b", "x", "use2");
    w.pass(60_000);
    expect(w.holder("x")).toBe("b");
    const step = landed(w, "a", "use1");
    expect(step.events).toMatchObject([
      {
        event: { event: "lost_update", path: "/p/x", writer: { id: "a" }, holder: { id: "b" } },
        about: ["a", "b"],
      },
    ]);
    expect(landed(w, "a", "use1").events).toEqual([]);
  });

  it("that is a single command's keeps others waiting no longer than commands last", () => {
    const w = new World();
    edit(w, "a", "index", "use1", { yieldMs: 0 });
    w.pass(limits.commandLeaseMs - 20_000);
    edit(w, "b", "index", "use2", { yieldMs: 0 });
    w.pass(19_999);
    expect(w.holder("index")).toBe("a");
    w.pass(1);
    expect(w.holder("index")).toBe("b");
  });

  it("is missed by nothing that came before its end and tells of no write", () => {
    const w = new World();
    edit(w, "a", "x", "use1");
    w.pass(limits.turnLeaseMs);
    edit(w, "b", "x", "use2");
    expect(landed(w, "a", "use1", false).events).toEqual([]);
    expect(landed(w, "a", "use1").events).toMatchObject([{ event: { event: "lost_update" } }]);
  });

  it("that was not written after all loses nothing", () => {
    const w = new World();
    edit(w, "a", "x", "use1");
    w.pass(limits.turnLeaseMs);
    expect(w.holder("x")).toBeNull();
    expect(landed(w, "a", "use1", false).events).toEqual([]);
  });

  it("has its lease renewed once when a person is asked", () => {
    const w = new World();
    edit(w, "a", "x", "use1");
    w.pass(300_000);
    w.do({ type: "lease_renew", actor: actor("a") });
    w.pass(limits.turnLeaseMs - 1);
    w.do({ type: "lease_renew", actor: actor("a") });
    expect(w.holder("x")).toBe("a");
    w.pass(1);
    expect(w.holder("x")).toBeNull();
  });

  it("is over with its actor's next write, and with its turn", () => {
    const w = new World();
    edit(w, "a", "x", "use1");
    edit(w, "a", "y", "use2");
    edit(w, "b", "x", "use3");
    w.pass(15_000);
    expect([w.holder("x"), w.holder("y")]).toEqual(["b", "a"]);
    edit(w, "b", "y", "use4");
    w.do({ type: "turn_end", actor: actor("a"), keepPrompt: null });
    expect(w.holder("y")).toBe("b");
  });

  it("counts as an edge of waits, another turn hold does not", () => {
    const w = new World();
    edit(w, "a", "x", "use1");
    w.lock("b", "y");
    w.lock("b", "x");
    expect(w.lock("a", "y")).toMatchObject({ code: "lock_deadlock" });
  });
});

describe("within a session", () => {
  const child = { ancestors: [null] };

  it("the main agent's hold passes to a subagent at once, past the line", () => {
    const w = new World();
    edit(w, "a", "x");
    edit(w, "b", "x");
    expect(edit(w, sub("s1"), "x", null, child)).toMatchObject({ ok: true });
    expect(w.holder("x")).toBe("a/s1");
    w.do({ type: "turn_end", actor: sub("s1"), keepPrompt: null });
    expect(w.holder("x")).toBe("b");
  });

  it("an explicit one comes back when the subagent's turn ends, and its token stays good", () => {
    const w = new World();
    w.lock("a", "x");
    edit(w, sub("s1"), "x", null, child);
    w.do({ type: "turn_end", actor: sub("s1"), keepPrompt: null });
    const hold = w.state.locks.holds.get("n:/p/x");
    expect(hold).toMatchObject({ kind: "explicit", actor: { agent: null }, first: { grant: 1 } });
    expect(hold?.token.grant).toBeGreaterThan(1);
    w.unlock("a", "x");
    expect(w.holder("x")).toBeNull();
  });

  it("an explicit one goes through two generations and back", () => {
    const w = new World();
    w.lock("a", "x");
    w.lock(sub("s1"), "x", { ancestors: [null] });
    edit(w, sub("s2"), "x", null, { ancestors: [null, "s1"] });
    expect(w.holder("x")).toBe("a/s2");
    w.do({ type: "turn_end", actor: sub("s2"), keepPrompt: null });
    expect(w.holder("x")).toBe("a/s1");
    w.do({ type: "turn_end", actor: sub("s1"), keepPrompt: null });
    expect(w.holder("x")).toBe("a");
  });

  it("what is in flight does not pass until it has landed", () => {
    const w = new World();
    edit(w, "a", "x", "use1");
    expect(edit(w, sub("s1"), "x", null, child)).toBe(waits);
    const n = w.n;
    landed(w, "a", "use1");
    expect(w.answers.get(n)).toMatchObject({ grant: true });
  });

  it("siblings and teammates contend like strangers", () => {
    const w = new World();
    edit(w, sub("s1"), "x", null, child);
    expect(edit(w, sub("s2"), "x", null, child)).toBe(waits);
    edit(w, "a", "y");
    expect(edit(w, sub("mate"), "y")).toBe(waits);
  });

  it("the lender can give up what a subagent uses: it does not come back", () => {
    const w = new World();
    w.lock("a", "x");
    edit(w, sub("s1"), "x", null, child);
    expect(w.unlock("a", "x")).toEqual({ ok: true, released: ["x"] });
    expect(w.holder("x")).toBe("a/s1");
    w.do({ type: "turn_end", actor: sub("s1"), keepPrompt: null });
    expect(w.holder("x")).toBeNull();
  });

  it("what the lender gave up yields like any turn hold", () => {
    const w = new World();
    w.lock("a", "x");
    edit(w, sub("s1"), "x", null, child);
    edit(w, "b", "x");
    w.pass(20_000);
    expect(w.holder("x")).toBe("a/s1");
    w.unlock("a", "x");
    w.pass(0);
    expect(w.holder("x")).toBe("b");
  });

  it("nothing comes back to a session that ends", () => {
    const w = new World();
    w.lock("a", "x");
    edit(w, sub("s1"), "x", null, child);
    w.do({ type: "session_end", session: "a", incarnation: null, cause: "ended" });
    expect(w.state.locks.holds.size).toBe(0);
  });
});

describe("a wait that a restart of the daemon interrupts", () => {
  function interrupted(): World {
    const w = new World();
    edit(w, "a", "x", "a1");
    expect(edit(w, "b", "x", "b1")).toBe(waits);
    w.pass(limits.hookWaitMs - 5_000);
    w.start();
    edit(w, "a", "x", "a2");
    return w;
  }

  it("ends when it would have ended, since its hook goes by its own clock", () => {
    const w = interrupted();
    w.pass(4_000);
    expect(edit(w, "b", "x", "b1")).toBe(waits);
    const b = w.n;
    w.pass(999);
    expect(w.answers.get(b)).toBeUndefined();
    w.pass(1);
    expect(w.answers.get(b)).toMatchObject({ reply: { ok: false, code: "lock_timeout" } });
  });

  it("is refused at once where it is over by then, and granted where the file is free", () => {
    const w = interrupted();
    w.pass(6_000);
    edit(w, "b", "x", "b1");
    w.pass(0);
    expect(w.answers.get(w.n - 1)).toMatchObject({ reply: { code: "lock_timeout" } });
    w.do({ type: "turn_end", actor: actor("a"), keepPrompt: null });
    expect(edit(w, "b", "x", "b1")).toMatchObject({ ok: true });
  });

  it("begins anew for the agent's next try", () => {
    const w = interrupted();
    expect(edit(w, "b", "x", "b2")).toBe(waits);
    const b = w.n;
    w.pass(limits.hookWaitMs - 1);
    expect(w.answers.get(b)).toBeUndefined();
    w.pass(1);
    expect(w.answers.get(b)).toMatchObject({ reply: { code: "lock_timeout" } });
  });
});

describe("/clear", () => {
  function cleared(): World {
    const w = new World();
    w.begin("a", { anchor: one, name: "alice" });
    w.lock("a", "kept");
    edit(w, "a", "turn");
    w.do({ type: "session_suspend", session: "a" });
    return w;
  }

  it("frees turn holds, and hands name and explicit locks to the same process's next session", () => {
    const w = cleared();
    expect([w.holder("turn"), w.holder("kept")]).toEqual([null, "a"]);
    expect(w.begin("b", { anchor: one })).toMatchObject({ name: "alice" });
    expect(w.holder("kept")).toBe("b");
    expect(w.state.sessions.live.has("a")).toBe(false);
  });

  it("ends the session when its process does not go on within ten seconds", () => {
    const w = cleared();
    w.pass(limits.suspendMs);
    expect(w.state.sessions.live.has("a")).toBe(false);
    expect(w.holder("kept")).toBeNull();
  });

  it("hands nothing to another process", () => {
    const w = cleared();
    w.begin("b", { anchor: { pid: 11, startTime: "100" } });
    expect(w.holder("kept")).toBe("a");
  });

  it("is forgotten when the same session goes on after all", () => {
    const w = cleared();
    w.begin("a", { anchor: one });
    w.pass(limits.suspendMs);
    expect(w.holder("kept")).toBe("a");
  });
});

describe("hooks", () => {
  /** What hooks propose, and nothing else: whatever order it comes in. */
  type Move =
    | { readonly move: "edit"; readonly who: number; readonly file: string; readonly flies: boolean }
    | { readonly move: "land" | "late" | "stop" | "prompt" | "ask" | "leave" | "end"; readonly who: number }
    | { readonly move: "pass"; readonly ms: number };

  const actors: readonly Actor[] = [
    { session: "a", agent: null, incarnation: 0 },
    { session: "a", agent: "child", incarnation: 0 },
    { session: "a", agent: "mate", incarnation: 0 },
    { session: "b", agent: null, incarnation: 0 },
    { session: "c", agent: null, incarnation: 0 },
  ];
  const who = fc.nat({ max: actors.length - 1 });
  const moves: fc.Arbitrary<Move> = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        move: fc.constant("edit" as const),
        who,
        file: fc.constantFrom("x", "y", "z"),
        flies: fc.boolean(),
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        move: fc.constantFrom("land", "late", "stop", "prompt", "ask", "leave", "end"),
        who,
      }),
    },
    { weight: 2, arbitrary: fc.record({ move: fc.constant("pass" as const), ms: fc.nat({ max: 70_000 }) }) },
  );

  /** Plays the moves as the hooks' daemon would; an actor with a write under way or in line asks for no other. */
  class Play {
    readonly world = new World();
    readonly seen = new Set<string>();
    readonly #waiting = new Map<number, { n: number }>();
    #uses = 0;

    constructor() {
      for (const id of ["a", "b", "c"])
        this.world.begin(id, { anchor: { pid: id.charCodeAt(0), startTime: "1" } });
    }

    do(move: Move): void {
      if (move.move === "pass") {
        this.world.pass(move.ms);
      } else if (move.move === "edit") {
        this.#edit(move);
      } else {
        const actor = actors[move.who];
        if (actor === undefined || !this.world.state.sessions.live.has(actor.session)) return;
        const command = this.#command(move.move, move.who, actor);
        if (command !== null) this.#step(command);
      }
      for (const [n, { reply }] of this.world.answers) {
        if (!reply.ok) this.seen.add(reply.code);
        for (const [index, waiting] of this.#waiting) if (waiting.n === n) this.#waiting.delete(index);
      }
    }

    #edit({ who: index, file, flies }: Extract<Move, { move: "edit" }>): void {
      const actor = actors[index];
      if (
        actor === undefined ||
        this.#waiting.has(index) ||
        !this.world.state.sessions.live.has(actor.session)
      )
        return;
      this.#uses += 1;
      const reply = this.#step(
        lockOf(actor, file, this.world.now, {
          kind: "turn",
          depth: limits.hookQueueDepth,
          waitMs: limits.hookWaitMs,
          placeMs: limits.placeMs,
          prompt: "p",
          flight: `use${this.#uses}`,
          ancestors: actor.agent === "child" ? [null] : [],
        }),
      );
      if (reply === null) this.#waiting.set(index, { n: this.world.n });
      // Told to read again first: nothing will be written.
      else if (!flies) this.#step({ type: "flight_end", actor, flight: `use${this.#uses}`, wrote: false });
    }

    #command(move: string, index: number, actor: Actor): Command | null {
      if (move === "land") return { type: "flight_end", actor, flight: null, wrote: true };
      if (move === "late") return { type: "flight_end", actor, flight: `use${this.#uses}`, wrote: true };
      if (move === "ask") return { type: "lease_renew", actor };
      if (move === "stop") return { type: "turn_end", actor, keepPrompt: null };
      if (move === "prompt") return { type: "turn_end", actor, keepPrompt: "p" };
      if (move === "end") return { type: "session_suspend", session: actor.session };
      const waiting = this.#waiting.get(index);
      if (waiting === undefined) return null;
      this.#waiting.delete(index);
      return { type: "lock_detach", waiter: this.world.origin(waiting.n) };
    }

    #step(command: Command) {
      const { reply } = this.world.step(command);
      if (reply !== null && !reply.ok) this.seen.add(reply.code);
      return reply;
    }
  }

  it("hooks alone never meet a cycle of waits, and every turn hold ends", () => {
    fc.assert(
      fc.property(fc.array(moves, { maxLength: 80 }), all => {
        const play = new Play();
        for (const move of all) play.do(move);
        expect([...play.seen]).not.toContain("lock_deadlock");
        play.world.pass(2 * limits.turnLeaseMs + limits.placeMs);
        expect(play.world.state.locks.holds.size).toBe(0);
        expect(play.world.state.locks.waiters.size).toBe(0);
      }),
      { numRuns: 3_000 },
    );
  });

  it("what may come late takes nothing and renews nothing", () => {
    fc.assert(
      fc.property(fc.array(moves, { maxLength: 40 }), who, fc.boolean(), (all, index, wrote) => {
        const play = new Play();
        for (const move of all) play.do(move);
        const { state } = play.world;
        const before = new Map([...state.locks.holds.values()].map(h => [h.key, { ...h }]));
        const actor = actors[index];
        if (actor === undefined) return;
        play.world.do({ type: "flight_end", actor, flight: null, wrote });
        for (const hold of state.locks.holds.values()) {
          const was = before.get(hold.key);
          // It may pass to who waited for the write alone; nobody else has more than before, or longer.
          if (was?.actor === hold.actor) expect(hold.touched).toBe(was.touched);
          else expect(was).toBeDefined();
        }
      }),
      { numRuns: 500 },
    );
  });
});
