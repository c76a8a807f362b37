/**
 * Releases locks and removes waiters: by their actor, by force, with a connection, at the end of a turn or session.
 * Invariants: a request that names a file its actor neither has nor waits for releases nothing. An actor releases its own
 * locks first, then what its commands have.
 */

import { refuse } from "../../../protocol/codes.ts";
import { limits } from "../../../protocol/limits.ts";
import { isResource } from "../../../protocol/names.ts";
import {
  type Actor,
  boundKey,
  type FileName,
  type Origin,
  originKey,
  sameActor,
  sameOwner,
} from "../frame/actors.ts";
import type { Meta } from "../tables/base-state.ts";
import {
  type BaseState,
  forgetReply,
  type Hold,
  type Loan,
  type Locks,
  type TimerRules,
  timer,
  type Waiter,
} from "../tables/base-state.ts";
import type { CommandOf, Due, Step } from "../tables/entries.ts";
import {
  type ActorLocks,
  type LockDues,
  type LockRelease,
  locksOf,
  type OfLock,
  type OfWaiter,
  rowsOfActor,
  rowsOfSession,
} from "../tables/locks.ts";
import { actorRow, fileLists, projectOf, tokenText } from "../tables/naming.ts";
import { forgetConflicts } from "../tables/notices.ts";
import { firstBlocker, waitOver } from "./blockers.ts";
import { announceGrant, answerWaiter, detachWaiter, dismiss, dismissAll } from "./grant.ts";
import { attachWaiter, namedHold, ownHold, ownPlace, removeHold, removeWaiter } from "./holds.ts";
import { dropLoans, loanOf, loansOf, returnHold, setHeard, withoutAnswer } from "./inherit.ts";
import {
  leaseMsOf,
  leaseResource,
  resourceLeaseOverAt,
  tellLeaseOver,
  unseenOverAt,
  yieldAt,
  yieldLater,
} from "./leases.ts";
import { expireUnseen, expireWrites } from "./writes.ts";

export function lockRelease(
  state: BaseState,
  request: CommandOf<"lock_release">,
  meta: Meta,
  step: Step,
): void {
  const { locks } = state;
  const { actor } = request;
  const { node } = meta.origin;
  if (request.files === "all") {
    releaseEverything(state, actor, step);
    return;
  }
  const holds = new Set<Hold>();
  const loans = new Set<Hold>();
  const places = new Set<Waiter>();
  const parts: Part[] = [];
  for (const file of request.files) {
    const hold = ownHold(locks, actor, file, node);
    const place = ownPlace(locks, actor, file, node);
    const used = hold === undefined ? namedHold(locks, file, node) : undefined;
    const lent = used !== undefined && loanOf(used, actor) !== undefined ? used : undefined;
    if (hold !== undefined) holds.add(hold);
    if (place !== undefined) places.add(place);
    if (lent !== undefined) loans.add(lent);
    if (hold !== undefined || place !== undefined || lent !== undefined) continue;
    const theirs = commandsOf(locks, actor).map(command => ({
      actor: command,
      holds: [ownHold(locks, command, file, node) ?? []].flat(),
      places: [ownPlace(locks, command, file, node) ?? []].flat(),
    }));
    const found = theirs.filter(one => one.holds.length > 0 || one.places.length > 0);
    parts.push(...found);
    if (found.length === 0) {
      const error = `${file.file} is neither held nor waited for by ${actorRow(state, actor).name}; nothing was released`;
      step.reply = refuse("not_held", error, { file: file.file });
      return;
    }
  }
  step.reply = { ok: true, released: request.files.map(f => f.file) };
  for (const hold of loans) endLoans(state, hold, loan => sameOwner(loan.actor, actor), step);
  for (const hold of parts.flatMap(part => part.holds))
    endLoans(state, hold, loan => sameActor(loan.actor, actor), step);
  releaseParts(state, [{ actor, holds: [...holds], places: [...places] }, ...parts], "unlocked", step);
}

// The releases that `applyUnheard` applies: one file, named as it was locked, while nobody waits for any.

