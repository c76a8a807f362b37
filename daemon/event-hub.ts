/**
 * Who hears which events. Subscribers get what they asked for, in order and without a gap; every other connection
 * only what published clients know, about sessions registered on it.
 */
import type { EventName } from "../protocol/events.ts";
import { limits } from "../protocol/limits.ts";
import type { Connection } from "./connection.ts";
import type { CoreEvent } from "./core/step.ts";
import { EventRing, type Published } from "./event-ring.ts";

interface Subscriber {
  readonly names: ReadonlySet<string> | null;
  /** The last event sent; behind the ring's while the client does not read. */
  cursor: string;
  stopped: boolean;
}

/** What a client hears about itself without asking. */
const unasked: ReadonlySet<EventName> = new Set<EventName>([
  "lock_revoked",
  "lost_update",
  "session_duplicated",
]);

export class EventHub {
  readonly #ring = new EventRing();
  readonly #subscribers = new Map<Connection, Subscriber>();
  readonly #connections: () => Iterable<Connection>;

  constructor(connections: () => Iterable<Connection>) {
    this.#connections = connections;
  }

  get subscribers(): number {
    return this.#subscribers.size;
  }

  /**
   * Begins or changes a subscription; returns where it goes on from, and whether something was missed. Nothing is
   * sent before `drained` says so: the reply comes first.
   */
  subscribe(
    connection: Connection,
    names: readonly string[] | undefined,
    cursor: string | undefined,
  ): { cursor: string; lagged: boolean } {
    const lagged = cursor !== undefined && this.#ring.after(cursor) === null;
    const from = cursor === undefined || lagged ? this.#ring.cursor : cursor;
    const set = names === undefined ? null : new Set(names);
    this.#subscribers.set(connection, { names: set, cursor: from, stopped: true });
    return { cursor: from, lagged };
  }

  remove(connection: Connection): void {
    this.#subscribers.delete(connection);
  }

  /** Takes in the events of an entry that was replayed: nobody listens yet. */
  recall(epoch: number, seq: number, events: readonly CoreEvent[]): void {
    this.#ring.add(epoch, seq, events);
  }

  publish(epoch: number, seq: number, events: readonly CoreEvent[]): void {
    const published = this.#ring.add(epoch, seq, events);
    if (published.length === 0) return;
    for (const [connection, subscriber] of this.#subscribers) this.#send(connection, subscriber, published);
    const about = published.filter(one => one.about.length > 0 && isUnasked(one.name));
    if (about.length > 0) this.#tellOwners(about);
  }

  /** The client reads (again): what came after its cursor follows, or `lagged` where that is gone. */
  drained(connection: Connection): void {
    const subscriber = this.#subscribers.get(connection);
    if (subscriber === undefined || !subscriber.stopped) return;
    subscriber.stopped = false;
    const missed = this.#ring.after(subscriber.cursor);
    if (missed !== null) {
      this.#send(connection, subscriber, missed);
      return;
    }
    subscriber.cursor = this.#ring.cursor;
    connection.push(`${JSON.stringify({ type: "event", event: "lagged", cursor: subscriber.cursor })}\n`);
  }

  /** Sends a volatile event (one the log does not hold) to the sessions it is about and to subscribers. */
  tell(event: { readonly event: string; readonly [field: string]: unknown }, about: readonly string[]): void {
    const line = `${JSON.stringify({ type: "event", ...event })}\n`;
    for (const connection of this.#connections()) {
      const subscriber = this.#subscribers.get(connection);
      const subscribed = subscriber !== undefined && (subscriber.names?.has(event.event) ?? true);
      const own = about.some(id => connection.sessions.has(id));
      if ((subscribed || own) && connection.unreadBytes < limits.unreadEventBytes) connection.push(line);
    }
  }

  #send(connection: Connection, subscriber: Subscriber, events: readonly Published[]): void {
    if (subscriber.stopped) return;
    for (const one of events) {
      if (connection.unreadBytes >= limits.unreadEventBytes) {
        subscriber.stopped = true;
        return;
      }
      subscriber.cursor = one.cursor;
      if (subscriber.names === null || subscriber.names.has(one.name)) connection.push(one.line);
    }
  }

  #tellOwners(events: readonly Published[]): void {
    for (const connection of this.#connections()) {
      if (connection.sessions.size === 0 || this.#subscribers.has(connection)) continue;
      for (const one of events) {
        if (one.about.some(id => connection.sessions.has(id))) connection.push(one.line);
      }
    }
  }
}

function isUnasked(name: string): boolean {
  return (unasked as ReadonlySet<string>).has(name);
}
