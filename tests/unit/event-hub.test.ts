import { describe, expect, it } from "vitest";
import type { CoreEvent } from "../../daemon/core/tables/entries.ts";
import { Turns } from "../../daemon/server/call.ts";
import type { Connection } from "../../daemon/server/connection.ts";
import type { EventFilter } from "../../daemon/server/event-ring.ts";
import { EventHub } from "../../daemon/server/events.ts";
import { limits } from "../../protocol/limits.ts";

/** What the hub needs of a connection. */
class Listener {
  readonly sessions = new Map<string, number | null>();
  readonly lines: string[] = [];
  unreadBytes = 0;
  close: () => void = () => {};
  isClosed = false;

  tie(release: () => void): () => void {
    this.close = release;
    if (this.isClosed) release();
    return () => {};
  }

  push(line: string): void {
    this.lines.push(line);
  }

  get asConnection(): Connection {
    return this as unknown as Connection;
  }
}

const started = (id: string): { events: CoreEvent[]; lastEventCursor: null } => ({
  events: [{ event: { event: "session_started", id, name: id, project: "/p" }, about: [id], project: "/p" }],
  lastEventCursor: null,
});

function released(files: readonly string[]): CoreEvent {
  const holder = { id: "b", agent: null, name: "b" };
  const event = { event: "lock_released", files, paths: files, holder, cause: "unlocked" } as const;
  return { event, about: ["b"], project: "/p" };
}

const everything = { names: null, project: null, session: null, path: null };

