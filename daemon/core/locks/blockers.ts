/**
 * Finds what blocks a request: other actors' locks and earlier attached waiters that overlap its files.
 *
 * Invariants: the queue is first come, first served, without barging; a detached waiter blocks no request; an actor
 * never waits for a file that it already has. Two commands of one actor block each other, unless one runs inside the
 * other; its other requests are blocked by none of them, and block none.
 */

import type { LockUse } from "../../../protocol/schemas/lock.ts";
import { type Actor, areBeside, sameActor } from "../actor.ts";
import { assert } from "../assert.ts";
import type { Hold, Loan, Locks, Waiter } from "../base-state.ts";
import type { FileRef } from "../file-ref.ts";

export interface Ask {
  readonly actor: Actor;
  readonly files: readonly FileRef[];
  /** Its queue position; a new request is last. */
  readonly ticket: number;
  readonly ancestors: readonly (string | null)[];
}

/** The actor of a request and the agents that it works for. */
export type Requester = Pick<Ask, "actor" | "ancestors">;

/** Another actor's lock over one of a request's files. */
export interface HeldAgainst {
  readonly by: "hold";
  readonly actor: Actor;
  readonly file: FileRef;
  readonly hold: Hold;
}

export type Blocker =
  | HeldAgainst
  | { readonly by: "place"; readonly actor: Actor; readonly file: FileRef; readonly waiter: Waiter };

/** A waiter and one of its files. */
export interface Wanted {
  readonly waiter: Waiter;
  readonly file: FileRef;
}

/** The fields of a lock or a file that say which paths it covers. */
type PathScope = Pick<FileRef, "key" | "dir">;

/** Yields every blocker, holders first. */
export function* blockers(locks: Locks, ask: Ask): Generator<Blocker, void> {
  yield* heldAgainst(locks, ask);
  if (locks.waiters.size === 0) return;
  for (const file of ask.files) {
    if (isCovered(locks, ask, file)) continue;
    for (const waiter of waitersOver(locks, file)) {
      const attached = waiter.origin !== null;
      if (waiter.ticket < ask.ticket && attached && !isMine(waiter.actor, ask.actor)) {
        yield { by: "place", actor: waiter.actor, file, waiter };
      }
    }
  }
}

/** Yields the locks that block the request, however many wait for its files. */
export function* heldAgainst(locks: Locks, ask: Ask): Generator<HeldAgainst, void> {
  for (const file of ask.files) {
    for (const key of locks.heldPaths.overlapping(file.key, file.dir)) {
      const hold = holdAt(locks, key);
      const mine = isOwn(hold, ask);
      if (!mine) yield { by: "hold", actor: hold.actor, file, hold };
    }
  }
}

/** Whether what `owner` has is the requester's: its own, or that of a command inside it or around it. */
export function isMine(owner: Actor, requester: Actor): boolean {
  return sameActor(owner, requester) && !areBeside(owner, requester);
}

/** Whether the lock is the actor's own, or an ancestor's without a write in flight, which passes to it at once. */
export function isOwn(hold: Hold, requester: Requester): boolean {
  if (areBeside(hold.actor, requester.actor)) return false;
  if (sameActor(hold.actor, requester.actor)) return true;
  return hold.flights.length === 0 && isOfAncestor(hold, requester);
}

/** Whether an agent that the requester works for has the lock. */
export function isOfAncestor(hold: Hold, { actor, ancestors }: Requester): boolean {
  const { session, agent, incarnation } = hold.actor;
  return session === actor.session && incarnation === actor.incarnation && ancestors.includes(agent);
}

/** Whether `lender` lent this lock to its present holder, directly or through other borrowers. */
export function lentBy(hold: Hold, lender: Actor): boolean {
  for (let { loan } = hold; loan !== null; loan = loan.loan) if (isMine(loan.actor, lender)) return true;
  return false;
}

/** Whether `hold` includes all of `file`, which overlaps it. No waiter for `file` then precedes the holder. */
export function covers(hold: Hold, file: PathScope): boolean {
  if (hold.key === file.key) return hold.dir || !file.dir;
  return hold.dir && hold.key.length < file.key.length;
}

/**
 * Whether the requester already has the file by another lock than `but`. A lent lock counts: it returns to its lender,
 * so no waiter precedes the lender in the queue.
 */
