/**
 * The invariants of locks once more, written without the core's indexes and searches: slow, obvious, and blind to
 * none of their bugs.
 */
import type { Actor, FileRef, Origin } from "../../daemon/core/entry.ts";
import type { Hold, State, Waiter } from "../../daemon/core/state.ts";
import { limits } from "../../protocol/limits.ts";

function same(a: Actor, b: Actor): boolean {
  return a.session === b.session && a.agent === b.agent && a.incarnation === b.incarnation;
}

function overlap(a: Pick<FileRef, "key" | "dir">, b: Pick<FileRef, "key" | "dir">): boolean {
  if (a.key === b.key) return true;
  return (a.dir && b.key.startsWith(`${a.key}/`)) || (b.dir && a.key.startsWith(`${b.key}/`));
}

/** Whether the actor has all of the file already. */
function has(holds: readonly Hold[], actor: Actor, file: FileRef): boolean {
  return holds.some(
    h =>
      same(h.actor, actor) &&
      ((h.key === file.key && (h.dir || !file.dir)) || (h.dir && file.key.startsWith(`${h.key}/`))),
  );
}

function blocked(
  holds: readonly Hold[],
  waiters: readonly Waiter[],
  w: Pick<Waiter, "actor" | "files" | "ticket">,
): boolean {
  return w.files.some(
    file =>
      holds.some(h => !same(h.actor, w.actor) && overlap(h, file)) ||
      (!has(holds, w.actor, file) &&
        waiters.some(
          o =>
            o.ticket < w.ticket &&
            o.origin !== null &&
            !same(o.actor, w.actor) &&
            o.files.some(f => overlap(f, file)),
        )),
  );
}

/** A request that was granted in a step, with the place in line it had; a new one came last. */
export interface Granted {
  readonly origin: Origin;
  readonly ticket: number;
}

/** What is wrong after a step, a sentence each. */
export function* wrongs(state: State, grants: readonly Granted[]): Generator<string> {
  const holds = [...state.locks.holds.values()];
  const waiters = [...state.locks.waiters.values()];
  yield* barging(holds, waiters, grants);
  for (const [i, hold] of holds.entries()) {
    for (const other of holds.slice(i + 1)) {
      if (!same(hold.actor, other.actor) && overlap(hold, other))
        yield `two holders: ${hold.key} and ${other.key}`;
    }
    if (!alive(state, hold.actor)) yield `${hold.key} is held by ${hold.actor.session}, who is gone`;
  }
  for (const waiter of waiters) {
    if (!alive(state, waiter.actor)) yield `${waiter.actor.session} waits and is gone`;
    if (waiter.origin === null) continue;
    if (!blocked(holds, waiters, waiter)) yield `ticket ${waiter.ticket} waits for what is free`;
    for (const hold of holds) {
      const own = waiter.files.some(f => f.key === hold.key) && same(hold.actor, waiter.actor);
      if (own && hold.since >= waiter.since && hold.origin.n === waiter.origin.n) {
        yield `ticket ${waiter.ticket} holds ${hold.key} of its set while it waits`;
      }
    }
    if (circle(holds, waiters, waiter)) yield `ticket ${waiter.ticket} waits in a circle`;
  }
}

/** Nobody who came first for the same file may still stand in line after a grant. */
function* barging(
  holds: readonly Hold[],
  waiters: readonly Waiter[],
  grants: readonly Granted[],
): Generator<string> {
  for (const { origin, ticket } of grants) {
    for (const hold of holds.filter(h => h.origin.n === origin.n && h.origin.epoch === origin.epoch)) {
      // What lies below a directory it had already, it had already.
      const owned = holds.some(h => h.dir && hold.key.startsWith(`${h.key}/`) && same(h.actor, hold.actor));
      for (const w of owned ? [] : waiters) {
        if (w.origin === null || w.ticket >= ticket || same(w.actor, hold.actor)) continue;
        if (w.files.some(f => overlap(f, hold))) yield `${hold.key} went past ticket ${w.ticket}`;
      }
    }
  }
}

function circle(holds: readonly Hold[], waiters: readonly Waiter[], start: Waiter): boolean {
  const seen = new Set<string>();
  const stack: Waiter[] = [start];
  for (let w = stack.pop(); w !== undefined; w = stack.pop()) {
    for (const next of waitsFor(holds, waiters, w)) {
      if (same(next, start.actor)) return true;
      const id = JSON.stringify(next);
      if (seen.has(id)) continue;
      seen.add(id);
      stack.push(...waiters.filter(o => o.origin !== null && same(o.actor, next)));
    }
  }
  return false;
}

function* waitsFor(holds: readonly Hold[], waiters: readonly Waiter[], w: Waiter): Generator<Actor> {
  for (const file of w.files) {
    for (const h of holds) {
      if (h.kind === "explicit" && !same(h.actor, w.actor) && overlap(h, file)) yield h.actor;
    }
    if (has(holds, w.actor, file)) continue;
    for (const o of waiters) {
      const ahead = o.ticket < w.ticket && o.origin !== null && !same(o.actor, w.actor);
      if (ahead && o.files.some(f => overlap(f, file))) yield o.actor;
    }
  }
}

/** What must be over once everything due has been proposed and delivered. */
export function* overdue(state: State): Generator<string> {
  const { t } = state;
  for (const w of state.locks.waiters.values()) {
    if (w.deadline < t)
      yield `ticket ${w.ticket} is ${t - w.deadline} ms past its ${w.origin ? "time-out" : "place"}`;
  }
  for (const h of state.locks.holds.values()) {
    const lostAt = state.sessions.live.get(h.actor.session)?.lostAt ?? null;
    if (h.kind === "turn" && h.touched + limits.turnLeaseMs < t)
      yield `the turn hold on ${h.key} outlives its lease`;
    if (lostAt === null) continue;
    const ms = h.kind === "turn" ? limits.lockDelayMs : limits.explicitLeaseMs - limits.silenceMs;
    if (lostAt + ms < t) yield `the ${h.kind} hold on ${h.key} outlives its lost holder`;
  }
}

function alive(state: State, actor: Actor): boolean {
  return (
    state.sessions.live.get(actor.session)?.incarnations.some(i => i.ordinal === actor.incarnation) ?? false
  );
}
