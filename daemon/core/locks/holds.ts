/**
 * Locks and waiters with their indexes: the only file that adds, removes or changes them.
 *
 * Invariants: every index holds exactly the locks and waiters that belong to it. An actor's row exists exactly while the
 * actor holds, waits for or lends a lock. The wait-for graph agrees with locks and waiters. Locks are in the order of their
 * places; the locks of one request share a place.
 */

import {
  type Actor,
  type Bound,
  boundKey,
  type FileName,
  type FileRef,
  type Origin,
  originKey,
} from "../frame/actors.ts";
import { addToSet, assert, removeFromSet } from "../frame/collections.ts";
import { formList, head } from "../frame/saved-rows.ts";
import type { Hold, Loan, Locks, Waiter } from "../tables/base-state.ts";
import {
  type ActorLocks,
  dropIfIdle,
  enlist,
  type LockKind,
  type LockRequest,
  locksOf,
  plainKey,
  rowOf,
} from "../tables/locks.ts";
import type { WaitGraph } from "../tables/waits.ts";
import {
  covers,
  isCovered,
  isMine,
  isOwn,
  lasts,
  lendersBut,
  lentBy,
  requestsOver,
  type Wanted,
} from "./blockers.ts";

// Updates the wait-for graph when a lock or an attached waiter is added, removed or changed.
//
// Invariants: a waiter waits behind a lock once per file that overlaps the lock, and behind an earlier waiter once per
// overlapping pair of files. It never waits for a file that it already has (see `isCovered`).

/** Whether a wait begins or ends. */
type Way = "begins" | "ends";

/** Adds the waits behind a lock; the caller has just added or changed the lock. */
function holdEnters(locks: Locks, hold: Hold): void {
  for (const wanted of requestsOver(locks, hold)) {
    if (wanted.waiter.origin === null) continue;
    if (isHadBy(locks, hold, wanted)) behindPlaces(locks, wanted, "ends");
    behindHold(locks, wanted, hold, "begins");
  }
}

/** Removes the waits behind a lock; the caller must not have changed the lock since `holdEnters`. */
function holdLeaves(locks: Locks, hold: Hold): void {
  for (const wanted of requestsOver(locks, hold)) {
    if (wanted.waiter.origin === null) continue;
    behindHold(locks, wanted, hold, "ends");
    if (isHadBy(locks, hold, wanted)) behindPlaces(locks, wanted, "begins");
  }
}

/** Adds the waits of a waiter that is now attached. */
function waiterEnters(locks: Locks, waiter: Waiter): void {
  rowOf(waiter).attached += 1;
  locks.graph.enter(waiter);
  relate(locks, waiter, "begins");
  locks.graph.entered(waiter);
}

/** Removes the waits of a waiter before it detaches; the caller must not have changed it since `waiterEnters`. */
function waiterLeaves(locks: Locks, waiter: Waiter): void {
  locks.graph.leave(waiter);
  relate(locks, waiter, "ends");
  rowOf(waiter).attached -= 1;
}

function relate(locks: Locks, waiter: Waiter, way: Way): void {
  for (const file of waiter.files) {
    const wanted = { waiter, file };
    for (const key of locks.heldPaths.overlapping(file.key, file.dir)) {
      const hold = locks.holds.get(key);
      if (hold !== undefined) behindHold(locks, wanted, hold, way);
    }
    for (const other of requestsOver(locks, file)) {
      if (other.waiter.origin === null || isMine(other.waiter.actor, waiter.actor)) continue;
      const [first, second] = other.waiter.ticket < waiter.ticket ? [other, wanted] : [wanted, other];
      if (!isCovered(locks, second.waiter, second.file)) behind(locks, second.waiter, first.waiter, way);
    }
  }
}

/** Whether the waiter has the file already because of this lock alone. */
function isHadBy(locks: Locks, hold: Hold, { waiter, file }: Wanted): boolean {
  if (!covers(hold, file) || !(isOwn(hold, waiter) || lentBy(hold, waiter.actor))) return false;
  return !isCovered(locks, waiter, file, hold);
}

