/**
 * Who waits for whom, by actor: derived from holds and attached requests, and moved on with each of them, so that a
 * look for a cycle follows actors and never the many requests of one.
 *
 * Invariants: a request that is attached has a count of what blocks it, and is free exactly while that is zero; an
 * edge exists exactly while some request of `from` needs `to` to act first, and names these requests; a cycle of edges
 * has a `fresh` one in it, which was not there when somebody last looked.
 */
import { actorKey } from "../actor.ts";
import { NumberHeap } from "../number-heap.ts";
import { leadsTo, pathTo } from "../reach.ts";
import { SortedKeys } from "../sorted-keys.ts";
import type { ActorLocks, Edge } from "./by-actor.ts";

/** What the graph knows of a request in line. */
interface Waiting {
  readonly ticket: number;
  /** What blocks it; null while nobody listens for it. */
  blockers: number | null;
}

export class WaitGraph {
  /** Edges that may close a cycle, in the order they came. */
  readonly fresh = new Set<Edge>();
  /** Tickets of free requests, among others that were free once. */
  readonly #free = new NumberHeap();
  #freeCount = 0;

  /** Requests that are to be granted: attached, and nothing blocks them. */
  get freeCount(): number {
    return this.#freeCount;
  }

  /** The first of them in line, which does not come again unless something blocks and unblocks it once more. */
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

  /** Takes in an attached request; `entered` says that all that blocks it was told. */
  enter(waiter: Waiting): void {
    waiter.blockers = 1;
  }

  entered(waiter: Waiting): void {
    this.unblock(waiter);
  }

  /** Lets a request go, before what blocks it is taken back. */
  leave(waiter: Waiting): void {
    if (waiter.blockers === 0) this.#freeCount -= 1;
    waiter.blockers = null;
  }

  /** One thing more stands between the request and its files. */
  block(waiter: Waiting): void {
    if (waiter.blockers === null) throw new Error(`request ${waiter.ticket} is not attached`);
    if (waiter.blockers === 0) this.#freeCount -= 1;
    waiter.blockers += 1;
  }

  /** Takes one `block` back; of a request that was let go nothing is counted any more. */
  unblock(waiter: Waiting): void {
    if (waiter.blockers === null) return;
    if (waiter.blockers === 0) throw new Error(`nothing blocks request ${waiter.ticket}`);
    waiter.blockers -= 1;
    if (waiter.blockers > 0) return;
    this.#freeCount += 1;
    this.#free.push(waiter.ticket);
  }

  /** The request of `from` stands behind `to`. */
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
    if (count === 0) edge.line?.add(placeOf(ticket));
  }

  /** Takes one `join` back. */
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
    edge.line?.delete(placeOf(ticket));
    if (edge.tickets.size > 0) return;
    this.fresh.delete(edge);
    from.ahead.delete(to);
    to.behind.delete(from);
  }
}

/** Whether a path of edges leads from one of `starts` to one of `goals`; where one is both, it does. */
export function leads(starts: readonly ActorLocks[], goals: readonly ActorLocks[]): boolean {
  if (starts.length === 0 || goals.length === 0) return false;
  return leadsTo(
    starts,
    goals,
    at => at.ahead.keys(),
    at => at.behind.keys(),
  );
}

/** A shortest path, the same however the edges came; `more` are to be edges of `start` as well. */
export function pathOf(
  start: ActorLocks,
  goals: readonly ActorLocks[],
  more: readonly ActorLocks[] = [],
): ActorLocks[] | null {
  return pathTo(start, new Set(goals), at => {
    const ahead = at === start ? [...at.ahead.keys(), ...more] : [...at.ahead.keys()];
    return ahead.sort((a, b) => (actorKey(a.actor) < actorKey(b.actor) ? -1 : 1));
  });
}

/** The ticket of the edge's first request in line. */
export function firstOf(edge: Edge): number {
  if (edge.line === null) {
    edge.line = new SortedKeys();
    for (const ticket of edge.tickets.keys()) edge.line.add(placeOf(ticket));
  }
  return Number.parseInt(edge.line.first ?? "0", 36);
}

/** As text that sorts as tickets do. */
function placeOf(ticket: number): string {
  return ticket.toString(36).padStart(11, "0");
}
