/**
 * The invariants of locks once more, written without the core's indexes and searches: slow, obvious, and blind to
 * none of their bugs.
 */

import type { Actor, FileRef, Origin } from "../../daemon/core/frame/actors.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Hold, Waiter } from "../../daemon/core/tables/base-state.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { limits } from "../../protocol/limits.ts";

function same(a: Actor, b: Actor): boolean {
  return a.session === b.session && a.agent === b.agent && a.incarnation === b.incarnation;
}

/** Of commands, the one runs inside the other, or is the other. */
function nested(a: string, b: string): boolean {
  const [short, long] = [a.split("/"), b.split("/")].sort((x, y) => x.length - y.length);
  return short !== undefined && long !== undefined && short.every((name, i) => name === long[i]);
}

/** Two commands of which neither runs inside the other. */
function beside({ command: a }: Actor, { command: b }: Actor): boolean {
  return a !== undefined && b !== undefined && !nested(a, b);
}

/** What one has is the other's too. */
function mine(a: Actor, b: Actor): boolean {
  return same(a, b) && !beside(a, b);
}

/** The very same: the actor itself, or the same command of it. */
function exact(a: Actor, b: Actor): boolean {
  return same(a, b) && a.command === b.command;
}

/** The actor, or its command, runs this other command, and waits for its end. */
function runs(a: Actor, command: Actor): boolean {
  if (command.command === undefined || !same(a, command) || exact(a, command)) return false;
  return (
    a.command === undefined ||
    (nested(a.command, command.command) && a.command.length < command.command.length)
  );
}

/**
 * Whether a lock of `owner` may pass to it, at once or by way of others: it is an agent that works for the owner, or a
 * command that the owner or such an agent runs.
 */
export function isHeir({ actor, ancestors }: Pick<Waiter, "actor" | "ancestors">, owner: Actor): boolean {
  const isFamily = owner.session === actor.session && owner.incarnation === actor.incarnation;
  return runs(owner, actor) || (isFamily && ancestors.includes(owner.agent));
}

function overlap(a: Pick<FileRef, "key" | "dir">, b: Pick<FileRef, "key" | "dir">): boolean {
  if (a.key === b.key) return true;
  return (a.dir && b.key.startsWith(`${a.key}/`)) || (b.dir && a.key.startsWith(`${b.key}/`));
}

/** The actor's own, or an ancestor's without a write in flight. */
function own(h: Hold, w: Pick<Waiter, "actor" | "ancestors">): boolean {
  if (beside(h.actor, w.actor)) return false;
  if (same(h.actor, w.actor)) return true;
  const isFamily = h.actor.session === w.actor.session && h.actor.incarnation === w.actor.incarnation;
  return isFamily && h.flights.length === 0 && w.ancestors.includes(h.actor.agent);
}

/** It comes back to the actor. */
function lent(h: Hold, actor: Actor): boolean {
  for (let { loan } = h; loan !== null; loan = loan.loan) if (mine(loan.actor, actor)) return true;
  return false;
}

/** Whether the actor has all of the file already. */
function has(holds: readonly Hold[], w: Pick<Waiter, "actor" | "ancestors">, file: FileRef): boolean {
  return holds.some(
    h =>
      (own(h, w) || lent(h, w.actor)) &&
      ((h.key === file.key && (h.dir || !file.dir)) || (h.dir && file.key.startsWith(`${h.key}/`))),
  );
}

function blocked(
  holds: readonly Hold[],
  waiters: readonly Waiter[],
  w: Pick<Waiter, "actor" | "ancestors" | "files" | "ticket">,
): boolean {
  return w.files.some(
    file =>
      holds.some(h => !own(h, w) && overlap(h, file)) ||
      (!has(holds, w, file) &&
        waiters.some(
          o =>
            o.ticket < w.ticket &&
            o.origin !== null &&
            !mine(o.actor, w.actor) &&
            o.files.some(f => overlap(f, file)),
        )),
  );
}

/** A request that was granted in a step, with the place in line it had; a new one came last. */
export interface Granted {
  readonly origin: Origin;
  readonly ticket: number;
  /** It came from an ancestor, past the line. */
  readonly inherited: boolean;
}

/** What is wrong after a step, a sentence each. */
export function* wrongs(state: State, grants: readonly Granted[]): Generator<string> {
  const holds = [...state.locks.holds.values()];
  const waiters = [...state.locks.waiters.values()];
  yield* barging(holds, waiters, grants);
  for (const [i, hold] of holds.entries()) {
    for (const other of holds.slice(i + 1)) {
      const related =
        hold.ancestors.includes(other.actor.agent) || other.ancestors.includes(hold.actor.agent);
      const family = related && hold.key !== other.key && hold.actor.session === other.actor.session;
      if (!same(hold.actor, other.actor) && !family && overlap(hold, other))
        yield `two holders: ${hold.key} and ${other.key}`;
      else if (
        beside(hold.actor, other.actor) &&
        hold.actor.session === other.actor.session &&
        overlap(hold, other)
      )
        yield `two commands of one session: ${hold.key} and ${other.key}`;
    }
    if (!alive(state, hold.actor)) yield `${hold.key} is held by ${hold.actor.session}, who is gone`;
  }
  for (const waiter of waiters) {
    if (!alive(state, waiter.actor)) yield `${waiter.actor.session} waits and is gone`;
    if (waiter.origin === null) continue;
    if (!blocked(holds, waiters, waiter)) yield `ticket ${waiter.ticket} waits for what is free`;
    for (const hold of holds) {
      const own = waiter.files.some(f => f.key === hold.key) && same(hold.actor, waiter.actor);
      if (
        own &&
        hold.since >= waiter.since &&
        hold.origin.n === waiter.origin.n &&
        hold.origin.epoch === waiter.origin.epoch
      ) {
        yield `ticket ${waiter.ticket} holds ${hold.key} of its set while it waits`;
      }
    }
    if (cycle(holds, waiters, waiter)) yield `ticket ${waiter.ticket} waits in a cycle`;
  }
}

