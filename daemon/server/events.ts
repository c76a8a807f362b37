/**
 * Distributes events. Invariants: a subscriber gets its events in order and without a gap. Other connections get only
 * the events that published clients know, about sessions registered on them. An event costs nothing for the subscribers
 * that do not want it.
 */

import type { EventName } from "../../protocol/events.ts";
import { limits } from "../../protocol/limits.ts";
import type { InboxEvent } from "../../protocol/schemas/message.ts";
import { addToSet, removeFromSet, type Sets } from "../core/frame/collections.ts";
import type { State } from "../core/state.ts";
import type { CommandType, CoreEvent, Entry, Step } from "../core/tables/entries.ts";
import type { Steps, Turns } from "./call.ts";
import type { Connection } from "./connection.ts";
import {
  type EventFilter,
  EventRing,
  type Filtered,
  type Kept,
  type Published,
  passes,
  pathsIn,
} from "./event-ring.ts";

// Finds the subscribers that want an event without a look at the others.
//
// Invariants: `matching` yields a subscriber at most once, and exactly if its filter passes the event. A subscriber is
// listed under each name of its filter, and there under the narrowest of its other fields.

/** The subscribers of one name, or of every name. */
interface Listed<S> {
  readonly bySession: Sets<string, S>;
  /** The subscribers with a path: all of them, by that path, and by each folder above it. */
  readonly pathed: Set<S>;
  readonly byPath: Sets<string, S>;
  readonly below: Sets<string, S>;
  readonly byProject: Sets<string, S>;
  readonly others: Set<S>;
}

export class FilterIndex<S extends { readonly filter: EventFilter }> {
  /** By name; under null those that want every name. */
  readonly #lists = new Map<string | null, Listed<S>>();

  add(one: S): void {
    for (const name of one.filter.names ?? [null]) {
      const known = this.#lists.get(name);
      const list = known ?? emptyList<S>();
      if (known === undefined) this.#lists.set(name, list);
      enter(list, one);
    }
  }

  remove(one: S): void {
    for (const name of one.filter.names ?? [null]) {
      const list = this.#lists.get(name);
      if (list === undefined) continue;
      leave(list, one);
      if (isEmpty(list)) this.#lists.delete(name);
    }
  }

  /** Yields the subscribers that want the event. It may leave out a subscriber that is removed meanwhile. */
  *matching(event: Filtered): Generator<S, void> {
    for (const name of [event.name, null]) {
      const list = this.#lists.get(name);
      if (list === undefined) continue;
      for (const one of candidates(list, event)) if (passes(one.filter, event)) yield one;
    }
  }
}

function* candidates<S>(list: Listed<S>, { about, project, paths, whole }: Filtered): Generator<S, void> {
  yield* list.others;
  yield* list.byProject.get(project) ?? [];
  if (list.bySession.size > 0) for (const id of new Set(about)) yield* list.bySession.get(id) ?? [];
  if (list.pathed.size === 0) return;
  // A shortened list of files says nothing of the others.
  if (!whole) yield* list.pathed;
  else if (paths.length === 1) yield* overlapping(list, paths[0] ?? "");
  else yield* new Set(paths.flatMap(path => [...overlapping(list, path)]));
}

/** Yields the subscribers whose path is this one, a folder above it or something below it. */
function* overlapping<S>(list: Listed<S>, path: string): Generator<S, void> {
  const own = plain(path);
  for (const at of [own, ...foldersAbove(own)]) yield* list.byPath.get(at) ?? [];
  yield* list.below.get(own) ?? [];
}

function enter<S extends { readonly filter: EventFilter }>(list: Listed<S>, one: S): void {
  const { session, path, project } = one.filter;
  if (session !== null) addToSet(list.bySession, session, one);
  else if (path !== null) {
    const own = plain(path);
    list.pathed.add(one);
    addToSet(list.byPath, own, one);
    for (const folder of foldersAbove(own)) addToSet(list.below, folder, one);
  } else if (project !== null) addToSet(list.byProject, project, one);
  else list.others.add(one);
}

function leave<S extends { readonly filter: EventFilter }>(list: Listed<S>, one: S): void {
  const { session, path, project } = one.filter;
  if (session !== null) removeFromSet(list.bySession, session, one);
  else if (path !== null) {
    const own = plain(path);
    list.pathed.delete(one);
    removeFromSet(list.byPath, own, one);
    for (const folder of foldersAbove(own)) removeFromSet(list.below, folder, one);
  } else if (project !== null) removeFromSet(list.byProject, project, one);
  else list.others.delete(one);
}

function emptyList<S>(): Listed<S> {
  const [bySession, byPath, below, byProject] = [new Map(), new Map(), new Map(), new Map()];
  return { bySession, pathed: new Set(), byPath, below, byProject, others: new Set() };
}

function isEmpty<S>({ bySession, pathed, byProject, others }: Listed<S>): boolean {
  return bySession.size + pathed.size + byProject.size + others.size === 0;
}

/** The path without a slash at its end; the root is empty. */
function plain(path: string): string {
  return path.endsWith("/") ? path.slice(0, -1) : path;
}

function foldersAbove(path: string): string[] {
  const folders: string[] = [];
  for (let cut = path.lastIndexOf("/"); cut >= 0; cut = path.lastIndexOf("/", cut - 1)) {
    folders.push(path.slice(0, cut));
    if (cut === 0) break;
  }
  return folders;
}

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
interface Volatile {
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
    // If the connection has closed meanwhile, this removes the subscriber at once.
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

// What of inboxes changes without an event of the log, for those who look on.

/** The commands of which it comes. */
export const inboxCommands: readonly CommandType[] = ["inbox_take", "message_ack"];

/** Returns the event of the step that this entry made; null: it changed no inbox without one. */
export function inboxEvent(
  { command }: Pick<Entry, "command">,
  { sessions }: Pick<State, "sessions">,
): InboxEvent | null {
  const isRead = command.type === "message_ack" && command.read === true;
  if (command.type !== "inbox_take" && !isRead) return null;
  const { session: id, agent } = command.actor;
  const { project } = sessions.live.get(id) ?? {};
  return project === undefined ? null : { event: "inbox_changed", by: { id, agent }, project };
}
