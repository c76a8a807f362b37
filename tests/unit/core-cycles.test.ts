import { describe, expect, it } from "vitest";
import { apply } from "../../daemon/core/apply.ts";
import { runsInside, sameOwner } from "../../daemon/core/frame/actors.ts";
import {
  type Ask,
  blockers,
  type CycleStep,
  cycleByGrant,
  cycleByWaiting,
  firstBlocker,
  overlapOf,
} from "../../daemon/core/locks/blockers.ts";
import { check } from "../../daemon/core/slices.ts";
import { emptyState } from "../../daemon/core/snapshot.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Locks } from "../../daemon/core/tables/base-state.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import type { LockRequest } from "../../daemon/core/tables/locks.ts";
import { Random } from "../simulation/random.ts";
import { lockOf } from "./core-world.ts";
import { attachedOf, closesCycle, closesCycleByTaking, inTheWay } from "./slow-cycles.ts";

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
