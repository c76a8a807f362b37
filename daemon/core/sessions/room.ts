/**
 * Bounds the number of sessions. Any client can begin sessions, so idle ones end to make room. Sessions without a process
 * end first, and those of a process that has too many.
 *
 * Invariants: a process has at most `limits.sessionsPerProcessMax` sessions. At most `limits.sessionsMax` sessions have no
 * process, and at most `limits.sessionsAnchoredMax` exist. `idle` lists every session without a process that has no lock,
 * waiter, claim, unread message or freeze. It is in the order in which they became idle. The cost does not grow with the
 * number of sessions: an entry marks the sessions it touched, and `settleRoom` checks only these. In a shared project, a
 * node with no more than its share of the sessions keeps them, whatever others begin.
 */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import type { Anchor } from "../frame/actors.ts";
import { countUngot } from "../messages/inbox.ts";
import type { BaseState, Session, Sessions } from "../tables/base-state.ts";
import { countAt, enterPresent, idOfKey, leavePresent, sessionsAt } from "../tables/sessions.ts";

// Who is there in a project: all sessions but lost ones that neither have a lock nor wait for one.
//
// Invariant: between entries `present` lists exactly these, by project, in the order they began.

export function isPresent({ locks }: BaseState, { id, lostAt }: Session): boolean {
  return lostAt === null || locks.actors.bySession.has(id);
}

/** Lists the session if it is there, and takes it off the list if not. */
export function settlePresence(state: BaseState, session: Session): void {
  if (isPresent(state, session)) enterPresent(state.sessions, session);
  else leavePresent(state.sessions, session);
}

/** Yields those who are there in a project, in the order they began. */
export function* presentIn({ present, live }: Sessions, project: string): Generator<Session, void> {
  for (const key of present.get(project) ?? []) {
    const session = live.get(idOfKey(key));
    if (session !== undefined) yield session;
  }
}

/** Returns how many are there in a project. */
export function countPresent({ present }: Sessions, project: string): number {
  return present.get(project)?.size ?? 0;
}

/**
 * Returns why one more session (of this process, if not null) cannot begin, or null. `node`: whose it is, in a shared project.
 */
export function noRoom(state: BaseState, anchor: Anchor | null, node?: string): Refusal | null {
  const { limits } = state;
  const { live } = state.sessions;
  if (anchor !== null && isCrowded(state, anchor)) {
    if (oldestWithNothing(state, anchor) !== undefined) return null;
    const most = limits.sessionsPerProcessMax;
    return refuse("too_many_sessions", `process ${anchor.pid} has ${most} sessions already; end some first`);
  }
  if (live.size < limits.sessionsMax || idleFor(state, node) !== undefined) return null;
  if (anchor === null)
    return refuse(
      "too_many_sessions",
      `there are ${limits.sessionsMax} sessions, and each has a process, a lock, a wait, a task or an unread message; ` +
        "end some, or register with the pid of a process of yours",
    );
  if (live.size < limits.sessionsAnchoredMax) return null;
  return refuse("too_many_sessions", `there are ${limits.sessionsAnchoredMax} sessions; end some first`);
}

/** Returns the session that must end before one more begins: the longest idle one, or one of a crowded process. */
export function whoMakesRoom(state: BaseState, anchor: Anchor | null, node?: string): Session | undefined {
  if (anchor !== null && isCrowded(state, anchor)) return oldestWithNothing(state, anchor);
  return state.sessions.live.size < state.limits.sessionsMax ? undefined : idleFor(state, node);
}

/** Returns the longest idle session that makes room for one of the node: in a shared project one of its own. */
function idleFor(state: BaseState, node = ""): Session | undefined {
  const { live, idle } = state.sessions;
  const [first = ""] = idle;
  if (!state.isShared) return live.get(first);
  return [...idle].flatMap(id => live.get(id) ?? []).find(session => session.node === node);
}

/** Updates `idle` and `present` for the sessions that the entry touched; `apply` calls it after each entry. */
export function settleRoom(state: BaseState): void {
  const { touched, idle, live } = state.sessions;
  if (touched.size === 0) return;
  for (const id of touched) {
    idle.delete(id);
    const session = live.get(id);
    if (session === undefined) continue;
    // The others are listed since they began, or were found again.
    if (session.lostAt !== null) settlePresence(state, session);
    if (isIdle(state, session)) idle.add(id);
  }
  touched.clear();
}

function isCrowded({ sessions, limits }: BaseState, anchor: Anchor): boolean {
  return countAt(sessions, anchor) >= limits.sessionsPerProcessMax;
}

function oldestWithNothing(state: BaseState, anchor: Anchor): Session | undefined {
  return sessionsAt(state.sessions, anchor).find(session => hasNothing(state, session));
}

/** Whether the session has no process and nothing to lose, so that it may make room. */
export function isIdle(state: BaseState, session: Session): boolean {
  return session.incarnations.every(({ anchor }) => anchor === null) && hasNothing(state, session);
}

/** Whether the session has nothing to lose in this log. */
export function hasNothing(
  { locks, tasks, messages, freezes }: BaseState,
  { id }: Pick<Session, "id">,
): boolean {
  if (locks.actors.bySession.has(id) || tasks.claims.has(id) || freezes.byOwner.has(id)) return false;
  for (const key of messages.bySession.get(id) ?? []) if (countUngot(messages, key) > 0) return false;
  return true;
}

// The worktrees of which something is known.

/**
 * Returns the worktrees in which a session works, each with its project. They are in the order in which the oldest session
 * of each began. Worktrees with uncommitted work follow.
 */
export function knownWorktrees({ sessions, writes }: BaseState): ReadonlyMap<string, string> {
  const oldestFirst = [...sessions.worktrees].sort(([, a], [, b]) =>
    (a.first ?? "") < (b.first ?? "") ? -1 : 1,
  );
  const found = new Map<string, string>();
  for (const [worktree, keys] of oldestFirst) {
    const latest = sessions.live.get(idOfKey(keys.last ?? ""));
    if (latest !== undefined) found.set(worktree, latest.project);
  }
  for (const [worktree, [first]] of writes.byWorktree) {
    const work = first === undefined ? undefined : writes.files.get(first);
    if (work !== undefined) found.set(worktree, work.project);
  }
  return found;
}
