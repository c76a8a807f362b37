/**
 * Room for sessions: anybody may begin one with an id, so those that stand for no process and have nothing give way.
 * One process may stand for many sessions, so of too many of one process those that have nothing give way as well.
 *
 * Invariants: a session begins only while its process stands for fewer than `limits.sessionsPerProcessMax` sessions,
 * or after one of these ended to make room; `idle` is every session without a process that has no lock, wait, claim,
 * unread message or hold on edits, in the order in which they came to that; without a process there are at most
 * `limits.sessionsMax`, in all at most `limits.sessionsAnchoredMax`. What room costs does not grow with the sessions: what comes and goes is noted by its
 * session, and looked at when the entry is done.
 */
import { type Refusal, refuse } from "../../../protocol/codes.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Anchor } from "../actor.ts";
import { countUngot } from "../messages/inbox.ts";
import type { Session, State } from "../state.ts";
import { countAt, sessionsAt } from "./table.ts";

/** Why one more session cannot begin, for this process if there is one; or null. */
export function noRoom(state: State, anchor: Anchor | null): Refusal | null {
  const { live, idle } = state.sessions;
  if (anchor !== null && isCrowded(state, anchor)) {
    if (oldestWithNothing(state, anchor) !== undefined) return null;
    const most = limits.sessionsPerProcessMax;
    return refuse("too_many_sessions", `process ${anchor.pid} has ${most} sessions already; end some first`);
  }
  if (live.size < limits.sessionsMax || idle.size > 0) return null;
  if (anchor === null)
    return refuse(
      "too_many_sessions",
      `there are ${limits.sessionsMax} sessions, and each has a process, a lock, a wait, a task or an unread message; ` +
        "end some, or register with the pid of a process of yours",
    );
  if (live.size < limits.sessionsAnchoredMax) return null;
  return refuse("too_many_sessions", `there are ${limits.sessionsAnchoredMax} sessions; end some first`);
}

/** Who has to end before one more session begins: who has had nothing for longest, or of this process's sessions. */
export function whoMakesRoom(state: State, anchor: Anchor | null): Session | undefined {
  if (anchor !== null && isCrowded(state, anchor)) return oldestWithNothing(state, anchor);
  const { live, idle } = state.sessions;
  const [first] = idle;
  return live.size < limits.sessionsMax || first === undefined ? undefined : live.get(first);
}

/** After each entry: sees which of the sessions it touched have nothing now. */
export function settleRoom(state: State): void {
  const { touched, idle, live } = state.sessions;
  if (touched.size === 0) return;
  for (const id of touched) {
    idle.delete(id);
    const session = live.get(id);
    if (session !== undefined && isIdle(state, session)) idle.add(id);
  }
  touched.clear();
}

function isCrowded({ sessions }: State, anchor: Anchor): boolean {
  return countAt(sessions, anchor) >= limits.sessionsPerProcessMax;
}

function oldestWithNothing(state: State, anchor: Anchor): Session | undefined {
  return sessionsAt(state.sessions, anchor).find(session => hasNothing(state, session));
}

/** Nobody would miss it: no process stands for it, and it has nothing. */
export function isIdle(state: State, session: Session): boolean {
  return session.incarnations.every(({ anchor }) => anchor === null) && hasNothing(state, session);
}

function hasNothing({ locks, tasks, messages, editHolds }: State, { id }: Session): boolean {
  if (locks.actors.bySession.has(id) || tasks.claims.has(id) || editHolds.byOwner.has(id)) return false;
  for (const key of messages.bySession.get(id) ?? []) if (countUngot(messages, key) > 0) return false;
  return true;
}