export function isCovered(locks: Locks, requester: Requester, file: FileRef, but?: Hold): boolean {
  for (const key of locks.heldPaths.around(file.key)) {
    const hold = holdAt(locks, key);
    if (hold !== but && covers(hold, file) && (isOwn(hold, requester) || lentBy(hold, requester.actor)))
      return true;
  }
  return false;
}

/** Returns the actors that must act before the requester can have the lock: none if the lock yields by itself. */
export function mustGiveUp(hold: Hold, requester: Actor): Actor[] {
  const lenders = lendersBut(hold, requester);
  return lasts(hold) ? [hold.actor, ...lenders] : [...lenders];
}

/** Whether the lock does not yield to waiters by itself. */
export function lasts({ kind, flights }: Hold): boolean {
  return kind === "explicit" || flights.length > 0;
}

/** Returns why the lock does not yield to waiters by itself; null: it yields. */
export function useOf({ kind, bound, flights }: Hold): LockUse | null {
  if (kind === "explicit") return bound === null ? "kept" : "command";
  return flights.length > 0 ? "writes" : null;
}

/** Returns the lenders to whom the lock returns before the requester. Lenders after the requester do not block it. */
export function lendersBut(hold: Hold, requester: Actor): readonly Actor[] {
  if (hold.loan === null) return noLenders;
  const lenders: Actor[] = [];
  for (let loan: Loan | null = hold.loan; loan !== null && !isMine(loan.actor, requester); loan = loan.loan)
    lenders.push(loan.actor);
  return lenders;
}

const noLenders: readonly Actor[] = [];

export function firstBlocker(locks: Locks, ask: Ask): Blocker | null {
  if (isClear(locks, ask.files)) return null;
  const first = blockers(locks, ask).next();
  return first.done ? null : first.value;
}

/** Whether no holder and no waiter overlaps the files: the fast path of most requests. */
function isClear({ heldPaths, waitedPaths }: Locks, files: readonly FileRef[]): boolean {
  for (const { key, dir } of files) {
    if (heldPaths.touches(key, dir) || waitedPaths.touches(key, dir)) return false;
  }
  return true;
}

/** Returns the waiters that overlap `file`, once for each of their files that does. */
export function requestsOver(locks: Locks, file: PathScope): Iterable<Wanted> {
  const { waitedPaths, waitersAt } = locks;
  if (waitersAt.size === 0) return nobody;
  if (file.dir) return requestsBelow(locks, file);
  if (!waitedPaths.hasFolders) return waitersAt.has(file.key) ? requestsAt(locks, file, [file.key]) : nobody;
  return requestsAt(locks, file, waitedPaths.around(file.key));
}

const nobody: readonly Wanted[] = [];

/** Lazy, because a folder may have many waiters below it. */
function* requestsBelow(locks: Locks, file: PathScope): Generator<Wanted, void> {
  for (const key of locks.waitedPaths.overlapping(file.key, true)) yield* requestsAt(locks, file, [key]);
}

function requestsAt(locks: Locks, file: PathScope, keys: readonly string[]): Wanted[] {
  const found: Wanted[] = [];
  for (const key of keys) {
    for (const [ticket, wanted] of locks.waitersAt.get(key) ?? []) {
      const waiter = locks.waiters.get(ticket);
      assert(waiter !== undefined, () => `request ${ticket} is indexed as waiting, but does not`);
      if (overlaps(wanted, file)) found.push({ waiter, file: wanted });
    }
  }
  return found;
}

/** Yields the waiters that overlap `file`, each once. */
export function* waitersOver(locks: Locks, file: PathScope): Generator<Waiter, void> {
  const seen = new Set<Waiter>();
  for (const { waiter } of requestsOver(locks, file)) {
    if (seen.has(waiter)) continue;
    seen.add(waiter);
    yield waiter;
  }
}

/** Returns the first of `files` that overlaps one of `others`. */
export function overlapOf(files: readonly FileRef[], others: readonly PathScope[]): FileRef | undefined {
  return files.find(file => others.some(other => overlaps(file, other)));
}

export function overlaps(a: PathScope, b: PathScope): boolean {
  return isWithin(a, b) || isWithin(b, a);
}

function isWithin(a: PathScope, b: PathScope): boolean {
  return a.key === b.key || (b.dir && a.key.startsWith(`${b.key}/`));
}

/** Returns the lock of a key that is indexed as held. */
export function holdAt(locks: Locks, key: string): Hold {
  const hold = locks.holds.get(key);
  assert(hold !== undefined, () => `${key} is indexed as held, but is not`);
  return hold;
}
