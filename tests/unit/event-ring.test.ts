/** The ring of events, its filters, and its file over a stop. */

import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, it, test } from "vitest";
import type { CoreEvent, EventCursor, Step } from "../../daemon/core/tables/entries.ts";
import {
  type EventFilter,
  EventRing,
  type Filtered,
  loadEvents,
  passes,
  saveEvents,
} from "../../daemon/server/event-ring.ts";
import { FilterIndex } from "../../daemon/server/events.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";

function started(id: string): CoreEvent {
  return { event: { event: "session_started", id, name: id, project: "/p" }, about: [id], project: "/p" };
}

const none = { epoch: 0, seq: 0, n: 0 };

function step(
  events: readonly CoreEvent[],
  told: EventCursor = none,
): Pick<Step, "events" | "lastEventCursor"> {
  return { events: [...events], lastEventCursor: told };
}

const names = (events: ReturnType<EventRing["after"]>) => events?.map(e => e.about[0]);

describe("the ring of events", () => {
  it("gives each event a cursor, and what came after one", () => {
    const ring = new EventRing();
    const [a, b] = ring.add(1, 7, step([started("a"), started("b")]));
    ring.add(1, 9, step([started("c")]));
    expect([a?.cursor, b?.cursor, ring.cursor]).toEqual(["1.7.1", "1.7.2", "1.9.1"]);
    expect(names(ring.after("1.7.1"))).toEqual(["b", "c"]);
    expect(ring.after("1.9.1")).toEqual([]);
  });

  it("sends an event as one line with its cursor", () => {
    const ring = new EventRing();
    const [event] = ring.add(2, 3, step([started("a")]));
    expect(event?.line.endsWith("}\n")).toBe(true);
    expect(JSON.parse(event?.line ?? "")).toEqual({
      type: "event",
      cursor: "2.3.1",
      event: "session_started",
      id: "a",
      name: "a",
      project: "/p",
    });
  });

  it("knows nothing of a cursor it never gave out", () => {
    const ring = new EventRing();
    ring.add(1, 7, step([started("a")]));
    expect(ring.after("1.7.2")).toBeNull();
    expect(ring.after("1.5.1")).toBeNull();
    expect(ring.after("rubbish")).toBeNull();
  });

  it("goes on from the event that was the latest before its first one", () => {
    const ring = new EventRing();
    ring.add(1, 7, step([], { epoch: 1, seq: 5, n: 2 }));
    const { cursor } = ring;
    expect(cursor).toBe("1.5.2");
    ring.add(1, 8, step([started("a")]));
    expect(names(ring.after(cursor))).toEqual(["a"]);
  });

  it("goes on from what the daemon before kept, where that ends at the latest event", () => {
    const before = new EventRing();
    before.add(1, 4, step([started("a")]));
    before.add(1, 5, step([started("b")]));
    const { kept } = before;
    if (kept === null) throw new Error("nothing was kept");
    const ring = new EventRing();
    ring.take(kept);
    ring.add(2, 7, step([started("c")], { epoch: 1, seq: 5, n: 1 }));
    expect(names(ring.after("1.4.1"))).toEqual(["b", "c"]);
    expect(names(ring.after("0.0.0"))).toEqual(["a", "b", "c"]);
    const other = new EventRing();
    other.take(kept);
    other.add(2, 7, step([started("c")], { epoch: 1, seq: 6, n: 1 }));
    expect(other.after("1.5.1")).toBeNull();
    expect(names(other.after("1.6.1"))).toEqual(["c"]);
  });

  it("keeps to itself what is for one request alone", () => {
    const ring = new EventRing();
    const alone = { ...started("a"), to: { node: "n", epoch: 1, n: 1 } };
    expect(ring.add(1, 1, step([alone, started("b")])).map(e => e.cursor)).toEqual(["1.1.1"]);
  });

  it("forgets events of old entries, and says so to who asks for what came after them", () => {
    const ring = new EventRing();
    ring.add(1, 1, step([started("old")]));
    ring.add(1, 2, step([started("next")]));
    ring.add(1, limits.ringEntriesMax + 1, step([started("new")]));
    expect(ring.after("1.1.1")?.length).toBe(2);
    ring.add(1, limits.ringEntriesMax + 2, step([started("newer")]));
    expect(names(ring.after("1.2.1"))).toEqual(["new", "newer"]);
    expect(ring.after("1.1.1")).toBeNull();
  });

  it("is bounded in bytes as well", () => {
    const ring = new EventRing();
    const files = Array.from({ length: limits.eventFilesMax }, (_, i) => `a-long-file-name-${i}`);
    const holder = { id: "a", agent: null, name: "a" };
    const event = { event: "lock_released" as const, files, paths: files, holder, cause: "unlocked" };
    for (let seq = 1; seq <= 3000; seq += 1) ring.add(1, seq, step([{ event, about: [], project: "/p" }]));
    expect(ring.after("1.1.1")).toBeNull();
    const kept = ring.after("1.2900.1") ?? [];
    expect(kept).toHaveLength(100);
    const all = Array.from({ length: 3000 }, (_, i) => ring.after(`1.${i + 1}.1`)).find(
      found => found !== null,
    );
    const bytes = (all ?? []).reduce((sum, e) => sum + e.bytes, 0);
    expect(bytes).toBeLessThanOrEqual(limits.ringBytes);
    expect(bytes).toBeGreaterThan(limits.ringBytes * 0.9);
  });

  it("lets go of what nobody can come back for, and goes on from there", () => {
    const ring = new EventRing();
    const told = { lastEventCursor: null };
    ring.add(1, 1, { events: [started("a")], ...told });
    ring.pass(1, 2, [started("b"), started("c")]);
    expect(ring.cursor).toBe("1.2.2");
    expect(ring.after("1.1.1")).toBeNull();
    expect(ring.after("1.2.2")).toEqual([]);
    ring.pass(1, 3, []);
    expect(ring.cursor).toBe("1.2.2");
    ring.add(1, 4, { events: [started("d")], ...told });
    expect(names(ring.after("1.2.2"))).toEqual(["d"]);
    expect(ring.after("1.2.1")).toBeNull();
  });
});

