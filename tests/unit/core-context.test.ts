/** Values that agents share under keys. */
import { describe, expect, it } from "vitest";
import { allDue } from "../../daemon/core/apply.ts";
import { contextAt } from "../../daemon/core/messages/context.ts";
import { emptyState, readState, writeState } from "../../daemon/core/snapshot.ts";
import { countItems, itemsOf, itemsSince, latestItem } from "../../daemon/core/tables/context.ts";
import type { ContextSet } from "../../daemon/core/tables/messages.ts";
import { noteRead } from "../../daemon/requests/messages.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, World } from "./core-world.ts";
import { EngineWorld, MemoryPlace } from "./engine-world.ts";

function set(w: World, key: string, value: ContextSet["value"], more: Partial<ContextSet> = {}) {
  return w.do({
    type: "context_set",
    actor: actor("ann"),
    project: "/p",
    key,
    value,
    bytes: JSON.stringify(value).length,
    durable: false,
    ifVersion: null,
    ttlMs: null,
    wallMs: w.now,
    ...more,
  });
}

function remove(w: World, key: string, ifVersion: number | null = null) {
  return w.do({ type: "context_delete", actor: actor("ann"), project: "/p", key, ifVersion });
}

const valueAt = (w: World, key: string) => w.state.context.items.get(`/p\n${key}`)?.value;

function world(): World {
  const w = new World();
  w.begin("ann");
  return w;
}

describe("a key", () => {
  it("counts its versions, and tells everybody", () => {
    const w = world();
    expect(set(w, "port", 4000)).toEqual({ ok: true, key: "port", version: 1 });
    expect(set(w, "port", 4001)).toEqual({ ok: true, key: "port", version: 2 });
    expect(w.steps.at(-1)?.events.map(e => e.event)).toEqual([
      {
        event: "context_changed",
        project: "/p",
        key: "port",
        version: 2,
        from: { id: "ann", agent: null, name: "ann" },
        deleted: false,
      },
    ]);
    expect(valueAt(w, "port")).toBe(4001);
  });

  it("is another one in another project", () => {
    const w = world();
    set(w, "port", 4000);
    expect(set(w, "port", 1, { project: "/q", ifVersion: 0 })).toMatchObject({ ok: true });
    expect(valueAt(w, "port")).toBe(4000);
  });

  it("is compared and set, both ways", () => {
    const w = world();
    expect(set(w, "k", 1, { ifVersion: 1 })).toMatchObject({ code: "context_conflict", version: 0 });
    expect(set(w, "k", 1, { ifVersion: 0 })).toMatchObject({ version: 1 });
    expect(set(w, "k", 2, { ifVersion: 0 })).toMatchObject({ code: "context_conflict", version: 1 });
    expect(remove(w, "k", 7)).toMatchObject({ code: "context_conflict", version: 1 });
    expect(valueAt(w, "k")).toBe(1);
  });

  it("has no version twice: who read it before it was deleted does not overwrite its heir", () => {
    const w = world();
    set(w, "k", "a");
    set(w, "k", "b");
    expect(remove(w, "k")).toEqual({ ok: true, key: "k", version: 2 });
    expect(remove(w, "k")).toMatchObject({ code: "context_absent" });
    expect(set(w, "k", "c")).toMatchObject({ version: 3 });
    expect(set(w, "k", "d", { ifVersion: 2 })).toMatchObject({ code: "context_conflict" });
  });

  it("ends with its time, for those who set as well, whenever the log says so", () => {
    const w = world();
    set(w, "k", 1, { ttlMs: 1000 });
    set(w, "k", 2, { ttlMs: 5000 });
    w.pass(1000);
    expect(valueAt(w, "k")).toBe(2);
    w.now += 5000;
    expect(set(w, "k", 3, { ifVersion: 0 })).toMatchObject({ version: 3 });
    w.pass(60_000);
    expect(valueAt(w, "k")).toBe(3);
    set(w, "k", 4, { ttlMs: 1000 });
    w.pass(1000);
    expect(valueAt(w, "k")).toBeUndefined();
    expect(w.steps.at(-1)?.events[0]?.event).toMatchObject({
      event: "context_changed",
      deleted: true,
      from: null,
    });
  });
});

