import { describe, expect, it } from "vitest";
import type { CoreEvent } from "../../daemon/core/outcome.ts";
import { EventHub } from "../../daemon/events/hub.ts";
import type { Connection } from "../../daemon/server/connection.ts";
import { Turns } from "../../daemon/server/turns.ts";
import { limits } from "../../protocol/limits.ts";

/** What the hub needs of a connection. */
class Listener {
  readonly sessions = new Map<string, number | null>();
  readonly lines: string[] = [];
  readonly unreadBytes = 0;
  close: () => void = () => {};

  tie(release: () => void): () => void {
    this.close = release;
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
});
