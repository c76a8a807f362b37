/** What passes with time for sessions: a suspended one ends, a lost one loses its locks by and by. */
import { limits } from "../../../protocol/limits.ts";
import type { BaseState, Hold, Session } from "../base-state.ts";
import type { Due } from "../commands.ts";
import { rowsOfSession } from "../locks/by-actor.ts";
import { holdsOf, releaseParts } from "../locks/release.ts";
import type { Step } from "../outcome.ts";
import { type TimerRules, timer } from "../rules.ts";
import type { OfSession, SessionDues } from "./commands.ts";
import { end, leaseAfterLostMs } from "./end.ts";

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

function sessionAt({ sessions }: BaseState, due: OfSession): Session | undefined {
  const session = sessions.live.get(due.session);
  return session?.begun === due.begun ? session : undefined;
}

function afterLost(ms: number): (session: Session) => number | null {
  return ({ lostAt }) => (lostAt === null ? null : lostAt + ms);
}

function releaseKind(state: BaseState, session: Session, kind: Hold["kind"], step: Step): void {
  const parts = rowsOfSession(state.locks.actors, session.id, null).map(row => ({
    actor: row.actor,
    holds: holdsOf(state, row).filter(h => h.kind === kind),
    places: [],
  }));
  // All lenders of an explicit lock are of this session, so their loans end too.
  releaseParts(state, parts, "lost", step, kind === "explicit");
}
