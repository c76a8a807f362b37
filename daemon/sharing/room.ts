/**
 * Who makes room for one more session of this machine. Its own log ends a session that has nothing there, but does not know
 * what the session has in the shared log. This looks into both.
 */
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { hasNothing, isIdle, whoMakesRoom } from "../core/sessions/room.ts";
import type { State } from "../core/state.ts";
import type { CommandOf } from "../core/tables/entries.ts";
import { type Session, sessionsAt, suspendedAt } from "../core/tables/sessions.ts";

/**
 * Returns the session that has to end before this one begins. Null: there is room, or the own log's choice has nothing in
 * the shared log either. Refuses if every session that the own log may end has something there.
 */
export function whoMakesRoomInBoth(
  own: State,
  shared: State | null,
  { session, anchor }: Pick<CommandOf<"session_begin">, "session" | "anchor">,
): Session | Refusal | null {
  const isThere = own.sessions.live.has(session);
  // It goes on with what a session has that its process left.
  if (isThere || (anchor !== null && suspendedAt(own.sessions, anchor) !== undefined)) return null;
  const first = whoMakesRoom(own, anchor);
  if (first === undefined || hasNothingThere(own, shared, first)) return null;
  for (const one of candidates(own, first)) if (hasNothingThere(own, shared, one)) return one;
  const error = `no session can make room for ${session}: each has a lock, a wait, a task or an unread message here or in the shared store; end some first`;
  return refuse("too_many_sessions", error);

  /** Those that the own log ends for the same reason as its first choice. */
  function candidates({ sessions }: State, choice: Session): Iterable<Session> {
    if (isIdle(own, choice)) return [...sessions.idle].flatMap(id => sessions.live.get(id) ?? []);
    return anchor === null ? [] : sessionsAt(sessions, anchor).filter(one => hasNothing(own, one));
  }
}

/**
 * Whether the session has nothing in the shared log, in each of its terminals. It may have something in a log that nobody
 * has read.
 */
function hasNothingThere({ outbox }: State, shared: State | null, { id }: Session): boolean {
  const sharedIds = [...(outbox.bySession.get(id) ?? [])];
  if (sharedIds.length === 0) return true;
  return shared !== null && sharedIds.every(one => hasNothing(shared, { id: one }));
}
