/** Grants, refuses or queues a lock request. Invariant: the handler checks everything before it changes anything. */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import { type FileRef, type Origin, sameActor } from "../frame/actors.ts";
import {
  type BaseState,
  conflict,
  ensureSession,
  type Meta,
  noRoomForSession,
  type Session,
  type Token,
  type Waiter,
} from "../tables/base-state.ts";
import type { CommandOf, Step } from "../tables/entries.ts";
import { countOfSession, type LockRequest, locksOf } from "../tables/locks.ts";
import { actorRow, fileLists, projectOf } from "../tables/naming.ts";
import {
  type Ask,
  type Blocker,
  cycleByGrant,
  cycleByReturning,
  cycleByWaiting,
  deadlock,
  firstBlocker,
  grantReply,
  isCovered,
  lockHeld,
  queueFull,
  waitersOver,
} from "./blockers.ts";
import { freezeOn, refuseFrozen } from "./freezes.ts";
import { announceGrant, grantWaiter, newHold, take } from "./grant.ts";
import { addHold, addWaiter, removeWaiter, renewHold, takeUpPlace } from "./holds.ts";
import { toldAgain } from "./inherit.ts";
import { yieldForWait } from "./leases.ts";
import { endWrites } from "./writes.ts";

export function lockRequest(
  state: BaseState,
  request: CommandOf<"lock_request">,
  meta: Meta,
  step: Step,
): void {
  // A new write by the same actor implies that its previous write ended, even if no end event arrived.
  if (request.flight !== null && request.beside !== true) endWrites(state, request.actor, null, step);
  const refused = mayAsk(state, request);
  if (refused !== null) {
    step.reply = refused;
    return;
  }
  const held = state.freezes.all.size === 0 ? null : freezeOn(state, request);
  if (held !== null) {
    step.reply = refuseFrozen(state, held, request);
    return;
  }
  const place = placeOf(state, request);
  if (place?.origin !== undefined && place.origin !== null) {
    if (request.retry === undefined || place.retry?.requestId !== request.retry.requestId) {
      step.reply = refuse("already_queued", "already queued for this file", { queued: true });
      return;
    }
    if (place.retry.digest !== request.retry.digest) {
      step.reply = conflict(request.retry);
      return;
    }
  }
  if (place !== null && sameFiles(place.files, request.files)) {
    const isFree = firstBlocker(state.locks, place) === null;
    const cycle =
      cycleByReturning(state.locks, place) ?? (isFree ? cycleByGrant(state.locks, request) : null);
    if (cycle !== null) {
      step.reply = deadlock(state, cycle);
      return;
    }
    ensureSession(state, request, meta, step);
    resume(state, place, request, meta, step);
    return;
  }
  joinOrTake(state, request, meta, place, step);
}

/**
 * Renews the locks of a granted request that was sent again, and records that the retry's origin gets the answer too.
 * The retry gains nothing beyond the grant. Only a request checked for blockers and cycles may widen a file lock to
 * a folder, or make a turn lock explicit.
 */
export function askedAgain(state: BaseState, request: LockRequest, origin: Origin): void {
  const { actor, bound, retry } = request;
  state.sessions.revisions.changed(actor.session);
  for (const file of request.files) {
    const hold = state.locks.holds.get(file.key);
    if (hold === undefined || !sameActor(hold.actor, actor)) continue;
    if (retry === undefined || hold.retry?.requestId !== retry.requestId) continue;
    renewHold(state.locks, hold, { file: { ...file, dir: hold.dir }, kind: hold.kind, bound, prompt: null });
    state.preimages.writable(hold).askedAgain = toldAgain(hold, origin);
  }
}

// The requests that `applyUnheard` applies: one file that nobody has, while nobody waits for any.

/** Returns the request's one file if nobody has it, and nobody waits for any; null also of a resource. */
export function freeFile({ locks }: BaseState, request: LockRequest): FileRef | null {
  const { files, kind, flight, single } = request;
  const [file] = files;
  if (file === undefined || files.length !== 1 || !single || kind !== "explicit" || flight !== null)
    return null;
  // A resource, whose lock has a lease.
  if (file.lexical.startsWith("@")) return null;
  return locks.waiters.size > 0 || locks.heldPaths.touches(file.key, file.dir) ? null : file;
}

