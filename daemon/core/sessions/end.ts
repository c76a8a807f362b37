/**
 * Ends sessions, marks them lost, and suspends them.
 *
 * Invariants: the step that ends a session releases all locks and waiters of its actors. An ended id stays ended for
 * `limits.endedMs`. A client may register it again before that, or another process may go on with it.
 */

import { refuse } from "../../../protocol/codes.ts";
import { limits } from "../../../protocol/limits.ts";
import { endFreezesOf } from "../locks/freezes.ts";
import { endLoans, holdsOf, placesOf, releaseParts, releaseSession } from "../locks/release.ts";
import { closeInboxes } from "../messages/inbox.ts";
import type { Meta } from "../tables/base-state.ts";
import {
  type BaseState,
  type Hold,
  type Session as SessionSessions,
  type TimerRules,
  timer,
} from "../tables/base-state.ts";
import type { CommandOf, Due, Step } from "../tables/entries.ts";
import { rowsOfSession } from "../tables/locks.ts";
import { unknownSession } from "../tables/naming.ts";
import { forgetNotes } from "../tables/notices.ts";
import {
  type Incarnation,
  type OfSession,
  removeSession,
  type Session,
  type SessionDues,
  setIncarnations,
  setSuspended,
} from "../tables/sessions.ts";
import { endClaims } from "../tasks/leave.ts";
import { endDeclarations } from "../work/declared-ends.ts";
import { forgetRisks } from "../work/dirty-files.ts";
import { keepName } from "./names.ts";
import { settlePresence } from "./room.ts";

export function sessionEnd(
  state: BaseState,
  command: CommandOf<"session_end">,
  _meta: Meta,
  step: Step,
): void {
  const session = state.sessions.live.get(command.session);
  if (session === undefined) {
    step.reply = unknownSession(command.session);
    return;
  }
  const { incarnation, begun } = command;
  const isMeant = (i: Incarnation) => i.ordinal === incarnation && (begun === undefined || i.begun === begun);
  if (incarnation !== null && !session.incarnations.some(isMeant)) {
    step.reply = refuse("session_ended", `this terminal's part of session ${session.id} has ended already`);
    return;
  }
  step.reply = { ok: true };
  if (incarnation !== null && session.incarnations.length > 1) {
    const left = session.incarnations.filter(i => i.ordinal !== incarnation);
    setIncarnations(state.sessions, session, left);
    releaseSession(state, session.id, incarnation, command.cause, step);
    endClaims(state, session.id, incarnation, command.cause, step);
    endFreezesOf(state, { session: session.id, incarnation }, command.cause, step);
    return;
  }
  end(state, session, command.cause, step);
}

export function sessionLost(
  state: BaseState,
  command: CommandOf<"session_lost">,
  _meta: Meta,
  step: Step,
): void {
  const session = state.sessions.live.get(command.session);
  step.reply = { ok: true };
  if (session === undefined || session.begun !== command.begun || session.lostAt !== null) return;
  if (command.isIdle !== true && session.incarnations.some(i => i.anchor !== null)) return;
  // A client that awaits an answer is a sign of life.
  const rows = rowsOfSession(state.locks.actors, session.id, null);
  if (rows.some(row => row.attached > 0)) return;
  lose(state, session, step);
}

/** Marks a session lost: it loses its locks by and by, and ends after `limits.lostMs`. */
function lose(state: BaseState, session: Session, step: Step): void {
  state.preimages.writable(session).lostAt = state.t;
  settlePresence(state, session);
  const { id, begun, name, project } = session;
  step.timers.push(
    { at: state.t + limits.lockDelayMs, due: { what: "lost_turns_over", session: id, begun } },
    { at: state.t + leaseAfterLostMs, due: { what: "lost_leases_over", session: id, begun } },
    { at: state.t + limits.lostMs, due: { what: "lost_over", session: id, begun } },
  );
  step.events.push({ event: { event: "session_lost", id, name, project }, about: [id], project });
}

export function sessionFound(
  state: BaseState,
  command: CommandOf<"session_found">,
  _meta: Meta,
  step: Step,
): void {
  const session = state.sessions.live.get(command.session);
  if (session === undefined) {
    step.reply = unknownSession(command.session);
    return;
  }
  state.preimages.writable(session).lostAt = null;
  settlePresence(state, session);
  step.reply = { ok: true };
}

