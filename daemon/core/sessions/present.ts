/**
 * Who is there in a project: all sessions but lost ones that neither have a lock nor wait for one.
 *
 * Invariant: between entries `present` lists exactly these, by project, in the order they began.
 */
import type { BaseState, Session, Sessions } from "../base-state.ts";
import { idOfKey } from "./start-key.ts";
import { enterPresent, leavePresent } from "./table.ts";

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
