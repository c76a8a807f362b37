import type { EventLine, KiteEvent } from "../../protocol/events.ts";
import { limits } from "../../protocol/limits.ts";
import type { CoreEvent, Step } from "../core/outcome.ts";
import { type Filtered, pathsIn } from "./filter.ts";

/** An event as it is sent, with whom it is about. */
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

  /** The line, made when somebody first wants it: most events nobody does. */
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

  /** About what it takes, without making the line. */
  get bytes(): number {
    const files = "files" in this.event ? this.event.files.length : 0;
    return eventBytes + files * fileBytes;
  }
}

/** What a ring holds, with the cursor before it. */
export interface Kept {
  readonly floor: string;
  readonly events: readonly Published[];
}

/** Rough sizes of an event and of each file it names, for the ring's bound. */
const eventBytes = 300;
const fileBytes = 200;

/**
 * The events of the latest entries, for subscribers who come back. A cursor is `"<epoch>.<seq>.<n>"`.
 *
 * Invariants: in the order of the log; at most `limits.ringEntriesMax` entries and `limits.ringBytes`; what is kept
 * is everything after the floor.
 */
export class EventRing {
  #events: Published[] = [];
  #bytes = 0;
  #head = 0;
  /** The cursor before everything the ring holds: of what came earlier it knows nothing. */
  #floor: string | null = null;
  /** Taken over, and not held against the journal yet. */
  #isTaken = false;
  /** The last event passed over since, if there was one. */
  #passed: { epoch: number; seq: number; n: number } | null = null;

  /** The cursor after everything so far. */
  get cursor(): string {
    if (this.#passed !== null) return `${this.#passed.epoch}.${this.#passed.seq}.${this.#passed.n}`;
    return this.#events.at(-1)?.cursor ?? this.#floor ?? "0.0.0";
  }

  /** What it holds, for the next daemon; null where nobody can come back for it. */
  get kept(): Kept | null {
    if (this.#passed !== null || this.#floor === null) return null;
    return { floor: this.#floor, events: this.#events.slice(this.#head) };
  }

  /** Takes over what the daemon before held, before anything is added. */
  take({ floor, events }: Kept): void {
    this.#floor = floor;
    this.#events = [...events];
    this.#bytes = events.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#isTaken = true;
  }

  /** Takes in the events of one entry and returns them as they are sent. */
  add(epoch: number, seq: number, { events, told }: Pick<Step, "events" | "told">): Published[] {
    if (told !== null && (this.#floor === null || this.#isTaken)) {
      this.#begin(`${told.epoch}.${told.seq}.${told.n}`);
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
    for (const one of published) {
      this.#events.push(one);
      this.#bytes += one.bytes;
    }
    if (published.length > 0) this.#trim(seq);
    return published;
  }

  /** Takes note of events that nobody can come back for, and forgets those before them. */
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

  /** What came after `cursor`, or null where the ring no longer (or never) knew it. */
  after(cursor: string): Published[] | null {
    for (let i = this.#events.length - 1; i >= this.#head; i -= 1) {
      if (this.#events[i]?.cursor === cursor) return this.#events.slice(i + 1);
    }
    if (this.#passed !== null) return cursor === this.cursor ? [] : null;
    return cursor === this.#floor ? this.#events.slice(this.#head) : null;
  }

  /** `latest` is the event before the first entry: what was taken over has to end there. */
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
