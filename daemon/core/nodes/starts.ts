/**
 * The latest start of each node of a shared log.
 *
 * Invariants: a start that left enters nothing more, so its late entries do not bring the node back. The log remembers the
 * starts of nodes with a lease. The store that orders the log never gives a node's epoch twice, so a forgotten start does no
 * harm.
 */

import type { Origin } from "../frame/actors.ts";
import type { BaseState } from "../tables/base-state.ts";

/** Notes that the node left the log in this start. */
export function leaveIn({ nodes, t }: BaseState, { node, epoch }: Origin): void {
  nodes.delete(node);
  nodes.set(node, { epoch, at: t, hasLeft: true });
}

/** Whether the node left the log in this start, or in a later one. */
export function hasLeftIn({ nodes }: BaseState, { node, epoch }: Origin): boolean {
  const start = nodes.get(node);
  return start?.hasLeft === true && epoch <= start.epoch;
}

/** Forgets the oldest starts beyond `limits.nodeStartsMax`; the latest one stays. */
export function forgetStarts({ nodes, leases, limits }: BaseState): void {
  for (const node of [...nodes.keys()].slice(0, -1)) {
    if (nodes.size <= limits.nodeStartsMax) return;
    if (!leases.all.has(node)) nodes.delete(node);
  }
}