describe("a restart", () => {
  it("keeps what is durable, and nothing else, by design", () => {
    const w = world();
    set(w, "memory", 1);
    set(w, "disk", 2, { durable: true });
    set(w, "once durable", 3, { durable: true });
    set(w, "once durable", 4);
    w.start();
    expect(valueAt(w, "memory")).toBeUndefined();
    expect(valueAt(w, "disk")).toBe(2);
    expect(valueAt(w, "once durable")).toBeUndefined();
    expect(set(w, "memory", 5)).toMatchObject({ version: 3 });
  });

  it("keeps a durable key that was written without saying so, and no other", () => {
    const w = world();
    set(w, "disk", 1, { durable: true });
    set(w, "disk", 2, { keeps: true });
    set(w, "memory", 1);
    set(w, "memory", 2, { keeps: true });
    set(w, "over", 1, { durable: true, ttlMs: 10 });
    w.pass(20);
    set(w, "over", 2, { keeps: true });
    w.start();
    expect(valueAt(w, "disk")).toBe(2);
    expect(valueAt(w, "memory")).toBeUndefined();
    expect(valueAt(w, "over")).toBeUndefined();
  });

  it("from a snapshot finds the same", () => {
    const w = world();
    set(w, "disk", { __proto__: null, deep: [1, "ü", null] }, { durable: true, ttlMs: 1000 });
    const text = writeState(w.state);
    expect(writeState(readState(text))).toBe(text);
    expect(readState(text).context.bytes).toBe(w.state.context.bytes);
  });
});

describe("bounds", () => {
  it("of all bytes are refused by name, and what is replaced does not count twice", () => {
    const w = world();
    const bytes = limits.contextBytes / 2;
    expect(set(w, "a", "", { bytes: bytes - 100 })).toMatchObject({ ok: true });
    expect(set(w, "b", "", { bytes: bytes - 100 })).toMatchObject({ ok: true });
    expect(set(w, "c", "", { bytes: 1000 })).toMatchObject({ code: "context_full" });
    expect(set(w, "a", "", { bytes: bytes - 100 })).toMatchObject({ ok: true });
    remove(w, "b");
    expect(set(w, "c", "", { bytes: 1000 })).toMatchObject({ ok: true });
  });
});

describe("a durable key that nobody uses", () => {
  const { contextUnusedMs, contextLeavesMs, contextReadMs } = limits;
  const item = (w: World, key = "port") => w.state.context.items.get(`/p\n${key}`);
  const read = (w: World, key = "port") => w.do({ type: "context_read", project: "/p", key });
  const endOf = (w: World) =>
    w.steps.flatMap(({ events }) => events).filter(e => "deleted" in e.event && e.event.deleted);

  it("is announced first, stays for a week, and goes with an event", () => {
    const w = world();
    set(w, "port", 4000, { durable: true });
    w.pass(contextUnusedMs - 1);
    expect(item(w)?.leavesAt).toBeUndefined();
    w.pass(1);
    expect(item(w)?.leavesAt).toBe(w.now + contextLeavesMs);
    w.pass(contextLeavesMs - 1);
    expect(valueAt(w, "port")).toBe(4000);
    w.pass(1);
    expect(item(w)).toBeUndefined();
    expect(endOf(w)).toMatchObject([{ event: { key: "port", version: 1, from: null } }]);
    expect(set(w, "port", 4001, { durable: true })).toMatchObject({ version: 2 });
  });

  it("stays as long as somebody reads or writes it, also after it was announced", () => {
    const w = world();
    set(w, "port", 4000, { durable: true });
    w.pass(contextUnusedMs + 5);
    expect(read(w)).toEqual({ ok: true });
    expect(item(w)).not.toHaveProperty("leavesAt");
    w.pass(contextUnusedMs - 1);
    expect(item(w)?.leavesAt).toBeUndefined();
    w.pass(1);
    set(w, "port", 4001, { durable: true });
    w.pass(contextUnusedMs - 1);
    expect(item(w)).toMatchObject({ version: 2 });
    expect(item(w)?.leavesAt).toBeUndefined();
  });

  it("notes a read once a day", () => {
    const w = world();
    set(w, "port", 4000, { durable: true });
    const before = item(w)?.usedAt;
    w.pass(contextReadMs - 1);
    read(w);
    expect(item(w)?.usedAt).toBe(before);
    w.pass(1);
    read(w);
    expect(item(w)?.usedAt).toBe(w.now);
  });

  it("is not one that ends by itself, and a read of a key that is gone changes nothing", () => {
    const w = world();
    set(w, "memory", 1);
    set(w, "brief", 1, { durable: true, ttlMs: limits.contextTtlMaxMs });
    const before = writeState(w.state);
    read(w, "memory");
    read(w, "brief");
    read(w, "none");
    expect(item(w, "memory")).not.toHaveProperty("usedAt");
    expect(item(w, "brief")).not.toHaveProperty("usedAt");
    expect(writeState(w.state).split("\n").slice(1)).toEqual(before.split("\n").slice(1));
    w.pass(contextUnusedMs + contextLeavesMs - 2);
    expect([valueAt(w, "memory"), valueAt(w, "brief")]).toEqual([1, 1]);
  });

  it("of a snapshot from before uses were noted begins to count at the next start", () => {
    const w = world();
    set(w, "port", 4000, { durable: true });
    const older = writeState(w.state).replaceAll(/,"usedAt":\d+/g, "");
    expect(older).not.toBe(writeState(w.state));
    const state = readState(older);
    const due = allDue(state).filter(({ due: { what } }) => what === "context_unused");
    expect(due).toEqual([{ at: 0, due: { what: "context_unused", project: "/p", key: "port", version: 1 } }]);
  });

  it("counts nothing under the first rules, and begins with the second", () => {
    const w = new World(emptyState(1));
    w.begin("ann");
    set(w, "port", 4000, { durable: true });
    w.pass(contextUnusedMs + contextLeavesMs);
    expect(item(w)).toMatchObject({ key: "port" });
    expect(item(w)).not.toHaveProperty("usedAt");
    w.do({ type: "rules", level: 2 });
    w.pass(0);
    expect(item(w)?.usedAt).toBe(w.now);
  });
});