/** Nobody who came first for the same file may still stand in line after a grant. */
function* barging(
  holds: readonly Hold[],
  waiters: readonly Waiter[],
  grants: readonly Granted[],
): Generator<string> {
  for (const { origin, ticket, inherited } of grants) {
    if (inherited) continue;
    for (const hold of holds.filter(h => h.origin.n === origin.n && h.origin.epoch === origin.epoch)) {
      // What lies in a folder that it has, or lends, it had already.
      const others = holds.filter(h => h !== hold);
      const owned = has(others, hold, hold);
      for (const w of owned ? [] : waiters) {
        if (w.origin === null || w.ticket >= ticket || mine(w.actor, hold.actor)) continue;
        if (w.files.some(f => overlap(f, hold))) yield `${hold.key} went past ticket ${w.ticket}`;
      }
    }
  }
}

function cycle(holds: readonly Hold[], waiters: readonly Waiter[], start: Waiter): boolean {
  const seen = new Set<string>();
  const stack: Waiter[] = [start];
  for (let w = stack.pop(); w !== undefined; w = stack.pop()) {
    for (const next of waitsFor(holds, waiters, w)) {
      if (exact(next, start.actor) || runs(next, start.actor)) return true;
      const id = JSON.stringify(next);
      if (seen.has(id)) continue;
      seen.add(id);
      stack.push(...waiters.filter(o => o.origin !== null && (exact(o.actor, next) || runs(next, o.actor))));
    }
  }
  return false;
}

function* waitsFor(holds: readonly Hold[], waiters: readonly Waiter[], w: Waiter): Generator<Actor> {
  for (const file of w.files) {
    for (const h of holds) {
      if (own(h, w) || !overlap(h, file)) continue;
      if (h.kind === "explicit" || h.flights.length > 0) yield h.actor;
      for (let { loan } = h; loan !== null && !mine(loan.actor, w.actor); loan = loan.loan) yield loan.actor;
    }
    if (has(holds, w, file)) continue;
    for (const o of waiters) {
      const ahead = o.ticket < w.ticket && o.origin !== null && !mine(o.actor, w.actor);
      if (ahead && o.files.some(f => overlap(f, file))) yield o.actor;
    }
  }
}

/** An explicit hold that a descendant gave up is its lender's again, or another descendant's. */
export function* notReturned(state: State, before: readonly Hold[], command: Command): Generator<string> {
  if (command.type !== "turn_end" && command.type !== "lock_release") return;
  for (const { key, actor, loan } of before) {
    if (loan === null || !exact(actor, command.actor)) continue;
    const now = state.locks.holds.get(key);
    const back =
      now !== undefined && (same(now.actor, actor) || same(now.actor, loan.actor) || lent(now, loan.actor));
    if (!back) yield `${key} did not come back to ${loan.actor.session}`;
  }
}

/** Whether the lock is on a resource, and no running command holds it. */
function isLeased({ lexical, kind, bound }: Hold): boolean {
  return lexical.startsWith("@") && kind === "explicit" && bound === null;
}

/** A lock on a resource goes with its lease, after all of it, and no other lock does. */
export function* endedEarly(state: State, before: readonly Hold[], command: Command): Generator<string> {
  if (command.type !== "elapse" || command.due.what !== "resource_lease_over") return;
  const { key, first } = command.due;
  const was = before.find(h => h.key === key && h.first.grant === first);
  const now = state.locks.holds.get(key);
  if (was === undefined || now?.token.grant === was.token.grant) return;
  if (!isLeased(was) || was.touched + limits.resourceLeaseMs > state.t)
    yield `the lease of ${key} ended early`;
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
    const leaseFrom = Math.max(h.touched, h.renewed ?? 0);
    if (h.kind === "turn" && leaseFrom + limits.turnLeaseMs < t)
      yield `the turn hold on ${h.key} outlives its lease`;
    if (isLeased(h) && h.touched + limits.resourceLeaseMs < t)
      yield `the hold on ${h.key} outlives its lease`;
    const wanted = [...state.locks.waiters.values()].filter(
      w => w.origin !== null && !own(h, w) && w.files.some(f => overlap(f, h)),
    );
    const yields = h.kind === "turn" && h.loan === null && h.flights.length === 0 && wanted.length > 0;
    if (yields && h.touched + h.yieldMs < t) yield `the turn hold on ${h.key} does not yield`;
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
