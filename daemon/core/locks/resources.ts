/**
 * The lease of locks on resources. Nobody sees an agent use a database or a browser, so what it keeps for itself ends by
 * itself; a command that runs under its lock keeps it until the command's end.
 *
 * Invariants: a lock on a resource that is bound to no connection ends `limits.resourceLeaseMs` after its holder's latest
 * request for it, or after its return to its lender; its holder is told once, unless it locks the resource again before that.
 */

import type { FileNote } from "../../../hooks/seam/slices.ts";
import { limits } from "../../../protocol/limits.ts";
import { isResource } from "../../../protocol/names.ts";
import type { BaseState, Hold } from "../base-state.ts";
import { takeBack, tellLater } from "../messages/notices.ts";
import type { Step } from "../outcome.ts";
import { pathOf } from "./replies.ts";

/** Returns when the lock's lease is over (core time, ms); null: it has none. */
export function resourceLeaseOverAt({ lexical, kind, bound, touched }: Hold): number | null {
  return isResource(lexical) && kind === "explicit" && bound === null
    ? touched + limits.resourceLeaseMs
    : null;
}

/** Begins the lease of a lock on a resource that its holder just got. */
export function leaseResource(state: BaseState, hold: Hold, step: Step): void {
  takeBack(state, hold.actor, note => isLeaseNote(note, hold));
  const at = resourceLeaseOverAt(hold);
  if (at !== null)
    step.timers.push({ at, due: { what: "resource_lease_over", key: hold.key, first: hold.first.grant } });
}

/** Tells the holder that its lease is over. */
export function tellLeaseOver(state: BaseState, hold: Hold): void {
  tellLater(state, hold.actor, { what: "lease_over", file: pathOf(hold) });
}

function isLeaseNote(note: FileNote, hold: Hold): boolean {
  return note.what === "lease_over" && note.file === pathOf(hold);
}