const path = fc
  .array(fc.constantFrom("a", "b", "ab"), { maxLength: 3 })
  .chain(parts => fc.constantFrom(`/${parts.join("/")}`, parts.length > 0 ? `/${parts.join("/")}/` : "/"));
const word = fc.constantFrom("x", "y", "z");
const filter: fc.Arbitrary<EventFilter> = fc.record({
  names: fc.option(fc.array(word, { maxLength: 3 }).map(names => new Set(names))),
  project: fc.option(word),
  session: fc.option(word),
  path: fc.option(path),
});
const event: fc.Arbitrary<Filtered> = fc.record({
  name: word,
  project: word,
  about: fc.array(word, { maxLength: 3 }),
  paths: fc.array(path, { maxLength: 3 }),
  whole: fc.boolean(),
});

describe("the index of filters", () => {
  it("finds exactly the subscribers whose filters pass an event, each once", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(filter, fc.boolean()), { maxLength: 20 }),
        fc.array(event, { maxLength: 5 }),
        (filters, events) => {
          const index = new FilterIndex<{ readonly filter: EventFilter }>();
          const all = filters.map(([one, stays]) => ({ filter: one, stays }));
          for (const one of all) index.add(one);
          for (const one of all) if (!one.stays) index.remove(one);
          for (const one of events) {
            const wanted = all.filter(({ filter: of, stays }) => stays && passes(of, one));
            const found = [...index.matching(one)];
            expect(found).toHaveLength(wanted.length);
            expect(new Set(found)).toEqual(new Set(wanted));
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

// The ring of events over a stop in order.
describe("the file of events", () => {
  let folder: string;
  let path: string;

  beforeEach(() => {
    folder = temporaryFolder("kite-events-");
    path = join(folder, "events.ndjson");
  });

  function ringOf(...ids: readonly string[]): EventRing {
    const ring = new EventRing();
    const none = { epoch: 0, seq: 0, n: 0 };
    for (const [i, id] of ids.entries()) {
      const event = { event: "session_started" as const, id, name: id, project: "/p" };
      ring.add(1, i + 1, { events: [{ event, about: [id], project: "/p" }], lastEventCursor: none });
    }
    return ring;
  }

  test("what was kept comes back, line for line, for its owner alone", () => {
    const ring = ringOf("a", "b");
    saveEvents(path, ring.kept);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const kept = loadEvents(path);
    expect(kept?.floor).toBe("0.0.0");
    expect(kept?.events.map(({ line }) => line)).toEqual(ring.after("0.0.0")?.map(({ line }) => line));
    expect(kept?.events.map(({ about, project, entry }) => [about, project, entry])).toEqual([
      [["a"], "/p", 1],
      [["b"], "/p", 2],
    ]);
  });

  test("nothing to keep takes the file away", () => {
    saveEvents(path, ringOf("a").kept);
    saveEvents(path, null);
    expect(existsSync(path)).toBe(false);
    expect(loadEvents(path)).toBeNull();
  });

  test("a damaged file is as good as none", () => {
    saveEvents(path, ringOf("a", "b").kept);
    const whole = readFileSync(path, "utf8");
    const [head = "", first = ""] = whole.split("\n");
    for (const text of ["", "{", whole.slice(0, -5), `${first}\n`, `${head}\n{}\n`, `${head}\nnull\n`]) {
      writeFileSync(path, text);
      expect(loadEvents(path), text).toBeNull();
    }
  });
});