function behindHold(locks: Locks, { waiter }: Wanted, hold: Hold, way: Way): void {
  if (isOwn(hold, waiter)) return;
  const { graph } = locks;
  if (way === "begins") graph.block(waiter);
  else graph.unblock(waiter);
  if (lasts(hold)) arrow(graph, waiter, rowOf(hold), way);
  for (const lender of lendersBut(hold, waiter.actor)) {
    const row = locksOf(locks.actors, lender);
    if (row !== undefined) arrow(graph, waiter, row, way);
  }
  if (hold.kind !== "turn" || hold.flights.length > 0) return;
  const { wanted } = rowOf(hold);
  const count = (wanted.get(hold.key) ?? 0) + (way === "begins" ? 1 : -1);
  if (count > 0) wanted.set(hold.key, count);
  else wanted.delete(hold.key);
}

/** Begins or ends the waiter's waits behind earlier waiters for the file: it has none while it has the file. */
function behindPlaces(locks: Locks, { waiter, file }: Wanted, way: Way): void {
  for (const other of requestsOver(locks, file)) {
    const { origin, ticket, actor } = other.waiter;
    if (origin !== null && ticket < waiter.ticket && !isMine(actor, waiter.actor))
      behind(locks, waiter, other.waiter, way);
  }
}

function behind({ graph }: Locks, waiter: Waiter, other: Waiter, way: Way): void {
  if (way === "begins") graph.block(waiter);
  else graph.unblock(waiter);
  arrow(graph, waiter, rowOf(other), way);
}

function arrow(graph: WaitGraph, waiter: Waiter, to: ActorLocks, way: Way): void {
  if (way === "begins") graph.join(rowOf(waiter), to, waiter.ticket);
  else graph.part(rowOf(waiter), to, waiter.ticket);
}

/** Adds a lock after all others; no one has a later place. */
export function addHold(locks: Locks, hold: Hold): void {
  assert(!locks.holds.has(hold.key), () => `${hold.key} is held already`);
  locks.holds.set(hold.key, hold);
  locks.heldPaths.add(hold.key, hold.dir);
  locks.heldWords.add(hold, hold.key);
  const row = enlist(locks.actors, hold.actor);
  hold.row = row;
  row.holds.add(hold);
  row.session.held += 1;
  if (goesWithTurn(hold)) row.turnHolds.add(hold.key);
  if (hold.flights.length > 0 || hold.expiredFlights !== undefined) row.flying.add(hold.key);
  for (const bound of boundsOf(hold)) addToSet(locks.byBound, boundKey(bound), hold.key);
  for (let { loan } = hold; loan !== null; loan = loan.loan)
    enlist(locks.actors, loan.actor).lent.add(hold.key);
  holdEnters(locks, hold);
}

export function removeHold(locks: Locks, hold: Hold): void {
  holdLeaves(locks, hold);
  locks.holds.delete(hold.key);
  locks.heldPaths.remove(hold.key, hold.dir);
  locks.heldWords.remove(hold, hold.key);
  for (const bound of boundsOf(hold)) removeFromSet(locks.byBound, boundKey(bound), hold.key);
  unlend(locks, hold);
  const row = rowOf(hold);
  row.holds.remove(hold);
  row.turnHolds.delete(hold.key);
  row.flying.delete(hold.key);
  row.session.held -= 1;
  dropIfIdle(locks.actors, row);
}

/** Corrects the places of locks from a snapshot of before locks had any: those that had been given back stood last. */
export function settlePlaces(locks: Locks): void {
  let last = 0;
  for (const hold of locks.holds.values()) {
    if (hold.place < last) locks.preimages.writable(hold).place = last;
    last = hold.place;
  }
}