/** Returns the lock to release if it is the actor's own, on one file, and nobody waits for any; else null. */
export function ownOne(state: BaseState, { actor, files }: LockRelease, node: string): Hold | null {
  const { locks } = state;
  if (files === "all" || files.length !== 1 || locks.waiters.size > 0) return null;
  const [file] = files;
  const hold = file === undefined ? undefined : heldAsNamed(state, file, node);
  if (hold === undefined || hold.loan !== null || hold.row !== locksOf(locks.actors, actor)) return null;
  // The writes of a command's actor may outlast the lock.
  return hold.actor.command !== undefined && hold.row.flying.has(hold.key) ? null : hold;
}

/** Returns the lock on the file if its key is the path as named: no link and no folding of case is involved. */
function heldAsNamed({ locks }: BaseState, { key, lexical }: FileName, node: string): Hold | undefined {
  if (key === null || key.length !== node.length + 1 + lexical.length) return undefined;
  if (!key.endsWith(lexical) || !key.startsWith(node) || key[node.length] !== ":") return undefined;
  const hold = locks.holds.get(key);
  return hold?.lexical === lexical ? hold : undefined;
}

/** Returns the commands of the actor that have locks or waiters; none of a command. */
function commandsOf(locks: Locks, actor: Actor): Actor[] {
  const all = rowsOfActor(locks.actors, actor).map(row => row.actor);
  return all.filter(one => !sameOwner(one, actor));
}

function releaseEverything(state: BaseState, actor: Actor, step: Step): void {
  const rows = rowsOfActor(state.locks.actors, actor);
  if (rows.length === 0) {
    step.reply = { ok: true, released: [] };
    return;
  }
  // Sorted, so that replay visits them in the same order.
  const lent = rows.flatMap(row => [...row.lent].sort()).flatMap(key => state.locks.holds.get(key) ?? []);
  const released = new Set([...rows.flatMap(row => holdsOf(state, row)), ...lent]);
  const parts = rows.map(row => ({
    actor: row.actor,
    holds: holdsOf(state, row),
    places: placesOf(state, row),
  }));
  const isMeant = (loan: Loan) => rows.some(row => sameOwner(loan.actor, row.actor));
  for (const hold of new Set(lent)) endLoans(state, hold, isMeant, step);
  releaseParts(state, parts, "unlocked", step);
  step.reply = { ok: true, released: [...released].map(hold => hold.file) };
}

/** Ends the loans that `isMeant` selects: the lock no longer returns to their lenders, and may yield from now on. */
export function endLoans(state: BaseState, hold: Hold, isMeant: (loan: Loan) => boolean, step: Step): Loan[] {
  const dropped = dropLoans(state, hold, isMeant);
  if (dropped.length > 0) yieldLater(hold, step);
  return dropped;
}

/** Ends loans whose clients are gone, and forgets their kept replies: a retry must not be told that it has the lock. */
function disconnectLoans(state: BaseState, hold: Hold, isMeant: (loan: Loan) => boolean, step: Step): void {
  for (const { retry } of endLoans(state, hold, isMeant, step)) if (retry !== null) forgetReply(state, retry);
}

export function lockRevoke(
  state: BaseState,
  request: CommandOf<"lock_revoke">,
  meta: Meta,
  step: Step,
): void {
  const holds: Hold[] = [];
  for (const file of request.files) {
    const hold = namedHold(state.locks, file, meta.origin.node);
    if (hold === undefined) {
      step.reply = refuse("not_held", `${file.file} is not locked; nothing was released`, {
        file: file.file,
      });
      return;
    }
    holds.push(hold);
  }
  step.reply = { ok: true, released: request.files.map(f => f.file) };
  for (const hold of new Set(holds)) {
    // The lenders lose the lock too.
    for (const { actor } of [hold, ...loansOf(hold)]) {
      const holder = actorRow(state, actor);
      const event = { event: "lock_revoked" as const, ...fileLists([hold]), holder, by: request.by };
      step.events.push({ event, about: [actor.session], project: projectOf(state, actor) ?? "" });
    }
    releaseParts(state, [{ actor: hold.actor, holds: [hold], places: [] }], "revoked", step);
  }
}

