/** Giving locks and places up: by their actor, by force, with a connection, at the end of a turn or a session. */
import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { type ActorLocks, boundKey, locksOf, originKey, rowsOfSession } from "./actors.ts";
import type { Actor, FileName, FileRef } from "./entry.ts";
import type { Handler } from "./handlers.ts";
import { attachedOf, findCycle, overlapOf } from "./lock-blockers.ts";
import { lapse, yieldLater } from "./lock-flight.ts";
import { cancelLoan, lentBy, returnHold } from "./lock-loan.ts";
import { announceGrant, dismiss, leavePlace, passOn } from "./lock-queue.ts";
import { attachWaiter, removeHold } from "./lock-table.ts";
import { actorRow, deadlock, fileLists, tokenText } from "./lock-text.ts";
import { forgetReply } from "./replies.ts";
import type { Hold, Loan, State, Waiter } from "./state.ts";
import type { Step } from "./step.ts";

export const lockRelease: Handler<"lock_release"> = (state, request, _meta, step) => {
  const mine = locksOf(state.locks.actors, request.actor);
  if (request.files === "all") {
    const released = mine === undefined ? [] : holdsOf(state, mine).map(h => h.file);
    for (const row of rowsOfSession(state.locks.actors, request.actor.session, request.actor.incarnation)) {
      for (const hold of holdsOf(state, row)) {
        if (!cancelLoan(hold, request.actor)) continue;
        released.push(hold.file);
        yieldLater(state, hold, step);
      }
    }
    if (mine !== undefined) releaseAll(state, [mine], "unlocked", step);
    step.reply = { ok: true, released };
    return;
  }
  const holds: Hold[] = [];
  const loans: Hold[] = [];
  const places = new Set<Waiter>();
  for (const file of request.files) {
    const hold = mine === undefined ? undefined : ownHold(state, mine, file);
    const place = mine === undefined ? undefined : ownPlace(state, mine, file);
    if (hold !== undefined) holds.push(hold);
    if (place !== undefined) places.add(place);
    const lent = hold === undefined ? lentHold(state, request.actor, file) : undefined;
    if (lent !== undefined) loans.push(lent);
    if (hold === undefined && place === undefined && lent === undefined) {
      const error = `${file.file} is neither held nor waited for by ${actorRow(state, request.actor).name}; nothing was released`;
      step.reply = refuse("not_held", error, { file: file.file });
      return;
    }
  }
  step.reply = { ok: true, released: request.files.map(f => f.file) };
  for (const hold of loans) {
    cancelLoan(hold, request.actor);
    // What was lent and explicit in truth may yield from now on.
    yieldLater(state, hold, step);
  }
  releaseParts(
    state,
    [{ actor: request.actor, holds: [...new Set(holds)], places: [...places] }],
    "unlocked",
    step,
  );
};

export const lockRevoke: Handler<"lock_revoke"> = (state, request, _meta, step) => {
  const holds: Hold[] = [];
  for (const file of request.files) {
    const hold = namedHold(state, file);
    if (hold === undefined) {
      step.reply = refuse("not_held", `nobody holds ${file.file}; nothing was released`, { file: file.file });
      return;
    }
    holds.push(hold);
  }
  step.reply = { ok: true, released: request.files.map(f => f.file) };
  for (const hold of new Set(holds)) {
    step.events.push({
      event: {
        event: "lock_revoked",
        ...fileLists([hold]),
        holder: actorRow(state, hold.actor),
        by: request.by,
      },
      about: [hold.actor.session],
      project: projectOf(state, hold.actor),
    });
    releaseParts(state, [{ actor: hold.actor, holds: [hold], places: [] }], "revoked", step);
  }
};

export const lockDetach: Handler<"lock_detach"> = (state, request, _meta, step) => {
  step.reply = { ok: true };
  const ticket = state.locks.byOrigin.get(originKey(request.waiter));
  const waiter = ticket === undefined ? undefined : state.locks.waiters.get(ticket);
  if (waiter === undefined) {
    // It was answered before, and nobody can have read that.
    if (request.kept !== undefined) forgetReply(state, request.kept, request.waiter);
    return;
  }
  if (waiter.detach) leavePlace(state, waiter, limits.placeMs, step);
  else {
    attachWaiter(state.locks, waiter, null);
    dismiss(state, waiter, refuse("lock_given_up", "the connection closed"), "disconnected", step);
  }
  passOn(state, waiter.files, step);
};

export const lockUndelivered: Handler<"lock_undelivered"> = (state, request, _meta, step) => {
  step.reply = { ok: true };
  const mine = locksOf(state.locks.actors, request.actor);
  const lost = originKey(request.waiter);
  const holds =
    mine === undefined ? [] : holdsOf(state, mine).filter(h => originKey(h.origin) === lost && !h.askedAgain);
  if (request.kept !== undefined) forgetReply(state, request.kept, request.waiter);
  releaseParts(state, [{ actor: request.actor, holds, places: [] }], "undelivered", step);
};

export const lockUnbind: Handler<"lock_unbind"> = (state, request, _meta, step) => {
  step.reply = { ok: true };
  for (const key of [...(state.locks.byBound.get(boundKey(request.bound)) ?? [])].sort()) {
    const hold = state.locks.holds.get(key);
    if (hold === undefined) continue;
    releaseParts(state, [{ actor: hold.actor, holds: [hold], places: [] }], "disconnected", step);
  }
};

