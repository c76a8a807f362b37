/** The search for cycles of waits once more, request by request and without the graph: slow and obvious. */

import type { FileRef } from "../../daemon/core/frame/actors.ts";
import {
  type Actor,
  actorKey,
  areBeside,
  runsInside,
  sameActor,
  sameOwner,
} from "../../daemon/core/frame/actors.ts";
import { type Ask, type Blocker, blockers, mustGiveUp, overlapOf } from "../../daemon/core/locks/blockers.ts";
import type { Locks, Waiter } from "../../daemon/core/tables/base-state.ts";

/** What is not so yet, but would be if a request were granted. */
interface Taken {
  readonly actor: Actor;
  readonly files: readonly FileRef[];
  /** Something is written at once, so that the lock does not pass to those who work for its holder. */
  readonly flies: boolean;
}

/**
 * Whether a path of waits leads from `ask` back to its own actor, to what runs it as a command, or to one who would wait
 * for what is `taken`.
 */
export function closesCycle(locks: Locks, ask: Ask, taken: Taken | null = null): boolean {
  const goal = actorKey(ask.actor);
  const visited = new Set<string>();
  const follow = (asked: Ask): boolean => {
    if (taken !== null && waitsFor(asked, taken)) return true;
    for (const blocker of blockers(locks, asked)) {
      for (const actor of inTheWay(blocker, asked.actor)) {
        const next = actorKey(actor);
        if (next === goal || runsInside(ask.actor, actor)) return true;
        if (visited.has(next)) continue;
        visited.add(next);
        if (waitingFor(locks, actor).some(follow)) return true;
      }
    }
    return false;
  };
  return follow(ask);
}

/** Whether the actor, with these files, would be waited for by one for whom it waits itself. */
export function closesCycleByTaking(locks: Locks, taken: Taken): boolean {
  return waitingFor(locks, taken.actor).some(waiter => closesCycle(locks, waiter, taken));
}

/** Those who have to act before the blocker is out of the way. */
export function inTheWay(blocker: Blocker, asker: Actor): readonly Actor[] {
  return blocker.by === "place" ? [blocker.actor] : mustGiveUp(blocker.hold, asker);
}

export function attachedOf(locks: Locks, actor: Actor): Waiter[] {
  return [...locks.waiters.values()].filter(w => w.origin !== null && sameOwner(w.actor, actor));
}

/** The waiters of the actor or command, and those of the commands inside it. */
function waitingFor(locks: Locks, actor: Actor): Waiter[] {
  const inside = [...locks.waiters.values()].filter(w => w.origin !== null && runsInside(w.actor, actor));
  return [...attachedOf(locks, actor), ...inside];
}

function waitsFor(asked: Ask, { actor, files, flies }: Taken): boolean {
  const isMine = sameActor(asked.actor, actor) && !areBeside(asked.actor, actor);
  if (isMine || overlapOf(asked.files, files) === undefined) return false;
  const isFamily =
    asked.actor.session === actor.session &&
    asked.actor.incarnation === actor.incarnation &&
    asked.ancestors.includes(actor.agent);
  return flies || !isFamily || areBeside(asked.actor, actor);
}