describe("the hub of events", () => {
  it("keeps events for who left, until so many entries later", () => {
    const hub = new EventHub(() => [], new Turns());
    hub.publish(1, 1, started("before"));
    const listener = new Listener();
    const { cursor } = hub.subscribe(listener.asConnection, everything, undefined);
    listener.close();
    hub.publish(1, 2, started("a"));
    const back = hub.subscribe(listener.asConnection, everything, cursor);
    expect(back).toEqual({ cursor, lagged: false });
    hub.drained(listener.asConnection);
    expect(listener.lines.map(line => JSON.parse(line).id)).toEqual(["a"]);
    listener.close();
    for (let seq = 3; seq <= limits.ringEntriesMax + 3; seq += 1) hub.publish(1, seq, started("b"));
    expect(hub.subscribe(listener.asConnection, everything, "1.2.1").lagged).toBe(true);
  });

  it("keeps no subscriber of a connection that closed before its request was answered", () => {
    const hub = new EventHub(() => [], new Turns());
    const listener = new Listener();
    listener.isClosed = true;
    hub.subscribe(listener.asConnection, everything, undefined);
    expect(hub.subscribers).toBe(0);
    hub.publish(1, 1, started("a"));
    expect(listener.lines).toEqual([]);
  });

  it("begins anew at the latest event where nobody listened", () => {
    const hub = new EventHub(() => [], new Turns());
    hub.publish(1, 1, started("a"));
    hub.publish(1, 2, started("b"));
    const listener = new Listener();
    expect(hub.subscribe(listener.asConnection, everything, undefined).cursor).toBe("1.2.1");
    hub.drained(listener.asConnection);
    hub.publish(1, 3, started("c"));
    expect(listener.lines.map(line => JSON.parse(line).cursor)).toEqual(["1.3.1"]);
  });

  it("sends the events of a step that has thousands in turns, in order, and later ones behind them", () => {
    let tasks: (() => void)[] = [];
    const hub = new EventHub(() => [], new Turns(task => tasks.push(task)));
    const listener = new Listener();
    hub.publish(1, 1, started("before"));
    hub.subscribe(listener.asConnection, everything, undefined);
    hub.drained(listener.asConnection);
    const count = 2_000;
    const ids = Array.from({ length: count }, (_, i) => `s${i}`);
    const sizes: number[] = [];
    const counted = (work: () => void) => {
      const before = listener.lines.length;
      work();
      sizes.push(listener.lines.length - before);
    };
    counted(() =>
      hub.publish(1, 2, { events: ids.flatMap(id => started(id).events), lastEventCursor: null }),
    );
    counted(() => hub.publish(1, 3, started("later")));
    while (tasks.length > 0) {
      const due = tasks;
      tasks = [];
      counted(() => {
        for (const task of due) task();
      });
    }
    counted(() => hub.publish(1, 4, started("last")));
    expect(listener.lines.map(line => JSON.parse(line).id)).toEqual([...ids, "later", "last"]);
    // What a turn may make, by the ring's rough size of an event, and one more.
    expect(Math.max(...sizes)).toBeLessThanOrEqual(limits.turnBytes / 300 + 1);
  });

  it("looks at no subscriber that wants another event", () => {
    const hub = new EventHub(() => [], new Turns());
    hub.publish(1, 1, started("before"));
    let looks = 0;
    const counted = (filter: EventFilter): EventFilter =>
      new Proxy(filter, { get: (of, name) => [of[name as keyof EventFilter], looks++][0] });
    const others: Partial<EventFilter>[] = [
      { names: new Set(["session_ended"]) },
      { project: "/q" },
      { session: "b" },
      { path: "/p/file" },
      { names: new Set(["session_started", "session_ended"]), session: "b" },
    ];
    const listener = new Listener();
    for (const [i, other] of Array.from({ length: 1_000 }, (_, n) => others[n % others.length]).entries()) {
      const one = i === 500 ? listener : new Listener();
      const filter = i === 500 ? everything : counted({ ...everything, ...other });
      hub.subscribe(one.asConnection, filter, undefined);
      hub.drained(one.asConnection);
    }
    looks = 0;
    hub.publish(1, 2, started("a"));
    expect(looks).toBe(0);
    expect(listener.lines.map(line => JSON.parse(line).id)).toEqual(["a"]);
  });

  it("sends one event to thousands of subscribers in turns, and later ones behind it", () => {
    let tasks: (() => void)[] = [];
    const hub = new EventHub(() => [], new Turns(task => tasks.push(task)));
    const listeners = Array.from({ length: 3_000 }, () => new Listener());
    hub.publish(1, 1, started("before"));
    for (const { asConnection } of listeners) {
      hub.subscribe(asConnection, everything, undefined);
      hub.drained(asConnection);
    }
    const sent = () => listeners.reduce((sum, { lines }) => sum + lines.length, 0);
    const sizes: number[] = [];
    const counted = (work: () => void) => {
      const before = sent();
      work();
      sizes.push(sent() - before);
    };
    counted(() => {
      hub.publish(1, 2, started("a"));
      hub.publish(1, 3, started("b"));
    });
    while (tasks.length > 0) {
      const due = tasks;
      tasks = [];
      counted(() => {
        for (const task of due) task();
      });
    }
    counted(() => hub.publish(1, 4, started("c")));
    while (tasks.length > 0) for (const task of tasks.splice(0)) task();
    for (const { lines } of listeners)
      expect(lines.map(line => JSON.parse(line).id)).toEqual(["a", "b", "c"]);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(limits.turnSendsMax + limits.turnBytes / 300 + 1);
  });

  it("continues for a subscriber that did not read at the event that it missed", () => {
    const hub = new EventHub(() => [], new Turns());
    const wants = { ...everything, session: "a" };
    const listener = new Listener();
    hub.publish(1, 1, started("before"));
    hub.subscribe(listener.asConnection, wants, undefined);
    hub.drained(listener.asConnection);
    hub.publish(1, 2, started("other"));
    listener.unreadBytes = limits.unreadEventBytes;
    hub.publish(1, 3, started("a"));
    hub.publish(1, 4, started("other"));
    hub.publish(1, 5, started("a"));
    expect(listener.lines).toEqual([]);
    listener.unreadBytes = 0;
    hub.drained(listener.asConnection);
    hub.publish(1, 6, started("a"));
    expect(listener.lines.map(line => JSON.parse(line).cursor)).toEqual(["1.3.1", "1.5.1", "1.6.1"]);
  });

  it("sends a bare cursor after so many events that a subscriber does not want", () => {
    const hub = new EventHub(() => [], new Turns());
    const listener = new Listener();
    hub.publish(1, 1, started("before"));
    hub.subscribe(listener.asConnection, { ...everything, session: "a" }, undefined);
    hub.drained(listener.asConnection);
    for (let seq = 2; seq < 3 * limits.bookmarkEvents; seq += 1) hub.publish(1, seq, started("other"));
    const told = listener.lines.map(line => JSON.parse(line));
    expect(told).toEqual([
      { type: "event", event: "bookmark", cursor: `1.${limits.bookmarkEvents + 1}.1` },
      { type: "event", event: "bookmark", cursor: `1.${2 * limits.bookmarkEvents + 1}.1` },
    ]);
  });

  it("sends it before large events push the last one out of the ring", () => {
    const hub = new EventHub(() => [], new Turns());
    const listener = new Listener();
    hub.publish(1, 1, started("before"));
    hub.subscribe(listener.asConnection, { ...everything, session: "a" }, undefined);
    hub.drained(listener.asConnection);
    const files = Array.from({ length: limits.eventFilesMax }, (_, i) => `/p/file-${i}.ts`);
    let last = 1;
    for (let seq = 2; seq < limits.bookmarkEvents; seq += 1) {
      hub.publish(1, seq, { events: [released(files)], lastEventCursor: null });
      const told = listener.lines.splice(0).map(line => JSON.parse(line));
      if (told.length > 0) last = Number(told[0].cursor.split(".")[1]);
      expect(hub.subscribe(new Listener().asConnection, everything, `1.${last}.1`).lagged).toBe(false);
    }
    expect(last).toBeGreaterThan(1);
  });
});
