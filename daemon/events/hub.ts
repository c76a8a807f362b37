/**
 * Distributes events. Invariant: a subscriber gets its events in order and without a gap. Other connections get only
 * the events that published clients know, about sessions registered on them.
 */
import type { EventName } from "../../protocol/events.ts";
import { limits } from "../../protocol/limits.ts";
import type { CoreEvent, Step } from "../core/outcome.ts";
import type { Connection } from "../server/connection.ts";
import type { Steps, Turns } from "../server/turns.ts";
import { type EventFilter, passes, pathsIn } from "./filter.ts";
import { EventRing, type Kept, type Published } from "./ring.ts";

type Told = Pick<Step, "events" | "lastEventCursor">;

interface Subscriber {
  readonly filter: EventFilter;
  /** The last event sent or filtered out; older than the ring's if the client does not read. */
  cursor: string;
  /** Events filtered out since the client last got a cursor. */
  skipped: number;
  /** `stopped`: the client does not read, or has not begun. `behind`: it reads, and gets the missed events in turns. */
  state: "current" | "stopped" | "behind";
}

/** An event that is not in the log. */
export interface Volatile {
  readonly event: string;
  readonly [field: string]: unknown;
}

/** Events that a client gets about its own sessions without a subscription. */
const unasked: ReadonlySet<EventName> = new Set<EventName>([
  "lock_revoked",
  "lost_update",
  "bypassed",
  "work_taken",
  "merge_risk",
  "file_conflict",
  "session_duplicated",
]);

export class EventHub {
  readonly #ring = new EventRing();
  readonly #subscribers = new Map<Connection, Subscriber>();
  readonly #connections: () => Iterable<Connection>;
  readonly #turns: Turns;
  /** Until this entry the ring keeps events without a subscriber: a client may come back with a cursor. */
  #keepUntil: number | null = null;
  #seq = 0;

  constructor(connections: () => Iterable<Connection>, turns: Turns) {
    this.#connections = connections;
    this.#turns = turns;
  }

  /** Loads the events that the previous daemon saved for clients that come back. */
  take(kept: Kept): void {
    this.#ring.take(kept);
  }

  /** The events to save for them when this daemon stops. */
  get kept(): Kept | null {
    return this.#ring.kept;
  }

  get subscribers(): number {
    return this.#subscribers.size;
  }

  /**
   * Begins or changes a subscription; returns its cursor, and whether events were missed. The first event follows
   * `drained`, after the reply.
   */
  subscribe(
    connection: Connection,
    filter: EventFilter,
    cursor: string | undefined,
  ): { cursor: string; lagged: boolean } {
    const lagged = cursor !== undefined && this.#ring.after(cursor) === null;
    const from = cursor === undefined || lagged ? this.#ring.cursor : cursor;
    const isNew = !this.#subscribers.has(connection);
    this.#subscribers.set(connection, { filter, cursor: from, skipped: 0, state: "stopped" });
    if (isNew) connection.tie(() => this.#remove(connection));
    return { cursor: from, lagged };
  }

  /** Adds the events of a replayed entry to the ring; it has no subscriber yet. */
  recall(epoch: number, seq: number, step: Told): void {
    this.#keepUntil = seq + limits.ringEntriesMax;
    this.#ring.add(epoch, seq, step);
  }

  publish(epoch: number, seq: number, step: Told): void {
    this.#seq = seq;
    // Earlier subscribers may come back after a start, as after a lost connection.
    this.#keepUntil ??= seq + limits.ringEntriesMax;
    if (this.#subscribers.size === 0 && seq > this.#keepUntil && !step.events.some(isForOwner)) {
      this.#ring.pass(epoch, seq, step.events);
      return;
    }
    const published = this.#ring.add(epoch, seq, step);
    if (published.length === 0) return;
    for (const [connection, subscriber] of this.#subscribers) this.#send(connection, subscriber, published);
    const about = published.filter(one => one.about.length > 0 && isUnasked(one.name));
    if (about.length > 0) this.#tellOwners(about);
  }

  /** The client reads again: sends the events after its cursor, or `lagged` if the ring no longer has them. */
  drained(connection: Connection): void {
    const subscriber = this.#subscribers.get(connection);
    if (subscriber?.state === "stopped") this.#catchUpInTurns(connection, subscriber);
  }

  /** Sends a volatile event to its sessions and to subscribers. */
  tell(event: Volatile, about: readonly string[], project: string): void {
    const line = `${JSON.stringify({ type: "event", ...event })}\n`;
    const filtered = { name: event.event, project, about, ...pathsIn(event) };
    for (const connection of this.#connections()) {
      const subscriber = this.#subscribers.get(connection);
      const subscribed = subscriber !== undefined && passes(subscriber.filter, filtered);
      const own = isUnasked(event.event) && about.some(id => connection.sessions.has(id));
      if ((subscribed || own) && connection.unreadBytes < limits.unreadEventBytes) connection.push(line);
    }
  }

  #remove(connection: Connection): void {
    this.#subscribers.delete(connection);
    this.#keepUntil = this.#seq + limits.ringEntriesMax;
  }

  #catchUpInTurns(connection: Connection, subscriber: Subscriber): void {
    subscriber.state = "behind";
    void this.#turns.make(connection, this.#catchUp(connection, subscriber));
  }

  /** Sends missed events until all are sent or the client stops reading. */
  *#catchUp(connection: Connection, subscriber: Subscriber): Steps<void> {
    for (;;) {
      const missed = this.#ring.after(subscriber.cursor);
      if (missed === null) {
        subscriber.cursor = this.#ring.cursor;
        connection.push(`${JSON.stringify({ type: "event", event: "lagged", cursor: subscriber.cursor })}\n`);
      }
      if (missed === null || missed.length === 0) {
        subscriber.state = "current";
        return;
      }
      for (const one of missed) {
        // The client has subscribed again meanwhile.
        if (this.#subscribers.get(connection) !== subscriber) return;
        if (!this.#sendOne(connection, subscriber, one)) return;
        yield one.bytes;
      }
    }
  }

  #send(connection: Connection, subscriber: Subscriber, events: readonly Published[]): void {
    if (subscriber.state !== "current") return;
    if (events.length > limits.turnEventsMax) {
      this.#catchUpInTurns(connection, subscriber);
      return;
    }
    for (const one of events) if (!this.#sendOne(connection, subscriber, one)) return;
  }

  /** Returns false if the client does not read: `drained` continues. */
  #sendOne(connection: Connection, subscriber: Subscriber, one: Published): boolean {
    if (connection.unreadBytes >= limits.unreadEventBytes) {
      subscriber.state = "stopped";
      return false;
    }
    subscriber.cursor = one.cursor;
    if (passes(subscriber.filter, one)) {
      connection.push(one.line);
      subscriber.skipped = 0;
    } else this.#passOver(connection, subscriber);
    return true;
  }

  /** Sends a new cursor now and then: one from the last matching event could be older than the ring. */
  #passOver(connection: Connection, subscriber: Subscriber): void {
    subscriber.skipped += 1;
    if (subscriber.skipped < limits.bookmarkEvents) return;
    subscriber.skipped = 0;
    connection.push(`${JSON.stringify({ type: "event", event: "bookmark", cursor: subscriber.cursor })}\n`);
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

/** Whether a connection may get the event without a subscription. */
function isForOwner({ event, about }: CoreEvent): boolean {
  return about.length > 0 && isUnasked(event.event);
}

function isUnasked(name: string): boolean {
  return (unasked as ReadonlySet<string>).has(name);
}
