/** The ring of recent events, from which a subscriber resumes by its cursor. */

import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { EventLine, KiteEvent } from "../../protocol/events.ts";
import { limits } from "../../protocol/limits.ts";
import type { CoreEvent, Step } from "../core/tables/entries.ts";

/** Which events a subscriber gets; a null field matches every event. */
export interface EventFilter {
  readonly names: ReadonlySet<string> | null;
  readonly project: string | null;
  /** The id of a session that the event is about. */
  readonly session: string | null;
  /** A real path: matches the file, everything below it, and the directories around it. */
  readonly path: string | null;
}

/** The parts of an event that a filter reads. `whole`: `paths` is complete. */
export interface Filtered {
  readonly name: string;
  readonly project: string;
  readonly about: readonly string[];
  readonly paths: readonly string[];
  readonly whole: boolean;
}

/** Whether the subscriber gets the event. An event with a shortened list of files may be about any file. */
export function passes(filter: EventFilter, event: Filtered): boolean {
  if (filter.names !== null && !filter.names.has(event.name)) return false;
  if (filter.project !== null && filter.project !== event.project) return false;
  if (filter.session !== null && !event.about.includes(filter.session)) return false;
  const { path } = filter;
  return path === null || !event.whole || event.paths.some(other => overlap(path, other));
}

/** Returns the paths that an event names, if any. */
export function pathsIn(event: object): Pick<Filtered, "paths" | "whole"> {
  if ("paths" in event && Array.isArray(event.paths))
    return { paths: event.paths, whole: !("more" in event) };
  return { paths: "path" in event && typeof event.path === "string" ? [event.path] : [], whole: true };
}

/** Whether the paths are equal, or one contains the other. */
function overlap(a: string, b: string): boolean {
  return (
    a === b || b.startsWith(a.endsWith("/") ? a : `${a}/`) || a.startsWith(b.endsWith("/") ? b : `${b}/`)
  );
}

/** An event as it is sent, with the sessions it is about. */
export class Published implements Filtered {
  readonly cursor: string;
  readonly name: string;
  readonly about: readonly string[];
  readonly project: string;
  readonly entry: number;
  readonly event: KiteEvent;
  #line: string | null = null;

  constructor(cursor: string, entry: number, { event, about, project }: CoreEvent) {
    this.cursor = cursor;
    this.name = event.event;
    this.about = about;
    this.project = project;
    this.entry = entry;
    this.event = event;
  }

  /** The line, built at its first use: most events are never sent. */
  get line(): string {
    if (this.#line === null) {
      const full: EventLine = { type: "event", cursor: this.cursor, ...this.event };
      this.#line = `${JSON.stringify(full)}\n`;
    }
    return this.#line;
  }

  get paths(): readonly string[] {
    return pathsIn(this.event).paths;
  }

  get whole(): boolean {
    return pathsIn(this.event).whole;
  }

  /** Size in bytes, roughly, without building the line. */
  get bytes(): number {
    const files = "files" in this.event ? this.event.files.length : 0;
    return eventBytes + files * fileBytes;
  }
}

/** The content of a ring, with the cursor before it. */
export interface Kept {
  readonly floor: string;
  readonly events: readonly Published[];
}

/** Rough bytes of an event, and of each file that it names, for the ring's bound. */
const eventBytes = 300;
const fileBytes = 200;

/**
 * The events of the latest entries, for subscribers that come back. A cursor is `"<epoch>.<seq>.<n>"`.
 *
 * Invariants: events are in the order of the log; at most `limits.ringEntriesMax` entries and `limits.ringBytes`; the
 * ring has every event after the floor.
 */
export class EventRing {
  #events: Published[] = [];
  #bytes = 0;
  #head = 0;
  /** The cursor before all events in the ring; earlier events are evicted. */
  #floor: string | null = null;
  /** Whether the saved events still have to be compared with the journal. */
  #isTaken = false;
  /** How many events of another log follow the latest one of this log. */
  #beside = 0;
  #hasBeside = false;
  /** The last event that was passed over, if any. */
  #passed: { epoch: number; seq: number; n: number } | null = null;