/** Makes the actor the holder of the file that `freeFile` found; its session is alive. */
export function grantFree(state: BaseState, request: LockRequest, file: FileRef, origin: Origin): Token {
  const { locks } = state;
  locks.grants += 1;
  const grant = { epoch: state.epoch, grant: locks.grants };
  addHold(locks, newHold(file, request, grant, state.t, origin));
  return grant;
}

/** Returns why the actor may not ask for so many files now, or null. */
function mayAsk(state: BaseState, request: LockRequest): Refusal | null {
  const { session, incarnation } = request.actor;
  const known = state.sessions.live.get(session);
  if (known !== undefined) return mayAskAs(state, known, request);
  if (incarnation !== 0) return partEnded(session);
  const ended = state.sessions.ended.get(session);
  if (ended !== undefined && ended.at + state.limits.endedMs > state.t) {
    return refuse("session_ended", `session ${session} has ended; register it again before it locks`);
  }
  return noRoomForSession(state) ?? mayHold(state, request);
}

/** `mayAsk` for an actor of a live session. */
export function mayAskAs(state: BaseState, { incarnations }: Session, request: LockRequest): Refusal | null {
  const { session, incarnation } = request.actor;
  if (!incarnations.some(i => i.ordinal === incarnation)) return partEnded(session);
  return mayHold(state, request);
}

function partEnded(session: string): Refusal {
  return refuse("session_ended", `this terminal's part of session ${session} has ended; register again`);
}

function mayHold(state: BaseState, { actor, files }: LockRequest): Refusal | null {
  const { held, queued } = countOfSession(state.locks.actors, actor.session);
  const most = state.limits.locksPerSessionMax;
  // In this direction: a broken command has no such number, and must not be refused but throw.
  const isTooMany = files.length + held + queued > most;
  if (!isTooMany) return null;
  return refuse(
    "too_many_locks",
    `a session may have ${most} locks; lock the directory instead, or unlock some`,
  );
}

/** Returns the actor's own waiter, not one of its commands, that overlaps the request's files, or null. */
function placeOf(state: BaseState, request: LockRequest): Waiter | null {
  const { locks } = state;
  const mine = locksOf(locks.actors, request.actor);
  if (mine === undefined || mine.waits.size === 0) return null;
  for (const file of request.files) {
    for (const ticket of locks.waitersAt.get(file.key)?.keys() ?? []) {
      const waiter = locks.waiters.get(ticket);
      if (waiter?.row === mine) return waiter;
    }
  }
  return null;
}

function sameFiles(a: readonly FileRef[], b: readonly FileRef[]): boolean {
  return a.length === b.length && a.every((file, i) => file.key === b[i]?.key && file.dir === b[i]?.dir);
}

/** Attaches the request to the actor's waiter, which keeps its queue position. */
function resume(state: BaseState, place: Waiter, request: LockRequest, meta: Meta, step: Step): void {
  if (place.origin !== null) {
    const elsewhere = refuse(
      "lock_given_up",
      "the same request was sent again; the later one gets the answer",
    );
    step.answers.push({ to: place.origin, reply: elsewhere, grant: null });
  }
  // A hook that reconnects after a daemon restart has already waited: its wait still ends when it first would have.
  const goesOn = request.flight !== null && request.flight === place.flight;
  const end = state.t + request.waitMs;
  const writable = state.preimages.writable(place);
  writable.waitEnd = goesOn ? Math.min(place.waitEnd, end) : end;
  takeUpPlace(state.locks, place, request, meta.origin);
  writable.deadline = Math.max(state.t, place.waitEnd);
  const blocker = firstBlocker(state.locks, place);
  if (blocker === null) {
    grantWaiter(state, place, meta.origin, step);
    return;
  }
  announceWait(state, place, blocker, meta, step);
}

