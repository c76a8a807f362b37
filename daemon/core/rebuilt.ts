/**
 * Rebuilds derived fields from lists, to compare with the live ones.
 * Invariant: a rebuilt part equals the live one; the checks of each slice tell what differs.
 */

import { type Locks, noLocks, type Sessions } from "./base-state.ts";
import { addHold, addWaiter } from "./locks/table.ts";
import { Preimages } from "./preimages.ts";
import { Revisions } from "./sessions/revisions.ts";
import { addSession, noSessions } from "./sessions/table.ts";
import { insertTasks, noTasks, type Tasks } from "./tasks/table.ts";

/** Returns the tasks with their derived fields rebuilt; see `rebuiltIndexes`. */
export function rebuiltTasks(tasks: Tasks): Tasks {
  const fresh = noTasks(new Set(), new Preimages(), new Revisions());
  fresh.created = tasks.created;
  insertTasks(fresh, [...tasks.all.values()]);
  return fresh;
}

/** Returns the locks with their derived fields rebuilt from holds and waiters, to compare with the live ones. */
export function rebuiltIndexes(locks: Locks): Locks {
  const fresh = noLocks(new Set(), new Preimages());
  for (const hold of locks.holds.values()) addHold(fresh, { ...hold });
  for (const waiter of locks.waiters.values()) addWaiter(fresh, { ...waiter });
  return fresh;
}

/** Returns the sessions with their derived fields rebuilt; see `rebuiltIndexes`. */
export function rebuiltSessions({ live }: Sessions): Sessions {
  const fresh = noSessions(new Set(), new Preimages(), new Revisions());
  for (const session of live.values()) addSession(fresh, session);
  return fresh;
}