  /** The cursor after the last event. */
  get cursor(): string {
    if (this.#passed !== null) return `${this.#passed.epoch}.${this.#passed.seq}.${this.#passed.n}`;
    return this.#events.at(-1)?.cursor ?? this.#floor ?? "0.0.0";
  }

  /** The ring's content for the next daemon; null if no client can come back for it. */
  get kept(): Kept | null {
    // A later start cannot know what came of another log meanwhile.
    if (this.#passed !== null || this.#floor === null || this.#hasBeside) return null;
    return { floor: this.#floor, events: this.#events.slice(this.#head) };
  }

  /** Loads the events of the previous daemon, before any is added. */
  take({ floor, events }: Kept): void {
    this.#floor = floor;
    this.#events = [...events];
    this.#bytes = events.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#isTaken = true;
  }

  /** Adds the events of one entry and returns them as they are sent. */
  add(
    epoch: number,
    seq: number,
    { events, lastEventCursor: cursor }: Pick<Step, "events" | "lastEventCursor">,
  ): Published[] {
    if (cursor !== null && (this.#floor === null || this.#isTaken)) {
      this.#begin(`${cursor.epoch}.${cursor.seq}.${cursor.n}`);
    }
    if (this.#passed !== null) {
      this.#floor = this.cursor;
      this.#passed = null;
    }
    const published: Published[] = [];
    let n = 0;
    for (const event of events) {
      if (event.to !== undefined) continue;
      n += 1;
      published.push(new Published(`${epoch}.${seq}.${n}`, seq, event));
    }
    if (published.length > 0) this.#beside = 0;
    this.#put(published, seq);
    return published;
  }

  /**
   * Adds events of another log after the latest ones: between the two logs there is no order but the one in which they came.
   * A cursor of them is that of the event before, and `+NUMBER`; the next start knows none of them.
   */
  addBeside(events: readonly CoreEvent[]): Published[] {
    if (this.#passed !== null || this.#floor === null) {
      this.#floor = this.cursor;
      this.#passed = null;
    }
    this.#hasBeside = true;
    const [base = ""] = this.cursor.split("+");
    const entry = this.#events.at(-1)?.entry ?? 0;
    const published = events.map(event => {
      this.#beside += 1;
      return new Published(`${base}+${this.#beside}`, entry, event);
    });
    this.#put(published, entry);
    return published;
  }

  #put(published: readonly Published[], seq: number): void {
    for (const one of published) {
      this.#events.push(one);
      this.#bytes += one.bytes;
    }
    if (published.length > 0) this.#trim(seq);
  }

  /** Counts events that no client can come back for, and evicts all earlier ones. */
  pass(epoch: number, seq: number, events: readonly CoreEvent[]): void {
    let n = 0;
    for (const event of events) if (event.to === undefined) n += 1;
    if (n === 0) return;
    if (this.#passed === null) {
      this.#passed = { epoch, seq, n };
      this.#events = [];
      this.#bytes = 0;
      this.#head = 0;
      return;
    }
    this.#passed.epoch = epoch;
    this.#passed.seq = seq;
    this.#passed.n = n;
  }

  /** Returns the events after `cursor`, or null if the ring does not know it (any more). */
  after(cursor: string): Published[] | null {
    for (let i = this.#events.length - 1; i >= this.#head; i -= 1) {
      if (this.#events[i]?.cursor === cursor) return this.#events.slice(i + 1);
    }
    if (this.#passed !== null) return cursor === this.cursor ? [] : null;
    return cursor === this.#floor ? this.#events.slice(this.#head) : null;
  }

  /** `latest` is the event before the first entry: saved events have to end with it. */
  #begin(latest: string): void {
    this.#isTaken = false;
    if (this.#floor !== null && this.cursor === latest) return;
    this.#floor = latest;
    this.#events = [];
    this.#bytes = 0;
  }

  #trim(seq: number): void {
    for (;;) {
      const oldest = this.#events[this.#head];
      if (oldest === undefined) break;
      if (this.#bytes <= limits.ringBytes && oldest.entry > seq - limits.ringEntriesMax) break;
      this.#floor = oldest.cursor;
      this.#bytes -= oldest.bytes;
      this.#head += 1;
    }
    if (this.#head > 1024 && this.#head * 2 > this.#events.length) {
      this.#events = this.#events.slice(this.#head);
      this.#head = 0;
    }
  }
}

// Saves the ring of events at an orderly stop: the journal is replayed only from its snapshot and lacks earlier events.
// The first new entry names the last event, and so shows whether the file fits the journal.

/** One event in the file. */
interface Stored {
  readonly cursor: string;
  readonly entry: number;
  readonly about: readonly string[];
  readonly project: string;
  readonly event: KiteEvent;
}

/** Replaces the file as a whole; null removes it. */
export function saveEvents(path: string, kept: Kept | null): void {
  if (kept === null) {
    rmSync(path, { force: true });
    return;
  }
  const lines = kept.events.map(({ cursor, entry, about, project, event }) =>
    JSON.stringify({ cursor, entry, about, project, event } satisfies Stored),
  );
  writeFileSync(`${path}.new`, `${[JSON.stringify({ floor: kept.floor }), ...lines].join("\n")}\n`, {
    mode: 0o600,
  });
  renameSync(`${path}.new`, path);
}

/** Returns null if no readable file exists: clients that come back then get `lagged`. */
export function loadEvents(path: string): Kept | null {
  try {
    const stat = statSync(path);
    if (!stat.isFile() || stat.size > limits.eventFileBytes) return null;
    const [head = "", ...lines] = readFileSync(path, "utf8").trimEnd().split("\n");
    const { floor }: { floor?: unknown } = JSON.parse(head);
    const stored: unknown[] = lines.map(line => JSON.parse(line));
    if (typeof floor !== "string" || !stored.every(isStored)) return null;
    return { floor, events: stored.map(one => new Published(one.cursor, one.entry, one)) };
  } catch {
    return null; // Missing and damaged are the same: nothing is lost but the cursors.
  }
}

function isStored(value: unknown): value is Stored {
  if (typeof value !== "object" || value === null) return false;
  const { cursor, entry, about, project, event }: Partial<Record<keyof Stored, unknown>> = value;
  const named = typeof event === "object" && event !== null && "event" in event;
  return (
    named &&
    typeof cursor === "string" &&
    typeof entry === "number" &&
    typeof project === "string" &&
    Array.isArray(about)
  );
}
