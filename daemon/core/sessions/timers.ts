/** What passes with time for sessions: a suspended one ends, a lost one loses its locks by and by. */
import { limits } from "../../../protocol/limits.ts";
import { assert } from "../assert.ts";
import type { BaseState, Hold, Session } from "../base-state.ts";
import type { Due } from "../commands.ts";
import type { TimerRules } from "../handler.ts";
import { rowsOfSession } from "../locks/by-actor.ts";
import { holdsOf, releaseParts } from "../locks/release.ts";
import type { Step } from "../outcome.ts";
import type { OfSession, SessionDues } from "./commands.ts";
import { end, leaseAfterLostMs } from "./end.ts";

export const sessionTimers: TimerRules<keyof SessionDues> = {
  suspend_over: {
    at(state, due) {
      const session = state.sessions.live.get(due.session);
      return session === undefined || session.begun !== due.begun ? null : session.suspendedUntil;
    },
    over: (state, due, step) => end(state, sessionOf(state, due.session), "ended", step),
  },
  lost_turns_over: {
    at: (state, due) => lostSince(state, due, limits.lockDelayMs),
    over: (state, due, step) => releaseKind(state, due.session, "turn", step),
  },
  lost_leases_over: {
    at: (state, due) => lostSince(state, due, leaseAfterLostMs),
    over: (state, due, step) => releaseKind(state, due.session, "explicit", step),
  },
  lost_over: {
    at: (state, due) => lostSince(state, due, limits.lostMs),
    over: (state, due, step) => end(state, sessionOf(state, due.session), "lost", step),
  },
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

function lostSince(state: BaseState, due: OfSession, ms: number): number | null {
  const session = state.sessions.live.get(due.session);
  if (session === undefined || session.begun !== due.begun || session.lostAt === null) return null;
  return session.lostAt + ms;
}

function releaseKind(state: BaseState, session: string, kind: Hold["kind"], step: Step): void {
  const parts = rowsOfSession(state.locks.actors, session, null).map(row => ({
    actor: row.actor,
    holds: holdsOf(state, row).filter(h => h.kind === kind),
    places: [],
  }));
  // All lenders of an explicit lock are of this session, so their loans end too.
  releaseParts(state, parts, "lost", step, kind === "explicit");
}

function sessionOf(state: BaseState, id: string): Session {
  const session = state.sessions.live.get(id);
  assert(session !== undefined, () => `no session ${id}`);
  return session;
}