function joinOrTake(
  state: BaseState,
  request: LockRequest,
  meta: Meta,
  place: Waiter | null,
  step: Step,
): void {
  const { locks } = state;
  const { actor, files, ancestors } = request;
  const ask: Ask = { actor, files, ancestors, ticket: meta.seq };
  const blocker = firstBlocker(locks, ask);
  if (blocker === null) {
    takeAll(state, request, meta, place, step);
    return;
  }
  const refused = mayWait(state, request, ask, blocker);
  if (refused !== null) {
    step.reply = refused;
    return;
  }
  ensureSession(state, request, meta, step);
  // The old waiter is for other files, so the actor gives it up. It was detached: no client awaits its answer.
  if (place !== null) removeWaiter(locks, place);
  const waiter = newWaiter(request, meta, state.t);
  addWaiter(locks, waiter);
  announceWait(state, waiter, blocker, meta, step);
}

/** Grants a request that nothing blocks, unless that would make a cycle; `place`: the actor's waiter for other files. */
function takeAll(state: BaseState, request: LockRequest, meta: Meta, place: Waiter | null, step: Step): void {
  const { locks } = state;
  const cycle = cycleByGrant(locks, request);
  if (cycle !== null) {
    step.reply = deadlock(state, cycle);
    return;
  }
  ensureSession(state, request, meta, step);
  const before = locks.grants;
  const token = take(state, request, meta.origin, step);
  const reply = grantReply(state, request, token, false);
  step.reply = reply;
  if (locks.grants > before) announceGrant(state, request, String(reply["token"]), 0, step);
  if (place !== null) removeWaiter(locks, place);
}

function newWaiter(request: LockRequest, { seq, origin }: Meta, now: number): Waiter {
  const end = now + request.waitMs;
  return {
    ticket: seq,
    origin,
    actor: request.actor,
    files: request.files,
    single: request.single,
    kind: request.kind,
    prompt: request.prompt,
    flight: request.flight,
    untoldMs: request.untoldMs,
    beside: request.beside,
    yieldMs: request.yieldMs,
    ancestors: request.ancestors,
    bound: request.bound,
    placeMs: request.placeMs,
    detach: request.detach,
    progress: request.progress,
    since: now,
    waitMs: request.waitMs,
    deadline: end,
    waitEnd: end,
    retry: request.retry ?? null,
    row: null,
    blockers: null,
  };
}

function mayWait(state: BaseState, request: LockRequest, ask: Ask, blocker: Blocker): Refusal | null {
  if (request.waitMs === 0) return lockHeld(state, request.actor, blocker);
  const { queued } = countOfSession(state.locks.actors, request.actor.session);
  const most = state.limits.queuedPerSessionMax;
  if (request.files.length + queued > most) {
    return refuse(
      "too_many_locks",
      `a session may wait for ${most} files; wait for a directory, or for fewer`,
    );
  }
  for (const file of request.files) {
    // No waiter precedes a lender in the queue, so the queue's length does not matter.
    if (isCovered(state.locks, ask, file)) continue;
    let inLine = 0;
    for (const waiter of waitersOver(state.locks, file)) {
      if (inLine >= request.depth) break;
      if (waiter.origin !== null && !sameActor(waiter.actor, request.actor)) inLine += 1;
    }
    if (inLine >= request.depth) return queueFull(state, request.actor, blocker);
  }
  const cycle = cycleByWaiting(state.locks, ask);
  return cycle === null ? null : deadlock(state, cycle);
}

function announceWait(state: BaseState, waiter: Waiter, blocker: Blocker, meta: Meta, step: Step): void {
  step.timers.push({ at: waiter.deadline, due: { what: "wait_over", ticket: waiter.ticket } });
  yieldForWait(state, waiter, step);
  let position = 1;
  const counted = new Set<number>();
  for (const file of waiter.files) {
    for (const other of waitersOver(state.locks, file)) {
      if (other.ticket >= waiter.ticket || other.origin === null || counted.has(other.ticket)) continue;
      counted.add(other.ticket);
      position += 1;
    }
  }
  const event = {
    event: "lock_queued" as const,
    ...fileLists(waiter.files),
    waiter: actorRow(state, waiter.actor),
    holder: actorRow(state, blocker.actor),
    position,
  };
  const project = projectOf(state, waiter.actor) ?? "";
  step.events.push({ event, about: [], project });
  if (waiter.progress) step.events.push({ event, about: [], project, to: meta.origin });
}
