/** Cycles of waits: which request closes one, and who goes past whom. */

import { describe, expect, it } from "vitest";
import { apply } from "../../daemon/core/apply.ts";
import {
  type Actor,
  actorKey,
  areBeside,
  type FileRef,
  runsInside,
  sameActor,
  sameOwner,
} from "../../daemon/core/frame/actors.ts";
import {
  type Ask,
  type Blocker,
  blockers,
  type CycleStep,
  cycleByGrant,
  cycleByWaiting,
  firstBlocker,
  mustGiveUp,
  overlapOf,
} from "../../daemon/core/locks/blockers.ts";
import { check } from "../../daemon/core/slices.ts";
import { emptyState } from "../../daemon/core/snapshot.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Locks, Waiter } from "../../daemon/core/tables/base-state.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import type { LockRequest } from "../../daemon/core/tables/locks.ts";
import { Random } from "../simulation/random.ts";
import { lockOf, World, waits } from "./core-world.ts";

// The search for cycles of waits once more, request by request and without the graph: slow and obvious.

/** What is not so yet, but would be if a request were granted. */
interface Taken {
  readonly actor: Actor;
  readonly files: readonly FileRef[];
  /** Something is written at once, so that the lock does not pass to those who work for its holder. */
  readonly flies: boolean;
}

/**
 * Whether a path of waits leads from `ask` back to its own actor, to what runs it as a command, or to one who would wait
 * for what is `taken`.
 */
function closesCycle(locks: Locks, ask: Ask, taken: Taken | null = null): boolean {
  const goal = actorKey(ask.actor);
  const visited = new Set<string>();
  const follow = (asked: Ask): boolean => {
    if (taken !== null && waitsFor(asked, taken)) return true;
    for (const blocker of blockers(locks, asked)) {
      for (const actor of inTheWay(blocker, asked.actor)) {
        const next = actorKey(actor);
        if (next === goal || runsInside(ask.actor, actor)) return true;
        if (visited.has(next)) continue;
        visited.add(next);
        if (waitingFor(locks, actor).some(follow)) return true;
      }
    }
    return false;
  };
  return follow(ask);
}

/** Whether the actor, with these files, would be waited for by one for whom it waits itself. */
function closesCycleByTaking(locks: Locks, taken: Taken): boolean {
  return waitingFor(locks, taken.actor).some(waiter => closesCycle(locks, waiter, taken));
}

/** Those who have to act before the blocker is out of the way. */
function inTheWay(blocker: Blocker, asker: Actor): readonly Actor[] {
  return blocker.by === "place" ? [blocker.actor] : mustGiveUp(blocker.hold, asker);
}

function attachedOf(locks: Locks, actor: Actor): Waiter[] {
  return [...locks.waiters.values()].filter(w => w.origin !== null && sameOwner(w.actor, actor));
}

/** The waiters of the actor or command, and those of the commands inside it. */
function waitingFor(locks: Locks, actor: Actor): Waiter[] {
  const inside = [...locks.waiters.values()].filter(w => w.origin !== null && runsInside(w.actor, actor));
  return [...attachedOf(locks, actor), ...inside];
}

function waitsFor(asked: Ask, { actor, files, flies }: Taken): boolean {
  const isMine = sameActor(asked.actor, actor) && !areBeside(asked.actor, actor);
  if (isMine || overlapOf(asked.files, files) === undefined) return false;
  const isFamily =
    asked.actor.session === actor.session &&
    asked.actor.incarnation === actor.incarnation &&
    asked.ancestors.includes(actor.agent);
  return flies || !isFamily || areBeside(asked.actor, actor);
}

const files = ["a", "b", "c", "d", "src/a", "src/b", "src/deep/a", "src/", "src/deep/"] as const;
const families: readonly (readonly [string | null, readonly (string | null)[]])[] = [
  [null, []],
  ["child", [null]],
  ["grandchild", ["child", null]],
  ["mate", []],
];

/** Each is of one agent; an agent's may run inside one of its main agent's. */
const commands: Readonly<Record<string, readonly string[]>> = {
  main: ["one", "one/inner", "two", "two/inner"],
  child: ["one/child", "three", "three/inner"],
  grandchild: ["three/grandchild"],
  mate: ["four"],
};

function ref(file: string) {
  const path = file.replace(/\/$/, "");
  return { file, lexical: `/p/${path}`, key: `n:/p/${path}`, dir: file.endsWith("/") };
}

/** Actors of few sessions that take, wait for and give up what overlaps. */
class Crowd {
  readonly state: State = emptyState();
  readonly #random: Random;
  /** How often a request is of a command. */
  readonly #commands: number;

  constructor(seed: number, commands: number) {
    this.#commands = commands;
    this.#random = new Random(seed);
    this.#do({ type: "daemon_started", epoch: 1, storeId: "store" });
  }

