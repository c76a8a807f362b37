/**
 * Distributes events. Invariants: a subscriber gets its events in order and without a gap. Other connections get only
 * the events that published clients know, about sessions registered on them. An event costs nothing for the subscribers
 * that do not want it.
 */
import type { EventName } from "../../protocol/events.ts";
import { limits } from "../../protocol/limits.ts";
import type { CoreEvent, Step } from "../core/tables/entries.ts";
import type { Connection } from "../server/connection.ts";
import type { Steps, Turns } from "../server/turns.ts";
import { type EventFilter, passes, pathsIn } from "./filter.ts";
import { FilterIndex } from "./filter-index.ts";
import { EventRing, type Kept, type Published } from "./ring.ts";

type StepEvents = Pick<Step, "events" | "lastEventCursor">;

interface Subscriber {
  readonly connection: Connection;
  readonly filter: EventFilter;
  /** The last event sent or filtered out; while it is current, the ring's. */
  cursor: string;
  /** Events filtered out since the client last got a cursor; while it is current, those from `toldAt` on. */
  skipped: number;
  /** The hub's count of events when the client last got a cursor, while it is current. */
  toldAt: number;
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
  "work_wiped",
  "merge_risk",
  "file_conflict",
  "session_duplicated",
]);

export class EventHub {
  readonly #ring = new EventRing();
  readonly #subscribers = new Map<Connection, Subscriber>();
  readonly #filters = new FilterIndex<Subscriber>();
  /** Current subscribers, the one that got a cursor longest ago first. */
  readonly #byTold = new Set<Subscriber>();
  /** Events published so far, each with its weight. */
  #count = 0;
  /** How many more events may be sent to subscribers in this turn of the event loop. */
  #left: number = limits.turnSendsMax;
  #isRefillDue = false;
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
    const before = this.#subscribers.get(connection);
    if (before !== undefined) this.#unlist(before);
    const state = "stopped" as const;
    const subscriber: Subscriber = { connection, filter, cursor: from, skipped: 0, toldAt: 0, state };
    this.#subscribers.set(connection, subscriber);
    this.#filters.add(subscriber);
    // Of a connection that has closed meanwhile, this takes the subscriber away at once.
    if (before === undefined) connection.tie(() => this.#remove(connection));
    return { cursor: from, lagged };
  }

  /** Adds the events of a replayed entry to the ring; it has no subscriber yet. */
  recall(epoch: number, seq: number, step: StepEvents): void {
    this.#keepUntil = seq + limits.ringEntriesMax;
    this.#ring.add(epoch, seq, step);
  }

  publish(epoch: number, seq: number, step: StepEvents): void {
    this.#seq = seq;
    // Earlier subscribers may come back after a start, as after a lost connection.
    this.#keepUntil ??= seq + limits.ringEntriesMax;
    if (this.#subscribers.size === 0 && seq > this.#keepUntil && !step.events.some(isForOwner)) {
      this.#ring.pass(epoch, seq, step.events);
      return;
    }
    const before = this.#ring.cursor;
    this.#distribute(this.#ring.add(epoch, seq, step), before);
  }

  /** Publishes events of another log. Their order among those of this machine's log is the one in which they come. */
  publishBeside(events: readonly CoreEvent[]): void {
    const before = this.#ring.cursor;
    this.#distribute(this.#ring.addBeside(events), before);
  }

  #distribute(published: readonly Published[], before: string): void {
    if (published.length === 0) return;
    if (this.#subscribers.size > 0) this.#send(published, before);
    const about = published.filter(one => one.about.length > 0 && isUnasked(one.name));
    if (about.length > 0) this.#tellOwners(about);
  }

  /** The client reads again: sends the events after its cursor, or `lagged` if the ring no longer has them. */
  drained(connection: Connection): void {
    const subscriber = this.#subscribers.get(connection);
    if (subscriber?.state === "stopped") this.#catchUpInTurns(subscriber);
  }

  /** Sends a volatile event to its sessions and to subscribers. */
  tell(event: Volatile, about: readonly string[], project: string): void {
    const line = `${JSON.stringify({ type: "event", ...event })}\n`;
    const filtered = { name: event.event, project, about, ...pathsIn(event) };
    const subscribed = new Set<Connection>();
    for (const { connection } of this.#filters.matching(filtered)) {
      subscribed.add(connection);
      if (connection.unreadBytes < limits.unreadEventBytes) connection.push(line);
    }
    if (!isUnasked(event.event)) return;
    for (const connection of this.#connections()) {
      const own = about.some(id => connection.sessions.has(id)) && !subscribed.has(connection);
      if (own && connection.unreadBytes < limits.unreadEventBytes) connection.push(line);
    }
  }