export function lockDetach(
  state: BaseState,
  request: CommandOf<"lock_detach">,
  _meta: Meta,
  step: Step,
): void {
  step.reply = { ok: true };
  const ticket = state.locks.byOrigin.get(originKey(request.waiter));
  const waiter = ticket === undefined ? undefined : state.locks.waiters.get(ticket);
  if (waiter === undefined) {
    // The request was answered before its connection closed, and the client cannot have read the answer.
    if (request.kept !== undefined) forgetReply(state, request.kept, request.waiter);
    return;
  }
  if (waiter.detach) detachWaiter(state, waiter, limits.placeMs, step);
  else {
    attachWaiter(state.locks, waiter, null);
    dismiss(state, waiter, refuse("lock_given_up", "the connection closed"), "disconnected", step);
  }
}

export function lockUndelivered(
  state: BaseState,
  request: CommandOf<"lock_undelivered">,
  _meta: Meta,
  step: Step,
): void {
  step.reply = { ok: true };
  const { actor } = request;
  const lost = request.waiter;
  const holds = request.keys.flatMap(key => {
    const hold = state.locks.holds.get(key);
    if (hold === undefined || !sameActor(hold.actor, actor)) return [];
    const answers = withoutAnswer(hold, lost);
    if (answers === null) return [hold];
    const writable = state.preimages.writable(hold);
    writable.origin = answers.origin;
    writable.askedAgain = answers.askedAgain;
    return [];
  });
  if (request.kept !== undefined) forgetReply(state, request.kept, request.waiter);
  for (const key of request.keys) {
    const hold = state.locks.holds.get(key);
    if (hold !== undefined) unheardLoans(state, hold, actor, lost, step);
  }
  releaseParts(state, [{ actor, holds, places: [] }], "undelivered", step);
}

/** Ends the lender's loans of the lock if no answer about them was delivered. */
function unheardLoans(state: BaseState, hold: Hold, lender: Actor, lost: Origin, step: Step): void {
  for (const loan of loansOf(hold)) {
    const answers = sameActor(loan.actor, lender) ? withoutAnswer(loan, lost) : loan;
    if (answers === null) disconnectLoans(state, hold, one => one === loan, step);
    else if (answers !== loan) setHeard(state, hold, loan, answers);
  }
}

export function lockUnbind(
  state: BaseState,
  request: CommandOf<"lock_unbind">,
  _meta: Meta,
  step: Step,
): void {
  step.reply = { ok: true };
  const gone = boundKey(request.bound);
  const isGone = ({ bound }: Pick<Hold, "bound">) => bound !== null && boundKey(bound) === gone;
  for (const key of [...(state.locks.byBound.get(gone) ?? [])].sort()) {
    const hold = state.locks.holds.get(key);
    if (hold === undefined) continue;
    // The loans end first: a released lock must not return to a lender bound to the same connection.
    disconnectLoans(state, hold, isGone, step);
    if (isGone(hold))
      releaseParts(state, [{ actor: hold.actor, holds: [hold], places: [] }], "disconnected", step);
  }
}

export function turnEnd(state: BaseState, request: CommandOf<"turn_end">, _meta: Meta, step: Step): void {
  step.reply = { ok: true };
  const { actor, keepPrompt, untilMs } = request;
  // What was told since then belongs to another turn.
  if (untilMs === undefined) forgetConflicts(state, actor, keepPrompt);
  const mine = locksOf(state.locks.actors, actor);
  if (mine !== undefined) releaseTurn(state, mine, keepPrompt, "turn ended", step, untilMs);
}

/**
 * Releases an actor's turn locks and ends its waits for some, but for those of `keepPrompt` and those that began after
 * `untilMs`. Returns the locks.
 */
export function releaseTurn(
  state: BaseState,
  row: ActorLocks,
  keepPrompt: string | null,
  cause: string,
  step: Step,
  untilMs = Number.POSITIVE_INFINITY,
): readonly Hold[] {
  const { actor } = row;
  const isOver = ({ prompt }: Hold | Waiter) => keepPrompt === null || prompt !== keepPrompt;
  const holds = holdsAt(state, row.turnHolds).filter(hold => isOver(hold) && hold.touched <= untilMs);
  const places = placesAt(state, row.turnWaits).filter(one => isOver(one) && one.since <= untilMs);
  if (keepPrompt === null && holds.length === row.turnHolds.size) endBorrowing(state, actor, row, step);
  releaseParts(state, [{ actor, holds, places }], cause, step);
  return holds;
}

