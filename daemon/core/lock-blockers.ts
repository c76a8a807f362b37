/**
 * Who stands between a request and its files.
 *
 * A request is blocked by holds of other actors that overlap its files, and by attached requests of other actors
 * that joined the line before it and overlap them (first come, first served; no barging). Detached places are
 * passed over, and what the actor has already it need not wait for. A circle of waits runs along explicit holds and places in line; turn holds end by themselves.
 */
import { actorKey, locksOf, sameActor } from "./actors.ts";
import type { Actor, FileRef } from "./entry.ts";
import { lentBy } from "./lock-loan.ts";
import type { Hold, Locks, Waiter } from "./state.ts";

export interface Ask {
  readonly actor: Actor;
  readonly files: readonly FileRef[];
  /** Its place in line; a new request is last. */
  readonly ticket: number;
  readonly ancestors: readonly (string | null)[];
}

export type Blocker =
  | { readonly by: "hold"; readonly actor: Actor; readonly file: FileRef; readonly hold: Hold }
  | { readonly by: "place"; readonly actor: Actor; readonly file: FileRef; readonly waiter: Waiter };

/** Every blocker, holders first. The place with ticket `resumed` counts as attached although it is not yet. */
export function* blockers(locks: Locks, ask: Ask, resumed = -1): Generator<Blocker, void> {
  const wanted: FileRef[] = [];
  for (const file of ask.files) {
    let owned = false;
    for (const key of locks.heldPaths.overlapping(file.key, file.dir)) {
      const hold = locks.holds.get(key);
      if (hold === undefined) throw new Error(`${key} is indexed as held, but is not`);
      const mine = isOwn(hold, ask);
      if (!mine) yield { by: "hold", actor: hold.actor, file, hold };
      // What is lent comes back: nobody stands before its lender in line.
      owned ||= (mine || lentBy(hold, ask.actor)) && covers(hold, file);
    }
    if (!owned) wanted.push(file);
  }
  if (locks.waiters.size === 0) return;
  for (const file of wanted) {
    for (const waiter of waitersOver(locks, file)) {
      const attached = waiter.origin !== null || waiter.ticket === resumed;
      if (waiter.ticket < ask.ticket && attached && !sameActor(waiter.actor, ask.actor)) {
        yield { by: "place", actor: waiter.actor, file, waiter };
      }
    }
  }
}

/** The actor's own, or an ancestor's that nothing writes to at the moment: it passes on at once. */
export function isOwn(hold: Hold, { actor, ancestors }: Pick<Ask, "actor" | "ancestors">): boolean {
  if (sameActor(hold.actor, actor)) return true;
  const { session, agent, incarnation } = hold.actor;
  if (session !== actor.session || incarnation !== actor.incarnation) return false;
  return hold.flights.length === 0 && ancestors.includes(agent);
}

/** Whether who holds `hold` has all of `file` already: then nobody stands before it in line. */
function covers(hold: Hold, file: FileRef): boolean {
  if (hold.key === file.key) return hold.dir || !file.dir;
  return hold.dir && hold.key.length < file.key.length;
}

export function firstBlocker(locks: Locks, ask: Ask): Blocker | null {
  if (isClear(locks, ask.files)) return null;
  const first = blockers(locks, ask).next();
  return first.done ? null : first.value;
}

/** Nobody holds or waits for anything there: most requests find it so. */
function isClear({ heldPaths, waitedPaths }: Locks, files: readonly FileRef[]): boolean {
  for (const { key, dir } of files) {
    if (heldPaths.touches(key, dir) || waitedPaths.touches(key, dir)) return false;
  }
  return true;
}

/** Requests in line for something that overlaps `file`, each once. */
export function* waitersOver(locks: Locks, file: FileRef): Generator<Waiter, void> {
  const seen = new Set<number>();
  for (const key of locks.waitedPaths.overlapping(file.key, file.dir)) {
    for (const ticket of locks.waitersAt.get(key) ?? []) {
      if (seen.has(ticket)) continue;
      seen.add(ticket);
      const waiter = locks.waiters.get(ticket);
      if (waiter !== undefined) yield waiter;
    }
  }
}

/** One step of a circle: `actor` waits for `file`. */
export interface CycleStep {
  readonly actor: Actor;
  readonly file: string;
}

/** What is not so yet, but would be if the request were taken. */
export interface Assumed {
  /** The asking actor holds these explicitly. */
  readonly owned?: readonly FileRef[];
  /** The place in line that counts as attached. */
  readonly resumed?: number;
  /** The actor's own wait that is over. */
  readonly without?: number;
}

/** The circle of waits that `ask` closes, or null. */
export function findCycle(locks: Locks, ask: Ask, assumed: Assumed = {}): CycleStep[] | null {
  const { owned = [], resumed } = assumed;
  const goal = actorKey(ask.actor);
  const visited = new Set<string>();

  function follow(asked: Ask, path: readonly CycleStep[]): CycleStep[] | null {
    const behind = sameActor(asked.actor, ask.actor) ? undefined : overlapOf(asked.files, owned);
    if (behind !== undefined) return [...path, { actor: asked.actor, file: behind.file }];
    for (const blocker of blockers(locks, asked, resumed)) {
      const here = [...path, { actor: asked.actor, file: blocker.file.file }];
      for (const actor of mustGiveUp(blocker, asked.actor)) {
        const next = actorKey(actor);
        if (next === goal) return here;
        if (visited.has(next)) continue;
        visited.add(next);
        for (const waiter of attachedOf(locks, actor)) {
          const found = follow(waiter, here);
          if (found !== null) return found;
        }
      }
    }
    return null;
  }

  return follow(ask, []);
}

/** Who has to act before the blocker is out of the asker's way: nobody where it yields by itself. */
function mustGiveUp(blocker: Blocker, asker: Actor): Actor[] {
  if (blocker.by === "place") return [blocker.actor];
  const { hold } = blocker;
  const actors = hold.kind === "explicit" || hold.flights.length > 0 ? [hold.actor] : [];
  // What comes back to the asker itself is in nobody's way then.
  for (let { loan } = hold; loan !== null && !sameActor(loan.actor, asker); loan = loan.loan)
    actors.push(loan.actor);
  return actors;
}

/** A circle through anything the actor waits for: for changes that make others wait for it. */
export function findCycleOf(locks: Locks, actor: Actor, assumed: Assumed): CycleStep[] | null {
  for (const waiter of attachedOf(locks, actor, assumed.resumed)) {
    if (waiter.ticket === assumed.without) continue;
    const found = findCycle(locks, waiter, assumed);
    if (found !== null) return found;
  }
  return null;
}

/** The first of `files` that overlaps one of `others`. */
export function overlapOf(files: readonly FileRef[], others: readonly FileRef[]): FileRef | undefined {
  const isBelow = (a: FileRef, b: FileRef) => a.key === b.key || (b.dir && a.key.startsWith(`${b.key}/`));
  return files.find(file => others.some(other => isBelow(file, other) || isBelow(other, file)));
}

/** The actor's requests in line that somebody listens for. */
export function attachedOf(locks: Locks, actor: Actor, resumed = -1): Waiter[] {
  return [...(locksOf(locks.actors, actor)?.waits ?? [])].flatMap(ticket => {
    const waiter = locks.waiters.get(ticket);
    return waiter !== undefined && (waiter.origin !== null || ticket === resumed) ? [waiter] : [];
  });
}