  #remove(connection: Connection): void {
    const subscriber = this.#subscribers.get(connection);
    if (subscriber !== undefined) this.#unlist(subscriber);
    this.#subscribers.delete(connection);
    this.#keepUntil = this.#seq + limits.ringEntriesMax;
  }

  #unlist(subscriber: Subscriber): void {
    this.#filters.remove(subscriber);
    this.#byTold.delete(subscriber);
  }

  #catchUpInTurns(subscriber: Subscriber): void {
    subscriber.state = "behind";
    void this.#turns.make(subscriber.connection, this.#catchUp(subscriber));
  }

  /** Sends missed events until all are sent or the client stops reading. */
  *#catchUp(subscriber: Subscriber): Steps<void> {
    const { connection } = subscriber;
    // If the client subscribes again meanwhile, another one takes its place.
    while (this.#subscribers.get(connection) === subscriber) {
      const missed = this.#ring.after(subscriber.cursor);
      if (missed === null) {
        subscriber.cursor = this.#ring.cursor;
        connection.push(`${JSON.stringify({ type: "event", event: "lagged", cursor: subscriber.cursor })}\n`);
      }
      if (missed === null || missed.length === 0) {
        subscriber.state = "current";
        this.#toldNow(subscriber, subscriber.skipped);
        return;
      }
      for (const one of missed) {
        if (this.#subscribers.get(connection) !== subscriber) return;
        if (!this.#sendMissed(subscriber, one)) return;
        yield one.bytes;
      }
    }
  }

  /** Sends the events of one step; `before` is the cursor before them. */
  #send(events: readonly Published[], before: string): void {
    const isLong = events.length > limits.turnEventsMax;
    // They continue after the step: a turn that is made at once would send its later events before they come here.
    const behind: Subscriber[] = [];
    let last = before;
    for (const one of events) {
      this.#count += weightOf(one);
      for (const subscriber of this.#filters.matching(one)) {
        if (subscriber.state !== "current") continue;
        if (isLong || this.#left <= 0) {
          this.#leaveCurrent(subscriber, last, weightOf(one));
          behind.push(subscriber);
        } else this.#sendCurrent(subscriber, one, last);
      }
      last = one.cursor;
    }
    for (const subscriber of behind) this.#catchUpInTurns(subscriber);
    this.#bookmark();
  }

  #sendCurrent(subscriber: Subscriber, one: Published, last: string): void {
    const { connection } = subscriber;
    if (connection.unreadBytes >= limits.unreadEventBytes) {
      this.#leaveCurrent(subscriber, last, weightOf(one));
      return;
    }
    this.#toldNow(subscriber);
    this.#left -= 1;
    this.#refill();
    connection.push(one.line);
  }

  /** The client got everything up to `last`, but for `missed`; `drained`, or a turn of its own, continues there. */
  #leaveCurrent(subscriber: Subscriber, last: string, missed: number): void {
    subscriber.state = "stopped";
    subscriber.cursor = last;
    subscriber.skipped = Math.max(0, this.#count - missed - subscriber.toldAt);
    this.#byTold.delete(subscriber);
  }

  /** Sends a missed event if the filter passes it. Returns false if the client does not read: `drained` continues. */
  #sendMissed(subscriber: Subscriber, one: Published): boolean {
    const { connection } = subscriber;
    if (connection.unreadBytes >= limits.unreadEventBytes) {
      subscriber.state = "stopped";
      return false;
    }
    subscriber.cursor = one.cursor;
    subscriber.skipped += weightOf(one);
    if (passes(subscriber.filter, one)) {
      connection.push(one.line);
      subscriber.skipped = 0;
    } else if (subscriber.skipped >= limits.bookmarkEvents) {
      connection.push(bookmark(one.cursor));
      subscriber.skipped = 0;
    }
    return true;
  }

  /** Sends a new cursor now and then: one from the last matching event could be older than the ring. */
  #bookmark(): void {
    for (const subscriber of this.#byTold) {
      if (this.#left <= 0 || this.#count - subscriber.toldAt < limits.bookmarkEvents) return;
      const { connection } = subscriber;
      this.#toldNow(subscriber);
      this.#left -= 1;
      this.#refill();
      if (connection.unreadBytes >= limits.unreadEventBytes)
        this.#leaveCurrent(subscriber, this.#ring.cursor, 0);
      else connection.push(bookmark(this.#ring.cursor));
    }
  }

  /** Notes that a current subscriber got a cursor, with so many events filtered out since. */
  #toldNow(subscriber: Subscriber, skipped = 0): void {
    subscriber.toldAt = this.#count - skipped;
    this.#byTold.delete(subscriber);
    this.#byTold.add(subscriber);
  }

  #refill(): void {
    if (this.#isRefillDue) return;
    this.#isRefillDue = true;
    this.#turns.later(() => {
      this.#isRefillDue = false;
      this.#left = limits.turnSendsMax;
    });
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

/** As how many events this one counts until the next bare cursor. */
function weightOf({ bytes }: Published): number {
  return Math.ceil((2 * limits.bookmarkEvents * bytes) / limits.ringBytes);
}

function bookmark(cursor: string): string {
  return `${JSON.stringify({ type: "event", event: "bookmark", cursor })}\n`;
}