/** Ends loans of locks that the actor had borrowed and lent on: after its turn they return to the original lender. */
function endBorrowing(state: BaseState, actor: Actor, { lent }: ActorLocks, step: Step): void {
  const isBorrowed = (loan: Loan) => sameOwner(loan.actor, actor) && loan.loan !== null;
  for (const key of [...lent].sort()) {
    const hold = state.locks.holds.get(key);
    if (hold !== undefined) endLoans(state, hold, isBorrowed, step);
  }
}

/** The locks and waiters that one actor gives up. */
interface Part {
  readonly actor: Actor;
  readonly holds: readonly Hold[];
  readonly places: readonly Waiter[];
}

/** Releases all locks and waiters of these actors. */
function releaseAll(
  state: BaseState,
  rows: readonly ActorLocks[],
  cause: string,
  step: Step,
  final = false,
): void {
  const parts = rows.map(row => ({
    actor: row.actor,
    holds: holdsOf(state, row),
    places: placesOf(state, row),
  }));
  releaseParts(state, parts, cause, step, final);
}

/** Releases all locks and waiters of a session, or of one of its incarnations. */
export function releaseSession(
  state: BaseState,
  session: string,
  incarnation: number | null,
  cause: string,
  step: Step,
): void {
  releaseAll(state, rowsOfSession(state.locks.actors, session, incarnation), cause, step, true);
}

/** Causes that end a lock while its holder may still be writing: one that yields has no writes but expired ones. */
const cutShort: ReadonlySet<string> = new Set([
  "lease over",
  "revoked",
  "lost",
  "disconnected",
  "given back",
  "yielded",
]);
/** Causes that end a command's lock, which says nothing of what its actor writes meanwhile. */
const commandOver: ReadonlySet<string> = new Set(["unlocked", "undelivered"]);
/** Causes that also drop the kept reply, so that a retry is not told that it still has the lock. */
const unheard: ReadonlySet<string> = new Set(["disconnected", "undelivered"]);

/**
 * Removes every part. The end of the step grants what became free, so no leaving actor gets it. A borrowed lock
 * returns to its lender, unless `final`.
 */
export function releaseParts(
  state: BaseState,
  parts: readonly Part[],
  cause: string,
  step: Step,
  final = cause === "revoked",
): void {
  for (const { actor, holds, places } of parts) {
    const holder = actorRow(state, actor);
    const project = projectOf(state, actor) ?? "";
    if (holds.length > 0) state.sessions.revisions.changed(actor.session);
    for (const hold of holds) {
      if (unheard.has(cause) && hold.retry !== null) forgetReply(state, hold.retry);
      removeHold(state.locks, hold);
      const back = final ? null : returnHold(state, hold);
      const goesOn = back !== null && sameActor(back.actor, hold.actor);
      if (isCutShort(state, hold, cause) && !goesOn) expireWrites(state, hold);
      if (back !== null) {
        announceGrant(state, { actor: back.actor, files: [back] }, tokenText(state, back.token), 0, step);
        if (isResource(back.lexical)) leaseResource(state, back, step);
      }
    }
    const reply = refuse("lock_given_up", `the wait was given up: ${cause}`, { queued: false });
    dismissAll(state, actor, places, reply, cause, step);
    if (holds.length > 0) {
      const event = { event: "lock_released" as const, ...fileLists(holds), holder, cause };
      const heldMs = holds.slice(0, event.paths.length).map(hold => state.t - hold.since);
      step.events.push({ event, about: [], project, heldMs });
    }
  }
}

/** Whether the lock ends while its holder may still be writing. */
function isCutShort({ rules }: BaseState, { actor }: Hold, cause: string): boolean {
  return cutShort.has(cause) || (rules >= 2 && actor.command !== undefined && commandOver.has(cause));
}

export function holdsOf(state: BaseState, row: ActorLocks): Hold[] {
  return holdsAt(state, row.holds);
}

export function placesOf(state: BaseState, row: ActorLocks): Waiter[] {
  return placesAt(state, row.waits);
}

function holdsAt(state: BaseState, keys: Iterable<string>): Hold[] {
  return [...keys].flatMap(key => state.locks.holds.get(key) ?? []);
}

