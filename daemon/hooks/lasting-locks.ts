/** Who keeps a lock until its work is done. */

import { type Refusal, refuse } from "../../protocol/codes.ts";
import { isResource } from "../../protocol/names.ts";
import {
  type Ask,
  type HeldAgainst,
  heldAgainst,
  isOfAncestor,
  lentBy,
  type Requester,
} from "../core/locks/blockers.ts";
import { loansOf } from "../core/locks/inherit.ts";
import type { State } from "../core/state.ts";
import type { Hold } from "../core/tables/base-state.ts";
import { actorRow, pathOf } from "../core/tables/naming.ts";

interface Keeper extends Pick<Hold, "actor" | "since" | "first"> {
  readonly stays: "kept";
}

/**
 * The actor that locked the file until its work is done: its holder, or who lent it to the holder; null: there is none, as
 * of a resource, whose lock has a lease.
 */
export function keptBy(hold: Hold): Keeper | null {
  const holds = hold.kind === "explicit" ? [hold, ...loansOf(hold)] : loansOf(hold);
  const kept = holds.find(({ bound }) => bound === null);
  return kept === undefined || isResource(hold.lexical)
    ? null
    : { actor: kept.actor, since: kept.since, first: kept.first, stays: "kept" };
}

/**
 * The same; null also if `asker` need not wait for that: it lent the lock itself, to an agent of its own whose turn will
 * end, or works for the holder, whose write passes the lock on when it ends.
 */
export function keeperOf(hold: Hold, asker: Requester): Keeper | null {
  return lentBy(hold, asker.actor) || isOfAncestor(hold, asker) ? null : keptBy(hold);
}

/**
 * The first lock over one of the files that another actor keeps until its work is done: nobody knows when, so an edit does
 * not wait for it. It waits for a lock that a running command holds. Other locks may block the request besides: the
 * keeper's own edit of a file in a directory that it keeps.
 */
export function keptAgainst({ locks }: Pick<State, "locks">, ask: Ask): HeldAgainst | null {
  for (const held of heldAgainst(locks, ask)) if (keeperOf(held.hold, ask) !== null) return held;
  return null;
}

/** Returns the refusal of a request that does not wait for what another actor keeps until its work is done; null: nobody does. */
export function refuseKept(state: State, ask: Ask): Refusal | null {
  const held = keptAgainst(state, ask);
  const keeper = held === null ? null : keeperOf(held.hold, ask);
  if (held === null || keeper === null) return null;
  const { hold, file } = held;
  const { id, name, agent } = actorRow(state, keeper.actor);
  const error = `${name} has locked ${pathOf(hold)} until its work is done; ask it to release that, or ask without unlessKept to wait`;
  return refuse("lock_held", error, {
    file: file.file,
    path: pathOf(file),
    use: keeper.stays,
    held: pathOf(hold),
    ...(hold.dir ? { dir: true } : {}),
    locked_by: id,
    locked_by_name: name,
    locked_by_agent: agent,
    locked_ago: Math.floor((state.t - keeper.since) / 1000),
    queued: false,
  });
}