/** Suspends a session whose client cleared its conversation: turn locks and waiters end, explicit locks stay. */
export function sessionSuspend(
  state: BaseState,
  command: CommandOf<"session_suspend">,
  _meta: Meta,
  step: Step,
): void {
  const session = state.sessions.live.get(command.session);
  if (session === undefined) {
    step.reply = unknownSession(command.session);
    return;
  }
  step.reply = { ok: true };
  const rows = rowsOfSession(state.locks.actors, session.id, null);
  // Locks and loans of agents end: what they borrowed returns to the main agent only.
  for (const hold of rows.flatMap(row => holdsOf(state, row)))
    endLoans(state, hold, ({ actor }) => actor.agent !== null, step);
  const parts = rows.map(row => ({
    actor: row.actor,
    holds: holdsOf(state, row).filter(h => h.kind === "turn" || h.actor.agent !== null),
    places: placesOf(state, row),
  }));
  releaseParts(state, parts, "turn ended", step);
  const at = state.t + limits.suspendMs;
  setSuspended(state.sessions, session, at);
  const { id, begun } = session;
  step.timers.push({ at, due: { what: "suspend_over", session: id, begun } });
}

/** How long a lost session keeps its explicit locks, in ms: their lease counts from the last sign of life. */
const leaseAfterLostMs = limits.explicitLeaseMs - limits.silenceMs;

/** Ends the session and releases all that it has. With `returns` its id may begin again at once. */
export function end(state: BaseState, session: Session, cause: string, step: Step, returns = false): void {
  const { ended } = state.sessions;
  releaseSession(state, session.id, null, cause, step);
  endClaims(state, session.id, null, cause, step);
  endFreezesOf(state, { session: session.id }, cause, step);
  closeInboxes(state, session.id, undefined, step);
  forgetRisks(state, session.id);
  forgetNotes(state, session.id);
  endDeclarations(state, session.id);
  for (const { sessionEnds } of state.points) sessionEnds?.(state, session, cause, step);
  keepName(state.sessions, session);
  removeSession(state.sessions, session);
  ended.delete(session.id);
  const anchors = state.rules < 2 ? null : session.incarnations.flatMap(i => i.anchor ?? []);
  if (!returns) ended.set(session.id, { at: state.t, anchors });
  for (const [id, { at }] of ended) {
    if (ended.size <= limits.endedMax && at + limits.endedMs > state.t) break;
    ended.delete(id);
  }
  const { id, name, project } = session;
  step.events.push({ event: { event: "session_ended", id, name, project, cause }, about: [id], project });
}

// What passes with time for sessions: a suspended one ends, a lost one loses its locks by and by.

export const sessionTimers: TimerRules<keyof SessionDues> = {
  suspend_over: timer(
    sessionAt,
    session => session.suspendedUntil,
    (state, session, step) => end(state, session, "ended", step),
  ),
  lost_turns_over: timer(sessionAt, afterLost(limits.lockDelayMs), (state, session, step) =>
    releaseKind(state, session, "turn", step),
  ),
  lost_leases_over: timer(sessionAt, afterLost(leaseAfterLostMs), (state, session, step) =>
    releaseKind(state, session, "explicit", step),
  ),
  lost_over: timer(sessionAt, afterLost(limits.lostMs), (state, session, step) =>
    end(state, session, "lost", step),
  ),
};

export function* sessionDues({ sessions }: BaseState): Generator<Due> {
  for (const { id: session, begun, lostAt, suspendedUntil } of sessions.live.values()) {
    if (suspendedUntil !== null) yield { what: "suspend_over", session, begun };
    if (lostAt === null) continue;
    yield { what: "lost_turns_over", session, begun };
    yield { what: "lost_leases_over", session, begun };
    yield { what: "lost_over", session, begun };
  }
}

function sessionAt({ sessions }: BaseState, due: OfSession): SessionSessions | undefined {
  const session = sessions.live.get(due.session);
  return session?.begun === due.begun ? session : undefined;
}

function afterLost(ms: number): (session: SessionSessions) => number | null {
  return ({ lostAt }) => (lostAt === null ? null : lostAt + ms);
}

function releaseKind(state: BaseState, session: SessionSessions, kind: Hold["kind"], step: Step): void {
  const parts = rowsOfSession(state.locks.actors, session.id, null).map(row => ({
    actor: row.actor,
    holds: holdsOf(state, row).filter(h => h.kind === kind),
    places: [],
  }));
  // All lenders of an explicit lock are of this session, so their loans end too.
  releaseParts(state, parts, "lost", step, kind === "explicit");
}
