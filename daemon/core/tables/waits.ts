/**
 * The wait-for graph between actors: derived from locks and attached waiters. A search for a cycle follows actors, never the
 * many requests of one actor. An actor also waits for each of its commands that waits. A command waits for the commands that
 * run inside it. No edge stands for these waits.
 *
 * Invariants: an attached waiter counts its blockers and is free exactly while the count is zero. An edge exists exactly
 * while a waiter of `from` needs `to` to act first, and names these waiters. Every cycle contains a `fresh` edge, which was
 * added since the last search. Even a command begins to wait with a new edge of its own.
 */

import { actorKey } from "../frame/actors.ts";
import { assert, leadsTo, NumberHeap, pathTo, SortedKeys } from "../frame/collections.ts";
import { type ActorLocks, type Edge, rowsAround, waitingInside } from "./locks.ts";

/** The fields of a waiter that the graph uses. */
interface Waiting {
  readonly ticket: number;
  /** The number of its blockers; null while the waiter is detached. */
  blockers: number | null;
}

export class WaitGraph {
  /** Edges that may close a cycle, in the order they came. */
  readonly fresh = new Set<Edge>();
  /** Tickets of free waiters, and of waiters that were free once. */
  readonly #free = new NumberHeap();
  #freeCount = 0;

  /** The number of attached waiters that nothing blocks: they are to be granted. */
  get freeCount(): number {
    return this.#freeCount;
  }

  /** Removes and returns the first free waiter in queue order. It becomes free again only after another block. */
  takeFree<W extends Waiting>(waiters: ReadonlyMap<number, W>): W | null {
    while (this.#freeCount > 0) {
      const ticket = this.#free.pop();
      const waiter = ticket === undefined ? undefined : waiters.get(ticket);
      if (ticket === undefined) break;
      if (waiter?.blockers === 0) return waiter;
    }
    this.#free.clear();
    return null;
  }

  /** Adds an attached waiter. It stays blocked until the caller has added all its blockers and calls `entered`. */
  enter(waiter: Waiting): void {
    waiter.blockers = 1;
  }

  entered(waiter: Waiting): void {
    this.unblock(waiter);
  }

  /** Removes a waiter; the caller removes its blockers afterwards. */
  leave(waiter: Waiting): void {
    if (waiter.blockers === 0) this.#freeCount -= 1;
    waiter.blockers = null;
  }

  /** Counts one more blocker of the waiter. */
  block(waiter: Waiting): void {
    assert(waiter.blockers !== null, () => `request ${waiter.ticket} is not attached`);
    if (waiter.blockers === 0) this.#freeCount -= 1;
    waiter.blockers += 1;
  }

  /** Reverses one `block`; does nothing for a waiter that was removed. */
  unblock(waiter: Waiting): void {
    if (waiter.blockers === null) return;
    assert(waiter.blockers !== 0, () => `nothing blocks request ${waiter.ticket}`);
    waiter.blockers -= 1;
    if (waiter.blockers > 0) return;
    this.#freeCount += 1;
    this.#free.push(waiter.ticket);
  }

  /** Records that the request of `from` waits for `to`. */
  join(from: ActorLocks, to: ActorLocks, ticket: number): void {
    let edge = from.ahead.get(to);
    if (edge === undefined) {
      edge = { from, to, tickets: new Map(), line: null };
      from.ahead.set(to, edge);
      to.behind.set(from, edge);
      this.fresh.add(edge);
    }
    const count = edge.tickets.get(ticket) ?? 0;
    edge.tickets.set(ticket, count + 1);
    if (count === 0) edge.line?.add(sortKeyOf(ticket));
  }

  /** Reverses one `join`. */
  part(from: ActorLocks, to: ActorLocks, ticket: number): void {
    const edge = from.ahead.get(to);
    const count = edge?.tickets.get(ticket);
    if (edge === undefined || count === undefined)
      throw new Error(`request ${ticket} is not behind ${to.actor.session}`);
    if (count > 1) {
      edge.tickets.set(ticket, count - 1);
      return;
    }
    edge.tickets.delete(ticket);
    edge.line?.delete(sortKeyOf(ticket));
    if (edge.tickets.size > 0) return;
    this.fresh.delete(edge);
    from.ahead.delete(to);
    to.behind.delete(from);
  }
}

/** Whether a path of edges leads from one of `starts` to one of `goals`; true if an actor is in both. */
export function leads(starts: readonly ActorLocks[], goals: readonly ActorLocks[]): boolean {
  if (starts.length === 0 || goals.length === 0) return false;
  return leadsTo(starts, goals, nextOf, previousOf);
}

function nextOf(at: ActorLocks): Iterable<ActorLocks> {
  const inside = waitingInside(at);
  return inside.length === 0 ? at.ahead.keys() : [...at.ahead.keys(), ...inside];
}

function previousOf(at: ActorLocks): Iterable<ActorLocks> {
  const around = at.attached === 0 ? [] : rowsAround(at);
  return around.length === 0 ? at.behind.keys() : [...at.behind.keys(), ...around];
}

/** Returns a shortest path, independent of the order of edges; `start` also has edges to the actors in `more`. */
export function pathOf(
  start: ActorLocks,
  goals: readonly ActorLocks[],
  more: readonly ActorLocks[] = [],
): ActorLocks[] | null {
  return pathTo(start, new Set(goals), at => {
    const ahead = at === start ? [...nextOf(at), ...more] : [...nextOf(at)];
    return ahead.sort((a, b) => (actorKey(a.actor) < actorKey(b.actor) ? -1 : 1));
  });
}

/** Returns the ticket of the edge's first request in queue order. */
export function firstOf(edge: Edge): number {
  if (edge.line === null) {
    edge.line = new SortedKeys();
    for (const ticket of edge.tickets.keys()) edge.line.add(sortKeyOf(ticket));
  }
  return Number.parseInt(edge.line.first ?? "0", 36);
}

/** Returns the ticket as text that sorts as tickets do. */
function sortKeyOf(ticket: number): string {
  return ticket.toString(36).padStart(11, "0");
}