describe("the index of keys", () => {
  /** Keys, each with the wall time at which it is set (ms) and its time to live (ms). */
  function world(...keys: readonly (readonly [string, number, number?])[]): World {
    const w = new World();
    for (const [key, wallMs, ttlMs = null] of keys) {
      const value = { value: 1, bytes: 1, durable: false, ifVersion: null };
      w.do({ type: "context_set", actor: null, project: "/p", key, ...value, ttlMs, wallMs });
    }
    return w;
  }

  const names = (items: Iterable<{ readonly key: string }>) => [...items].map(({ key }) => key);

  describe("the keys of a project", () => {
    it("come in order, those set after a time in the order of setting", () => {
      const { state, now } = world(["b", 10], ["a", 20], ["c", 30], ["b", 40]);
      expect(names(itemsOf(state.context, "/p", now))).toEqual(["a", "b", "c"]);
      expect(names(itemsSince(state.context, "/p", 10, now))).toEqual(["a", "c", "b"]);
      expect(names(itemsSince(state.context, "/p", 30, now))).toEqual(["b"]);
      expect(latestItem(state.context, "/p", now)?.key).toBe("b");
      expect(countItems(state.context, "/p")).toBe(3);
    });

    it("are not those of another one, nor of one whose name begins the same", () => {
      const { state, now } = world(["a", 10]);
      for (const project of ["/", "/p2", "/p\na"]) {
        expect(names(itemsOf(state.context, project, now))).toEqual([]);
        expect(names(itemsSince(state.context, project, 0, now))).toEqual([]);
        expect(latestItem(state.context, project, now)).toBeUndefined();
      }
    });

    it("are not seen after they expired, even before the log has their end", () => {
      const { state, now } = world(["a", 10], ["b", 20, 100]);
      expect(latestItem(state.context, "/p", now + 99)?.key).toBe("b");
      expect(latestItem(state.context, "/p", now + 100)?.key).toBe("a");
      expect(names(itemsOf(state.context, "/p", now + 100))).toEqual(["a"]);
      expect(names(itemsSince(state.context, "/p", 0, now + 100))).toEqual(["a"]);
    });
  });
});

describe("what reads of a shared value leave in the log", () => {
  /** An engine with two durable values that nobody has read for long enough that a read is news. */
  async function world() {
    const w = await new EngineWorld(new MemoryPlace()).start();
    for (const key of ["port", "host"]) {
      const set = { type: "context_set", actor: null, project: "p", key, value: 1, bytes: 1 } as const;
      await w.do({ ...set, durable: true, ifVersion: null, ttlMs: null, wallMs: 0 });
    }
    await w.pass(limits.contextReadMs);
    const read = (key: string) => {
      const item = contextAt(w.state, "p", key);
      if (item === undefined) throw new Error(`no value ${key}`);
      noteRead(w, item);
    };
    return { w, read };
  }

  it("many reads at once propose one context_read for each key", async () => {
    const { w, read } = await world();
    for (let n = 0; n < 50; n += 1) read("port");
    for (let n = 0; n < 50; n += 1) read("host");
    await w.settle();
    expect(w.count("context_read")).toBe(2);
    expect(contextAt(w.state, "p", "port")?.usedAt).toBe(w.state.t);
  });

  it("reads while that is noted propose none, and one proposes again when it is news again", async () => {
    const { w, read } = await world();
    read("port");
    await w.settle();
    for (let n = 0; n < 50; n += 1) read("port");
    await w.settle();
    expect(w.count("context_read")).toBe(1);
    await w.pass(limits.contextReadMs);
    for (let n = 0; n < 50; n += 1) read("port");
    await w.settle();
    expect(w.count("context_read")).toBe(2);
  });
});