/** Updates the lock by its holder's latest request: its spelling, subtree, kind and connection. */
export function renewHold(
  locks: Locks,
  hold: Hold,
  by: { file: FileRef; kind: LockKind; bound: Bound | null; prompt: string | null },
): void {
  const writable = locks.preimages.writable(hold);
  if (hold.lexical !== by.file.lexical) {
    locks.heldWords.remove(hold, hold.key);
    writable.lexical = by.file.lexical;
    writable.file = by.file.file;
    if (by.file.path !== undefined) writable.path = by.file.path;
    locks.heldWords.add(hold, hold.key);
  }
  if (by.bound !== null || by.kind === "explicit") {
    for (const bound of boundsOf(hold)) removeFromSet(locks.byBound, boundKey(bound), hold.key);
    writable.bound = by.bound;
    for (const bound of boundsOf(hold)) addToSet(locks.byBound, boundKey(bound), hold.key);
  }
  writable.prompt = by.prompt ?? hold.prompt;
  const [widens, lasts] = [by.file.dir && !hold.dir, by.kind === "explicit" && hold.kind !== "explicit"];
  if (!widens && !lasts) return;
  holdLeaves(locks, hold);
  if (widens) {
    locks.heldPaths.remove(hold.key, false);
    locks.heldPaths.add(hold.key, true);
    writable.dir = true;
  }
  if (lasts) writable.kind = "explicit";
  if (!goesWithTurn(hold)) rowOf(hold).turnHolds.delete(hold.key);
  holdEnters(locks, hold);
}

/** Sets the tool uses whose writes are in flight under the lock; earlier ones are over, `expiredFlights` perhaps not. */
export function setFlights(
  locks: Locks,
  hold: Hold,
  flights: readonly string[],
  expiredFlights?: readonly string[],
): void {
  const changes = flights.length > 0 !== hold.flights.length > 0;
  if (changes) holdLeaves(locks, hold);
  const writable = locks.preimages.writable(hold);
  writable.flights = flights;
  writable.unseen = undefined;
  writable.expiredFlights = expiredFlights;
  const { flying } = rowOf(hold);
  if (flights.length > 0 || expiredFlights !== undefined) flying.add(hold.key);
  else flying.delete(hold.key);
  if (changes) holdEnters(locks, hold);
}

/** Replaces the lock's loans, by fewer ones unless a command has it. */
export function setLoan(locks: Locks, hold: Hold, loan: Loan | null): void {
  holdLeaves(locks, hold);
  unlend(locks, hold);
  for (const bound of boundsOf(hold)) removeFromSet(locks.byBound, boundKey(bound), hold.key);
  locks.preimages.writable(hold).loan = loan;
  for (const bound of boundsOf(hold)) addToSet(locks.byBound, boundKey(bound), hold.key);
  for (let lent = loan; lent !== null; lent = lent.loan) enlist(locks.actors, lent.actor).lent.add(hold.key);
  if (!goesWithTurn(hold)) rowOf(hold).turnHolds.delete(hold.key);
  holdEnters(locks, hold);
}

export function addWaiter(locks: Locks, waiter: Waiter): void {
  locks.waiters.set(waiter.ticket, waiter);
  for (const file of waiter.files) {
    locks.waitedPaths.add(file.key, file.dir);
    locks.waitedWords.add(file, waiter.ticket);
    const tickets = locks.waitersAt.get(file.key);
    if (tickets === undefined) locks.waitersAt.set(file.key, new Map([[waiter.ticket, file]]));
    else tickets.set(waiter.ticket, file);
  }
  const row = enlist(locks.actors, waiter.actor);
  waiter.row = row;
  row.waits.add(waiter.ticket);
  if (waiter.kind === "turn") row.turnWaits.add(waiter.ticket);
  row.session.queued += waiter.files.length;
  if (waiter.origin !== null) attach(locks, waiter, waiter.origin);
}

export function removeWaiter(locks: Locks, waiter: Waiter): void {
  if (waiter.origin !== null) detach(locks, waiter, waiter.origin);
  locks.waiters.delete(waiter.ticket);
  for (const file of waiter.files) {
    locks.waitedPaths.remove(file.key, file.dir);
    locks.waitedWords.remove(file, waiter.ticket);
    const tickets = locks.waitersAt.get(file.key);
    tickets?.delete(waiter.ticket);
    if (tickets?.size === 0) locks.waitersAt.delete(file.key);
  }
  const row = rowOf(waiter);
  row.waits.delete(waiter.ticket);
  row.turnWaits.delete(waiter.ticket);
  row.session.queued -= waiter.files.length;
  dropIfIdle(locks.actors, row);
}