function placesAt(state: BaseState, tickets: Iterable<number>): Waiter[] {
  return [...tickets].flatMap(ticket => state.locks.waiters.get(ticket) ?? []);
}

// What passes with time for locks: waits, leases, yields, and the grace of a connection that closed.

export const lockTimers: TimerRules<keyof LockDues> = {
  wait_over: timer(waiterAt, waiter => (waiter.origin === null ? null : waiter.deadline), waitIsOver),
  place_over: timer(
    waiterAt,
    waiter => (waiter.origin === null ? waiter.deadline : null),
    ({ locks }, waiter) => removeWaiter(locks, waiter),
  ),
  turn_lease_over: timer(holdAt, turnLeaseOverAt, (state, hold, step) =>
    dropHold(state, hold, "lease over", step),
  ),
  resource_lease_over: timer(holdAt, resourceLeaseOverAt, (state, hold, step) => {
    tellLeaseOver(state, hold);
    dropHold(state, hold, "lease over", step);
  }),
  yield_over: timer(holdAt, yieldAt, (state, hold, step) => dropHold(state, hold, "yielded", step)),
  unseen_over: timer(holdAt, unseenOverAt, expireUnseen),
  bound_over: timer(boundAt, boundOverAt, (state, { hold, part }, step) =>
    part === hold
      ? dropHold(state, hold, "disconnected", step)
      : disconnectLoans(state, hold, loan => loan === part, step),
  ),
  // Every step ends with `grantWaiters`.
  grants_left: { at: state => (state.locks.graph.freeCount > 0 ? state.t : null), over: () => {} },
};

export function* lockDues({ locks }: BaseState): Generator<Due> {
  for (const { ticket } of locks.waiters.values()) {
    yield { what: "wait_over", ticket };
    yield { what: "place_over", ticket };
  }
  for (const hold of locks.holds.values()) {
    const { key, first, kind } = hold;
    const named = { key, first: first.grant };
    if (kind === "turn") {
      yield { what: "turn_lease_over", ...named };
      yield { what: "yield_over", ...named };
    }
    if (resourceLeaseOverAt(hold) !== null) yield { what: "resource_lease_over", ...named };
    if (hold.unseen !== undefined) yield { what: "unseen_over", ...named };
    for (const { bound, first: part } of [hold, ...loansOf(hold)])
      if (bound !== null) yield { what: "bound_over", key, first: part.grant };
  }
}

function waiterAt({ locks }: BaseState, { ticket }: OfWaiter): Waiter | undefined {
  return locks.waiters.get(ticket);
}

function holdAt({ locks }: BaseState, due: OfLock): Hold | undefined {
  const hold = locks.holds.get(due.key);
  return hold?.first.grant === due.first ? hold : undefined;
}

/** Returns the lock that `due` means, or the loan of it, with the lock as it is used. */
function boundAt({ locks }: BaseState, due: OfLock) {
  const hold = locks.holds.get(due.key);
  const part = hold && [hold, ...loansOf(hold)].find(({ first }) => first.grant === due.first);
  return hold && part && { hold, part };
}

function boundOverAt({ part: { bound } }: { readonly part: Pick<Hold, "bound"> }, { nodes }: BaseState) {
  const start = bound === null ? undefined : nodes.get(bound.node);
  return start === undefined || bound?.epoch === start.epoch ? null : start.at + limits.boundGraceMs;
}

function turnLeaseOverAt(hold: Hold): number | null {
  return hold.kind === "turn" ? Math.max(hold.touched, hold.renewed ?? 0) + leaseMsOf(hold) : null;
}

function waitIsOver(state: BaseState, waiter: Waiter, step: Step): void {
  const reply = waitOver(state, waiter, firstBlocker(state.locks, waiter));
  if (waiter.placeMs === 0) {
    dismiss(state, waiter, reply, "timed out", step);
  } else {
    answerWaiter(state, waiter, reply, false, step);
    detachWaiter(state, waiter, waiter.placeMs, step);
  }
}

function dropHold(state: BaseState, hold: Hold, cause: string, step: Step): void {
  releaseParts(state, [{ actor: hold.actor, holds: [hold], places: [] }], cause, step);
}
