/**
 * Who stands between a request and its files.
 *
 * A request is blocked by holds of other actors that overlap its files, and by attached requests of other actors
 * that joined the line before it and overlap them (first come, first served; no barging). Detached places are
 * passed over, and what the actor has already it need not wait for.
 */

import { type Actor, sameActor } from "../actor.ts";
import type { FileRef } from "../file-ref.ts";
import type { Hold, Loan, Locks, Waiter } from "../state.ts";

export interface Ask {
  readonly actor: Actor;
  readonly files: readonly FileRef[];
  /** Its place in line; a new request is last. */
  readonly ticket: number;
  readonly ancestors: readonly (string | null)[];
}

/** Who asks, and for whom he works. */
export type Asker = Pick<Ask, "actor" | "ancestors">;

export type Blocker =
  | { readonly by: "hold"; readonly actor: Actor; readonly file: FileRef; readonly hold: Hold }
  | { readonly by: "place"; readonly actor: Actor; readonly file: FileRef; readonly waiter: Waiter };

/** A request in line, and one of its files. */
export interface Wanted {
  readonly waiter: Waiter;
  readonly file: FileRef;
}

/** What of a hold or a file says which paths it is about. */
type Place = Pick<FileRef, "key" | "dir">;

/** Every blocker, holders first. */
export function* blockers(locks: Locks, ask: Ask): Generator<Blocker, void> {
  for (const file of ask.files) {
    for (const key of locks.heldPaths.overlapping(file.key, file.dir)) {
      const hold = holdAt(locks, key);
      const mine = isOwn(hold, ask);
      if (!mine) yield { by: "hold", actor: hold.actor, file, hold };
    }
  }
  if (locks.waiters.size === 0) return;
  for (const file of ask.files) {
    if (isCovered(locks, ask, file)) continue;
    for (const waiter of waitersOver(locks, file)) {
      const attached = waiter.origin !== null;
      if (waiter.ticket < ask.ticket && attached && !sameActor(waiter.actor, ask.actor)) {
        yield { by: "place", actor: waiter.actor, file, waiter };
      }
    }
  }
}

/** The actor's own, or an ancestor's that nothing writes to at the moment: it passes on at once. */
export function isOwn(hold: Hold, { actor, ancestors }: Asker): boolean {
  if (sameActor(hold.actor, actor)) return true;
  const { session, agent, incarnation } = hold.actor;
  if (session !== actor.session || incarnation !== actor.incarnation) return false;
  return hold.flights.length === 0 && ancestors.includes(agent);
}

/** Whether the hold is in truth one of this actor's. */
export function lentBy(hold: Hold, lender: Actor): boolean {
  for (let { loan } = hold; loan !== null; loan = loan.loan) if (sameActor(loan.actor, lender)) return true;
  return false;
}

/** Whether who holds `hold` has all of `file` already, which overlaps it: then nobody stands before it in line. */
export function covers(hold: Hold, file: Place): boolean {
  if (hold.key === file.key) return hold.dir || !file.dir;
  return hold.dir && hold.key.length < file.key.length;
}

/**
 * Whether the asker has the file already, by another hold than `but`. What is lent comes back: nobody stands before
 * its lender in line.
 */
export function isCovered(locks: Locks, asker: Asker, file: FileRef, but?: Hold): boolean {
  for (const key of locks.heldPaths.around(file.key)) {
    const hold = holdAt(locks, key);
    if (hold !== but && covers(hold, file) && (isOwn(hold, asker) || lentBy(hold, asker.actor))) return true;
  }
  return false;
}

/** Who has to act before the hold is out of the asker's way: nobody where it yields by itself. */
export function mustGiveUp(hold: Hold, asker: Actor): Actor[] {
  const lenders = lendersBut(hold, asker);
  return lasts(hold) ? [hold.actor, ...lenders] : [...lenders];
}

/** Whether the hold does not yield by itself to who waits. */
export function lasts({ kind, flights }: Hold): boolean {
  return kind === "explicit" || flights.length > 0;
}

/** To whom the hold comes back before the asker could have it: what comes back to the asker is in nobody's way then. */
export function lendersBut(hold: Hold, asker: Actor): readonly Actor[] {
  if (hold.loan === null) return noLenders;
  const lenders: Actor[] = [];
  for (let loan: Loan | null = hold.loan; loan !== null && !sameActor(loan.actor, asker); loan = loan.loan)
    lenders.push(loan.actor);
  return lenders;
}

const noLenders: readonly Actor[] = [];

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

/** Requests in line for something that overlaps `file`, once for each of their files that does. */
export function requestsOver(locks: Locks, file: Place): Iterable<Wanted> {
  const { waitedPaths, waitersAt } = locks;
  if (waitersAt.size === 0) return nobody;
  if (file.dir) return requestsBelow(locks, file);
  if (!waitedPaths.hasFolders) return waitersAt.has(file.key) ? requestsAt(locks, file, [file.key]) : nobody;
  return requestsAt(locks, file, waitedPaths.around(file.key));
}

const nobody: readonly Wanted[] = [];

/** As lazily as they are asked for: there may be many. */
function* requestsBelow(locks: Locks, file: Place): Generator<Wanted, void> {
  for (const key of locks.waitedPaths.overlapping(file.key, true)) yield* requestsAt(locks, file, [key]);
}

function requestsAt(locks: Locks, file: Place, keys: readonly string[]): Wanted[] {
  const found: Wanted[] = [];
  for (const key of keys) {
    for (const [ticket, wanted] of locks.waitersAt.get(key) ?? []) {
      const waiter = locks.waiters.get(ticket);
      if (waiter === undefined) throw new Error(`request ${ticket} is indexed as waiting, but does not`);
      if (overlaps(wanted, file)) found.push({ waiter, file: wanted });
    }
  }
  return found;
}

/** Requests in line for something that overlaps `file`, each once. */
export function* waitersOver(locks: Locks, file: Place): Generator<Waiter, void> {
  const seen = new Set<Waiter>();
  for (const { waiter } of requestsOver(locks, file)) {
    if (seen.has(waiter)) continue;
    seen.add(waiter);
    yield waiter;
  }
}

/** The first of `files` that overlaps one of `others`. */
export function overlapOf(files: readonly FileRef[], others: readonly Place[]): FileRef | undefined {
  return files.find(file => others.some(other => overlaps(file, other)));
}

export function overlaps(a: Place, b: Place): boolean {
  return isWithin(a, b) || isWithin(b, a);
}

function isWithin(a: Place, b: Place): boolean {
  return a.key === b.key || (b.dir && a.key.startsWith(`${b.key}/`));
}

function holdAt(locks: Locks, key: string): Hold {
  const hold = locks.holds.get(key);
  if (hold === undefined) throw new Error(`${key} is indexed as held, but is not`);
  return hold;
}