export const turnEnd: Handler<"turn_end"> = (state, request, _meta, step) => {
  step.reply = { ok: true };
  const mine = locksOf(state.locks.actors, request.actor);
  if (mine === undefined) return;
  const over = (of: { kind: string; prompt: string | null; loan?: Loan | null }) =>
    (of.kind === "turn" || of.loan) && (request.keepPrompt === null || of.prompt !== request.keepPrompt);
  const holds = holdsOf(state, mine).filter(over);
  const places = placesOf(state, mine).filter(over);
  releaseParts(state, [{ actor: request.actor, holds, places }], "turn ended", step);
};

/** What one actor gives up. */
interface Part {
  readonly actor: Actor;
  readonly holds: readonly Hold[];
  readonly places: readonly Waiter[];
}

/** Everything these actors hold and wait for. */
export function releaseAll(
  state: State,
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

/** Everything of a session, or of one of its incarnations. */
export function releaseSession(
  state: State,
  session: string,
  incarnation: number | null,
  cause: string,
  step: Step,
): void {
  releaseAll(state, rowsOfSession(state.locks.actors, session, incarnation), cause, step, true);
}

/** Causes that end a hold while its holder may still be writing. */
const cutShort: ReadonlySet<string> = new Set(["lease over", "revoked", "lost"]);
/** Causes by which a retry of what took a hold is not told that it has it: the hold went with who was told. */
const unheard: ReadonlySet<string> = new Set(["disconnected", "undelivered"]);

/**
 * Removes every part first and passes on after, so that nothing goes to one who is leaving as well. What was borrowed
 * goes back to its lender, unless `final`.
 */
export function releaseParts(
  state: State,
  parts: readonly Part[],
  cause: string,
  step: Step,
  final = cause === "revoked",
): void {
  const freed: FileRef[] = [];
  for (const { actor, holds, places } of parts) {
    const holder = actorRow(state, actor);
    const project = projectOf(state, actor);
    for (const hold of holds) {
      if (cutShort.has(cause)) lapse(state, hold);
      if (unheard.has(cause) && hold.retry !== null) forgetReply(state, hold.retry);
      removeHold(state.locks, hold);
      const back = final ? null : returnHold(state, hold);
      if (back !== null)
        announceGrant(state, { actor: back.actor, files: [back] }, tokenText(state, back.token), 0, step);
      freed.push(hold);
    }
    for (const place of places) {
      const reply = refuse("lock_given_up", `the wait was given up: ${cause}`, { queued: false });
      dismiss(state, place, reply, cause, step);
      freed.push(...place.files);
    }
    if (holds.length > 0) {
      const event = { event: "lock_released" as const, ...fileLists(holds), holder, cause };
      step.events.push({ event, about: [], project });
    }
  }
  passOn(state, freed, step);
  for (const { actor } of parts) breakCircles(state, actor, freed, step);
}

/**
 * Who gives up what it also waits for stands in line for it from now on, and so do its descendants, perhaps behind
 * one who waits for the same actor: then that wait ends, as it would have been refused had it come now.
 */
function breakCircles(state: State, actor: Actor, freed: readonly FileRef[], step: Step): void {
  const family = rowsOfSession(state.locks.actors, actor.session, actor.incarnation);
  for (const waiter of family.flatMap(row => attachedOf(state.locks, row.actor))) {
    const cycle = overlapOf(waiter.files, freed) === undefined ? null : findCycle(state.locks, waiter);
    if (cycle === null) continue;
    dismiss(state, waiter, deadlock(state, cycle), "deadlock", step);
    passOn(state, waiter.files, step);
  }
}

export function holdsOf(state: State, row: ActorLocks): Hold[] {
  return [...row.holds].flatMap(key => state.locks.holds.get(key) ?? []);
}

export function placesOf(state: State, row: ActorLocks): Waiter[] {
  return [...row.waits].flatMap(ticket => state.locks.waiters.get(ticket) ?? []);
}

/** By the words it was locked with, else by key: a key stored with a lock is never recomputed to release it. */
function ownHold(state: State, mine: ActorLocks, file: FileName): Hold | undefined {
  const spelled = mine.spelled.get(file.lexical);
  if (spelled !== undefined) return state.locks.holds.get(spelled);
  return file.key !== null && mine.holds.has(file.key) ? state.locks.holds.get(file.key) : undefined;
}

/** A hold of the actor's that a descendant uses just now. */
function lentHold(state: State, actor: Actor, file: FileName): Hold | undefined {
  const hold = namedHold(state, file);
  return hold !== undefined && lentBy(hold, actor) ? hold : undefined;
}

function ownPlace(state: State, mine: ActorLocks, file: FileName): Waiter | undefined {
  return placesOf(state, mine).find(w => w.files.some(f => f.lexical === file.lexical || f.key === file.key));
}

function namedHold(state: State, file: FileName): Hold | undefined {
  const byKey = file.key === null ? undefined : state.locks.holds.get(file.key);
  if (byKey !== undefined) return byKey;
  for (const hold of state.locks.holds.values()) if (hold.lexical === file.lexical) return hold;
  return undefined;
}

function projectOf(state: State, actor: Actor): string {
  return state.sessions.live.get(actor.session)?.project ?? "";
}