/** Attaches the waiter to `origin` with the terms of its actor's new request. It keeps its queue position. */
export function takeUpPlace(locks: Locks, waiter: Waiter, by: LockRequest, origin: Origin): void {
  attachWaiter(locks, waiter, null);
  const { turnWaits } = rowOf(waiter);
  if (by.kind === "turn") turnWaits.add(waiter.ticket);
  else turnWaits.delete(waiter.ticket);
  const {
    kind,
    prompt,
    flight,
    untoldMs,
    beside,
    bound,
    single,
    yieldMs,
    placeMs,
    detach,
    progress,
    waitMs,
    retry = null,
  } = by;
  const terms = { kind, prompt, flight, untoldMs, beside, bound, single, yieldMs };
  const fields = { ...terms, placeMs, detach, progress, waitMs, retry };
  Object.assign(locks.preimages.writable(waiter), fields satisfies Partial<Waiter>);
  attachWaiter(locks, waiter, origin);
}

/** Sets where the waiter's answer goes; null detaches the waiter. */
export function attachWaiter(locks: Locks, waiter: Waiter, origin: Origin | null): void {
  if (waiter.origin !== null) detach(locks, waiter, waiter.origin);
  locks.preimages.writable(waiter).origin = origin;
  if (origin !== null) attach(locks, waiter, origin);
}

/** Returns the actor's own lock: by the path as it was locked, else by key. */
export function ownHold(locks: Locks, actor: Actor, file: FileName, node: string): Hold | undefined {
  const mine = locksOf(locks.actors, actor);
  if (mine === undefined || mine.holds.size === 0) return undefined;
  const found = holdByWords(locks, file, node, hold => hold.row === mine);
  if (found !== undefined) return found;
  const byKey = file.key === null ? undefined : locks.holds.get(file.key);
  return byKey?.row === mine ? byKey : undefined;
}

/** Returns any holder's lock: by key, else by the path as it was locked. */
export function namedHold(locks: Locks, file: FileName, node: string): Hold | undefined {
  const byKey = file.key === null ? undefined : locks.holds.get(file.key);
  return byKey ?? holdByWords(locks, file, node, () => true);
}

/** Returns the actor's earliest waiter for the file, by the path as it was requested or by key. */
export function ownPlace(locks: Locks, actor: Actor, file: FileName, node: string): Waiter | undefined {
  const mine = locksOf(locks.actors, actor)?.waits;
  if (mine === undefined || mine.size === 0) return undefined;
  const tickets = [...locks.waitedWords.at(file.lexical)];
  for (const [ticket, { lexical }] of locks.waitersAt.get(plainKey(node, file.lexical)) ?? []) {
    if (lexical === file.lexical) tickets.push(ticket);
  }
  if (file.key !== null) tickets.push(...(locks.waitersAt.get(file.key)?.keys() ?? []));
  const [first] = tickets.filter(ticket => mine.has(ticket)).sort((a, b) => a - b);
  return first === undefined ? undefined : locks.waiters.get(first);
}

function holdByWords(
  locks: Locks,
  { lexical }: FileName,
  node: string,
  isMeant: (hold: Hold) => boolean,
): Hold | undefined {
  const plain = locks.holds.get(plainKey(node, lexical));
  if (plain !== undefined && plain.lexical === lexical && isMeant(plain)) return plain;
  const others = locks.heldWords.at(lexical).flatMap(key => locks.holds.get(key) ?? []);
  return others.find(isMeant);
}

/** Whether the end of its holder's turn releases the lock or returns it to its lender. A command outlives the turn. */
function goesWithTurn({ kind, loan, actor }: Hold): boolean {
  return kind === "turn" || (loan !== null && actor.command === undefined);
}

function attach(locks: Locks, waiter: Waiter, origin: Origin): void {
  locks.byOrigin.set(originKey(origin), waiter.ticket);
  waiterEnters(locks, waiter);
}

function detach(locks: Locks, waiter: Waiter, origin: Origin): void {
  locks.byOrigin.delete(originKey(origin));
  waiterLeaves(locks, waiter);
}

