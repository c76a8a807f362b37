import fc from "fast-check";
import { expect, it } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { limits } from "../../protocol/limits.ts";
import { lockOf, World } from "./core-world.ts";

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
    if (actor === undefined || this.#waiting.has(index) || !this.world.state.sessions.live.has(actor.session))
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
