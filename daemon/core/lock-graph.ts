/**
 * Who waits for whom, by actor: derived from holds and attached requests, and moved on with each of them, so that a
 * look for a cycle follows actors and never the many requests of one.
 *
 * Invariants: a request that is attached has a count of what blocks it, and is `free` exactly while that is zero; an
 * edge exists exactly while some request of `from` needs `to` to act first, and names these requests; a cycle of edges
 * has a `fresh` one in it, which was not there when somebody last looked.
 */
import { leadsTo, pathTo } from "./reach.ts";
import { SortedKeys } from "./sorted-keys.ts";

/** Actors are named by `actorKey`. */
export interface Edge {
  readonly from: string;
  readonly to: string;
  /** The tickets of the requests, with how often each stands behind `to`. */
  readonly tickets: Map<number, number>;
  /** The same tickets in the order of the line (`placeOf`). */
  readonly line: SortedKeys;
}

export class WaitGraph {
  /** Attached requests that nothing blocks: to be granted. */
  readonly free = new Set<number>();
  /** Edges that may close a cycle, in the order they came. */
  readonly fresh = new Set<Edge>();
  readonly #blockers = new Map<number, number>();
  readonly #ahead = new Map<string, Map<string, Edge>>();
  readonly #behind = new Map<string, Map<string, Edge>>();

  /** Takes in an attached request that nothing blocks so far. */
  attach(ticket: number): void {
    this.#blockers.set(ticket, 0);
    this.free.add(ticket);
  }

  /** Lets a request go; nothing may block it any more. */
  detach(ticket: number): void {
    if (!this.free.delete(ticket)) throw new Error(`request ${ticket} is still blocked`);
    this.#blockers.delete(ticket);
  }

  /** One thing more stands between the request and its files. */
  block(ticket: number): void {
    this.#blockers.set(ticket, this.#count(ticket) + 1);
    this.free.delete(ticket);
  }

  unblock(ticket: number): void {
    const left = this.#count(ticket) - 1;
    this.#blockers.set(ticket, left);
    if (left === 0) this.free.add(ticket);
  }

  isFree(ticket: number): boolean {
    return this.free.has(ticket);
  }

  /** The request of `from` stands behind `to`. */
  join(from: string, to: string, ticket: number): void {
    const edges = tableOf(this.#ahead, from);
    let edge = edges.get(to);
    if (edge === undefined) {
      edge = { from, to, tickets: new Map(), line: new SortedKeys() };
      edges.set(to, edge);
      tableOf(this.#behind, to).set(from, edge);
      this.fresh.add(edge);
    }
    const count = edge.tickets.get(ticket) ?? 0;
    edge.tickets.set(ticket, count + 1);
    if (count === 0) edge.line.add(placeOf(ticket));
  }

  /** Takes one `join` back. */
  part(from: string, to: string, ticket: number): void {
    const edge = this.edge(from, to);
    const count = edge?.tickets.get(ticket);
    if (edge === undefined || count === undefined) throw new Error(`request ${ticket} is not behind ${to}`);
    if (count > 1) {
      edge.tickets.set(ticket, count - 1);
      return;
    }
    edge.tickets.delete(ticket);
    edge.line.delete(placeOf(ticket));
    if (edge.tickets.size > 0) return;
    this.fresh.delete(edge);
    removeFrom(this.#ahead, from, to);
    removeFrom(this.#behind, to, from);
  }

  edge(from: string, to: string): Edge | undefined {
    return this.#ahead.get(from)?.get(to);
  }

  /** Whether a path of edges leads from one of `starts` to one of `goals`; where one is both, it does. */
  leads(starts: readonly string[], goals: readonly string[]): boolean {
    if (starts.length === 0 || goals.length === 0) return false;
    return leadsTo(
      starts,
      goals,
      at => this.#ahead.get(at)?.keys() ?? nobody,
      at => this.#behind.get(at)?.keys() ?? nobody,
    );
  }

  /** A shortest path, the same however the edges came; `more` are to be edges of `start` as well. */
  path(start: string, goals: readonly string[], more: readonly string[] = []): string[] | null {
    return pathTo(start, new Set(goals), at => {
      const known = this.#ahead.get(at)?.keys() ?? nobody;
      return (at === start ? [...known, ...more] : [...known]).sort();
    });
  }

  /** All it knows, sorted: two graphs of the same requests describe themselves alike. */
  describe(): readonly string[] {
    const counts = [...this.#blockers].map(([ticket, n]) => `${ticket} ${n} ${this.free.has(ticket)}`);
    const edges = [...this.#ahead.values()].flatMap(table => [...table.values()]);
    const arrows = edges.map(({ from, to, tickets }) => {
      const known = this.#behind.get(to)?.get(from) !== undefined;
      return `${from} > ${to} ${known} ${[...tickets].map(one => one.join(":")).sort()}`;
    });
    const others = [...this.#behind.values()].reduce((sum, table) => sum + table.size, 0);
    return [...counts.sort(), ...arrows.sort(), `${others}`];
  }

  #count(ticket: number): number {
    const count = this.#blockers.get(ticket);
    if (count === undefined) throw new Error(`request ${ticket} is not attached`);
    return count;
  }
}

/** The ticket of the edge's first request in line. */
export function firstOf(edge: Edge): number {
  return Number.parseInt(edge.line.first ?? "0", 36);
}

/** As text that sorts as tickets do. */
function placeOf(ticket: number): string {
  return ticket.toString(36).padStart(11, "0");
}

const nobody: readonly string[] = [];

function tableOf(tables: Map<string, Map<string, Edge>>, at: string): Map<string, Edge> {
  const known = tables.get(at);
  if (known !== undefined) return known;
  const made = new Map<string, Edge>();
  tables.set(at, made);
  return made;
}

function removeFrom(tables: Map<string, Map<string, Edge>>, at: string, other: string): void {
  const table = tables.get(at);
  table?.delete(other);
  if (table?.size === 0) tables.delete(at);
}