function unlend(locks: Locks, { key, loan }: Hold): void {
  for (let lent = loan; lent !== null; lent = lent.loan) {
    const row = locksOf(locks.actors, lent.actor);
    if (row === undefined) continue;
    row.lent.delete(key);
    dropIfIdle(locks.actors, row);
  }
}

/** Returns the connections that the lock and its loans are bound to. */
function boundsOf(hold: Hold): Bound[] {
  const bounds = hold.bound === null ? [] : [hold.bound];
  for (let { loan } = hold; loan !== null; loan = loan.loan) if (loan.bound !== null) bounds.push(loan.bound);
  return bounds;
}

// What a snapshot has of locks and waiters.

type PlainHold = Omit<Hold, "row" | "placeInRow" | "place"> & {
  /** Absent: that of its first token. */
  readonly place?: number | undefined;
};
type PlainWaiter = Omit<Waiter, "row" | "blockers">;

export const lockRows = {
  head: head(
    ({ grants, expiredWrites }: Locks) => ({ grants, expiredWrites: [...expiredWrites] }),
    (locks, { grants, expiredWrites }) => {
      locks.grants = grants;
      for (const [flight, write] of expiredWrites) locks.expiredWrites.set(flight, write);
    },
  ),
  lists: {
    holds: formList(
      (locks: Locks) => locks.holds,
      plainHold,
      (locks, hold) => addHold(locks, holdOf(hold)),
    ),
    waiters: formList(
      (locks: Locks) => locks.waiters,
      plainWaiter,
      (locks, waiter) => addWaiter(locks, { ...waiter, row: null, blockers: null }),
    ),
  },
};

/** Copies the fields in a fixed order, whatever created the object. Naming each is by far the fastest way to copy. */
function plainHold(hold: Hold): PlainHold {
  return {
    key: hold.key,
    path: hold.path,
    file: hold.file,
    lexical: hold.lexical,
    dir: hold.dir,
    actor: hold.actor,
    kind: hold.kind,
    prompt: hold.prompt,
    bound: hold.bound,
    token: hold.token,
    first: hold.first,
    place: hold.place === hold.first.grant ? undefined : hold.place,
    since: hold.since,
    touched: hold.touched,
    renewed: hold.renewed,
    yieldMs: hold.yieldMs,
    flights: hold.flights,
    unseen: hold.unseen,
    expiredFlights: hold.expiredFlights,
    ancestors: hold.ancestors,
    loan: hold.loan,
    origin: hold.origin,
    askedAgain: hold.askedAgain,
    retry: hold.retry,
  };
}

/** Returns a lock as it was written; `addHold` puts it in its row. */
function holdOf(plain: PlainHold): Hold {
  return {
    key: plain.key,
    path: plain.path,
    file: plain.file,
    lexical: plain.lexical,
    dir: plain.dir,
    actor: plain.actor,
    kind: plain.kind,
    prompt: plain.prompt,
    bound: plain.bound,
    token: plain.token,
    first: plain.first,
    place: plain.place ?? plain.first.grant,
    since: plain.since,
    touched: plain.touched,
    renewed: plain.renewed,
    yieldMs: plain.yieldMs,
    flights: plain.flights,
    unseen: plain.unseen,
    expiredFlights: plain.expiredFlights,
    ancestors: plain.ancestors,
    loan: plain.loan,
    origin: plain.origin,
    askedAgain: plain.askedAgain,
    retry: plain.retry,
    row: null,
    placeInRow: 0,
  };
}

function plainWaiter(waiter: Waiter): PlainWaiter {
  return {
    ticket: waiter.ticket,
    origin: waiter.origin,
    actor: waiter.actor,
    files: waiter.files,
    single: waiter.single,
    kind: waiter.kind,
    prompt: waiter.prompt,
    flight: waiter.flight,
    untoldMs: waiter.untoldMs,
    beside: waiter.beside,
    yieldMs: waiter.yieldMs,
    ancestors: waiter.ancestors,
    bound: waiter.bound,
    placeMs: waiter.placeMs,
    detach: waiter.detach,
    progress: waiter.progress,
    since: waiter.since,
    waitMs: waiter.waitMs,
    deadline: waiter.deadline,
    waitEnd: waiter.waitEnd,
    retry: waiter.retry,
  };
}