  someone(): Pick<Ask, "actor" | "ancestors"> {
    const [agent, ancestors] = this.#random.pick(families);
    return { actor: { session: this.#random.pick(["a", "b", "c"]), agent, incarnation: 0 }, ancestors };
  }

  /** Somebody, or a command of somebody's. */
  someoneOrCommand(chance: number): Pick<Ask, "actor" | "ancestors"> {
    const someone = this.someone();
    if (!this.#random.chance(chance)) return someone;
    const command = this.#random.pick(commands[someone.actor.agent ?? "main"] ?? []);
    return { ...someone, actor: { ...someone.actor, command } };
  }

  request(): LockRequest & { readonly type: "lock_request" } {
    const random = this.#random;
    const { actor: who, ancestors } = this.someoneOrCommand(this.#commands);
    const named = Array.from({ length: random.pick([1, 1, 2, 3]) }, () => random.pick(files));
    const isTurn = random.chance(0.4) && who.command === undefined;
    const flight = isTurn && random.chance(0.5) ? `use${random.int(1, 9)}` : null;
    const waitMs = random.pick([0, 600_000, 600_000]);
    const kind = isTurn ? "turn" : "explicit";
    return lockOf(who, [...new Set(named)], 0, { kind, flight, waitMs, ancestors, depth: 16, detach: true });
  }

  step(): void {
    const random = this.#random;
    const { actor: who } = this.someone();
    const { actor: owner } = this.someoneOrCommand(this.#commands);
    const roll = random.int(1, 10);
    if (roll <= 6) this.#do(this.request());
    else if (roll <= 7) this.#do({ type: "flight_end", actor: who, flight: null, wrote: false });
    else if (roll <= 8) this.#do({ type: "turn_end", actor: who, keepPrompt: null });
    else if (roll <= 9) {
      const file = random.pick(files).replace(/\/$/, "");
      const named = [{ file, lexical: `/p/${file}`, key: `n:/p/${file}` }];
      this.#do({ type: "lock_release", actor: owner, files: random.chance(0.2) ? "all" : named });
    } else {
      const waiting = [...this.state.locks.waiters.values()].flatMap(w => w.origin ?? []);
      if (waiting.length > 0) this.#do({ type: "lock_detach", waiter: random.pick(waiting) });
    }
  }

  #do(command: Command): void {
    const seq = this.state.seq + 1;
    apply(this.state, { seq, at: seq, origin: { node: "n", epoch: 1, n: seq }, command });
    expect(check(this.state)).toEqual([]);
  }
}

/**
 * Whether every step is true: its actor waits for the file behind the next one's. `asked` counts as waiting; where it
 * is null, the last step is not looked at.
 */
function isReal(locks: Locks, cycle: readonly CycleStep[], asked: Ask | null): boolean {
  return (asked === null ? cycle.slice(0, -1) : cycle).every((step, i) => {
    const next = cycle[(i + 1) % cycle.length];
    const goesOn =
      next !== undefined && (sameOwner(step.other, next.actor) || runsInside(next.actor, step.other));
    const own = asked !== null && sameOwner(step.actor, asked.actor) ? [asked] : [];
    const requests: Ask[] = [...own, ...attachedOf(locks, step.actor)];
    return (
      goesOn &&
      requests.some(request =>
        [...blockers(locks, request)].some(
          blocker =>
            blocker.file.file === step.file &&
            inTheWay(blocker, request.actor).some(other => sameOwner(other, step.other)),
        ),
      )
    );
  });
}

describe("a look for cycles", () => {
  it.each([
    ["agents alone", 0],
    ["agents and their commands", 0.5],
  ])("answers as a search request by request does, and tells of cycles that are real: %s", (_, commands) => {
    const found = { byWaiting: 0, byTaking: 0, none: 0 };
    for (let seed = 1; seed <= 8; seed += 1) {
      const crowd = new Crowd(seed, commands);
      for (let n = 0; n < 250; n += 1) {
        crowd.step();
        for (let k = 0; k < 4; k += 1) found[compare(crowd.state, crowd.request())] += 1;
      }
    }
    expect(found.byWaiting).toBeGreaterThan(100);
    expect(found.byTaking).toBeGreaterThan(5);
    expect(found.none).toBeGreaterThan(500);
  });
});

/** Asks both searches about a request that is not made. */
function compare(state: State, request: LockRequest): "byWaiting" | "byTaking" | "none" {
  const { locks } = state;
  const ask: Ask = { ...request, ticket: state.seq + 1 };
  if (firstBlocker(locks, ask) !== null) {
    const cycle = cycleByWaiting(locks, ask);
    expect(cycle !== null).toBe(closesCycle(locks, ask));
    if (cycle === null) return "none";
    expect(isReal(locks, cycle, ask)).toBe(true);
    return "byWaiting";
  }
  if (request.kind === "turn" && request.flight === null) return "none";
  const cycle = cycleByGrant(locks, request);
  // What a command of the actor holds stays the command's while the actor writes.
  const left = request.files.filter(({ key }) => {
    const hold = locks.holds.get(key);
    return request.kind === "explicit" || hold === undefined || !runsInside(hold.actor, request.actor);
  });
  const taken = { ...request, files: left, flies: request.flight !== null };
  expect(cycle !== null).toBe(closesCycleByTaking(locks, taken));
  if (cycle === null) return "none";
  // The last one waits for what is to be taken, and does not wait for its taker yet.
  const [last] = cycle.slice(-1);
  expect(overlapOf(request.files, [ref(last?.file ?? "")])).toBeDefined();
  expect(isReal(locks, cycle, null)).toBe(true);
  return "byTaking";
}

const child: Actor = { session: "m", agent: "child", incarnation: 0 };
const grandchild: Actor = { session: "m", agent: "grandchild", incarnation: 0 };
const ofChild = { ancestors: [null] };
const ofGrandchild = { ancestors: ["child", null] };

/**
 * `x` waits for `src/a` and for `mine` of `whose`, who then waits for `src/a` and for what `y` has: in front of `x`,
 * as long as `src/` is his own or will be his again.
 */
function twoWait(
  w: World,
  whose: string | Actor,
  more: { readonly ancestors?: readonly (string | null)[] } = {},
) {
  w.lock("y", "other");
  w.lock(whose, "mine", more);
  expect(w.lock("x", ["src/a", "mine"])).toBe(waits);
  const x = w.n;
  expect(w.lock(whose, ["src/a", "other"], more)).toBe(waits);
  return { x, whose: w.n };
}

/** The request of who came to stand behind `x` has ended; `x` waits on. */
function endsOnly(w: World, waiting: { readonly x: number; readonly whose: number }, names: string): void {
  const reply = w.answers.get(waiting.whose)?.reply;
  expect(reply).toMatchObject({ code: "lock_deadlock", queued: false });
  expect(String(reply?.["error"])).toContain(`${names} waits for src/a behind x, x waits for`);
  expect(w.answers.has(waiting.x)).toBe(false);
}

// Every step is checked for a cycle that nobody saw.
describe("a wait that a change puts behind an older one, in a cycle, ends", () => {
  it("where a turn lock passes to a descendant", () => {
    const w = new World();
    w.lock("m", "src/", { kind: "turn" });
    const waiting = twoWait(w, "m");
    expect(w.lock(child, "src/", { kind: "turn", ...ofChild })).toMatchObject({ ok: true });
    endsOnly(w, waiting, "m");
  });

  it("where an explicit lock passes over one who works for its holder", () => {
    const w = new World();
    w.lock("m", "src/");
    const waiting = twoWait(w, child, ofChild);
    expect(w.lock(grandchild, "src/", ofGrandchild)).toMatchObject({ ok: true });
    endsOnly(w, waiting, "m/child");
  });

  it("where the lender gives up what a descendant uses", () => {
    const w = new World();
    w.lock("m", "src/");
    w.lock(child, "src/", { kind: "turn", ...ofChild });
    const waiting = twoWait(w, "m");
    expect(w.unlock("m", "src")).toMatchObject({ ok: true });
    endsOnly(w, waiting, "m");
  });

  it("where the lender gives up everything but its requests", () => {
    const w = new World();
    w.lock("m", "src/");
    w.lock(child, "src/", { kind: "turn", ...ofChild });
    const waiting = twoWait(w, "m");
    w.do({
      type: "lock_revoke",
      by: "a person",
      files: [{ file: "src", lexical: "/p/src", key: "n:/p/src" }],
    });
    endsOnly(w, waiting, "m");
  });

  it("where its ancestor begins to write", () => {
    const w = new World();
    w.lock("m", "src/", { kind: "turn" });
    const waiting = twoWait(w, child, ofChild);
    expect(w.lock("m", "src/", { kind: "turn", flight: "use1" })).toMatchObject({ ok: true });
    endsOnly(w, waiting, "m/child");
  });

  it("where its own lock yields", () => {
    const w = new World();
    w.lock("m", "src/", { kind: "turn" });
    const waiting = twoWait(w, "m");
    w.pass(0);
    endsOnly(w, waiting, "m");
  });

  it("and only there: who is in no cycle waits on", () => {
    const w = new World();
    w.lock("m", "src/", { kind: "turn" });
    w.lock("y", "other");
    expect(w.lock("x", "src/a")).toBe(waits);
    const x = w.n;
    expect(w.lock("m", ["src/a", "other"])).toBe(waits);
    const m = w.n;
    expect(w.lock(child, "src/", { kind: "turn", ...ofChild })).toMatchObject({ ok: true });
    expect([w.answers.has(m), w.answers.has(x)]).toEqual([false, false]);
  });
});
