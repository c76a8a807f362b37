import { describe, expect, it } from "vitest";
import { rulesLevel } from "../../daemon/core/tables/base-state.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, lockOf } from "./core-world.ts";
import { type Call, EngineWorld, FilePlace, MemoryPlace, places, unlockOf } from "./engine-world.ts";

describe.each(places)("over $name", ({ make }) => {
  const open = () => new EngineWorld(make()).start();

  describe("time", () => {
    it("ends a wait once, in one entry", async () => {
      const w = await open();
      await w.lock("a", "x");
      const b = await w.lock("b", "x", { waitMs: 5000 });
      await w.pass(4999);
      expect(b.reply).toBeNull();
      await w.pass(1);
      expect(b.reply).toMatchObject({ code: "lock_timeout" });
      await w.pass(60_000);
      expect(w.count("elapse")).toBe(1);
    });

    it("that moved is waited for again, and comes once however often it moved", async () => {
      const w = await open();
      for (let n = 0; n < 5; n += 1) {
        await w.lock("a", "x", { kind: "turn" });
        await w.pass(limits.turnLeaseMs - 1000);
      }
      expect([w.holder("x"), w.count("elapse")]).toEqual(["a", 0]);
      await w.pass(1000);
      expect([w.holder("x"), w.count("elapse")]).toEqual([null, 1]);
    });

    it("that no longer means anything costs no entry", async () => {
      const w = await open();
      await w.lock("a", "x");
      await w.lock("b", "x", { waitMs: 5000 });
      await w.unlock("a", "x");
      await w.lock("c", "y", { kind: "turn" });
      await w.unlock("c", "y");
      await w.pass(limits.turnLeaseMs + 5000);
      expect(w.count("elapse")).toBe(0);
    });

    it("goes on after a restart, even where the clock was set back", async () => {
      const w = await open();
      await w.lock("a", "x", { kind: "turn" });
      await w.lock("b", "y");
      w.clock.restart(-900_000);
      await w.start();
      const c = await w.lock("c", "y", { waitMs: 5000 });
      await w.pass(5000);
      expect(c.reply).toMatchObject({ code: "lock_timeout" });
      await w.pass(limits.turnLeaseMs - 5000);
      expect(w.holder("x")).toBeNull();
    });

    it("that passed while no daemon ran is made up for at once", async () => {
      const w = await open();
      await w.lock("a", "x", { kind: "turn" });
      w.clock.restart(limits.turnLeaseMs);
      await w.start();
      await w.pass(0);
      expect(w.holder("x")).toBeNull();
    });
  });

  describe("a read", () => {
    it("sees what was proposed before it, and nothing that is proposed after its promise", async () => {
      const w = await open();
      const seen: (number | undefined)[] = [];
      w.submitLock("a", "x");
      const reading = w.engine
        .read(state => seen.push(state.locks.holds.size))
        .then(() => w.submitLock("b", "y"));
      await w.settle();
      await reading;
      expect(seen).toEqual([1]);
    });

    it("that throws tells who asked, and nobody else", async () => {
      const w = await open();
      const reading = w.engine.read(() => {
        throw new Error("a bug of the reader");
      });
      // Looked at below, once everything has happened.
      reading.catch(() => {});
      await w.settle();
      await expect(reading).rejects.toThrow("a bug of the reader");
      expect((await w.lock("a", "x")).reply).toMatchObject({ ok: true });
    });
  });

  describe("an abandoned request", () => {
    /** Nothing of b is left: neither hold nor place, now and after a restart. */
    const leavesNothing = async (w: EngineWorld, b: Call) => {
      await w.settle();
      const left = () => {
        const { holds, waiters } = w.state.locks;
        return [...holds.values(), ...waiters.values()].filter(one => one.actor.session === "b");
      };
      expect(left()).toEqual([]);
      expect(b.replies).toEqual([]);
      await w.start();
      expect(left()).toEqual([]);
    };

    it("before it is delivered: a free file", async () => {
      const w = await open();
      const b = w.submitLock("b", "x");
      w.engine.abandon(b.n);
      await leavesNothing(w, b);
    });

    it("before it is delivered: a held file", async () => {
      const w = await open();
      await w.lock("a", "x");
      const b = w.submitLock("b", "x");
      w.engine.abandon(b.n);
      await leavesNothing(w, b);
    });

    it("while it waits, and those behind it move up in the same step", async () => {
      const w = await open();
      await w.lock("a", "x");
      const b = await w.lock("b", "x");
      const c = await w.lock("c", "x");
      expect(b.parked).toBe(true);
      w.engine.abandon(b.n);
      await w.unlock("a", "x");
      expect(c.reply).toMatchObject({ ok: true, granted_from_queue: true });
      await leavesNothing(w, b);
    });

    it("in the moment it is granted", async () => {
      const w = await open();
      await w.lock("a", "x");
      const b = await w.lock("b", "x");
      const c = await w.lock("c", "x");
      w.submit(unlockOf("a", "x"));
      w.engine.abandon(b.n);
      await w.settle();
      expect(c.reply).toMatchObject({ ok: true });
      await leavesNothing(w, b);
    });

    it("granted, but its client did not get the answer", async () => {
      const w = await open();
      await w.lock("a", "x");
      const b = await w.lock("b", "x");
      const c = await w.lock("c", "x");
      await w.unlock("a", "x");
      expect(b.reply).toMatchObject({ ok: true });
      w.engine.undelivered(b.n, lockOf("b", "x", 0));
      b.replies.length = 0;
      await w.settle();
      expect(c.reply).toMatchObject({ ok: true });
      await leavesNothing(w, b);
    });

    it("granted at once, but its client did not get the answer", async () => {
      const w = await open();
      const b = await w.lock("b", "x");
      w.engine.undelivered(b.n, lockOf("b", "x", 0));
      b.replies.length = 0;
      await leavesNothing(w, b);
    });

    it("keeps its place for a while where it asked for that", async () => {
      const w = await open();
      await w.lock("a", "x");
      const b = await w.lock("b", "x", { detach: true });
      w.engine.abandon(b.n);
      await w.settle();
      expect([...w.state.locks.waiters.values()]).toMatchObject([{ actor: { session: "b" }, origin: null }]);
      await w.pass(limits.placeMs);
      await leavesNothing(w, b);
    });

    it("that is none any more does nothing", async () => {
      const w = await open();
      const b = await w.lock("b", "x");
      w.engine.abandon(b.n);
      await w.settle();
      expect([w.holder("x"), w.count("lock_detach")]).toEqual(["b", 0]);
    });
  });

  describe("a retry", () => {
    const retry = { by: "b", requestId: "r", digest: "d" };

    /** Of a request that nobody heard the answer of: it is carried out, and waits for x, which a holds. */
    const waitsAnew = async (w: EngineWorld) => {
      await w.settle();
      if (w.holder("x") === null) await w.lock("a", "x");
      const again = await w.lock("b", "x", { retry });
      expect([again.reply, again.parked]).toEqual([null, true]);
      await w.unlock("a", "x");
      expect(again.reply).toMatchObject({ ok: true, granted_from_queue: true });
    };

    it("of a wait whose client went away waits anew", async () => {
      const w = await open();
      await w.lock("a", "x");
      const b = await w.lock("b", "x", { retry });
      w.engine.abandon(b.n);
      await waitsAnew(w);
    });

    it("of a wait that was granted in the moment its client went away waits anew", async () => {
      const w = await open();
      await w.lock("a", "x");
      const b = await w.lock("b", "x", { retry });
      w.submit(unlockOf("a", "x"));
      w.engine.abandon(b.n);
      await waitsAnew(w);
    });

    it("of a wait that ended in the moment its client went away waits anew", async () => {
      const w = await open();
      await w.lock("a", "x");
      const b = await w.lock("b", "x", { retry });
      w.submit({ type: "turn_end", actor: actor("b"), keepPrompt: null });
      w.submit(unlockOf("b", "x"));
      w.engine.abandon(b.n);
      await waitsAnew(w);
    });

    it("of a grant that its client did not get waits anew", async () => {
      const w = await open();
      const b = await w.lock("b", "x", { retry });
      w.engine.undelivered(b.n, lockOf("b", "x", 0), retry);
      await waitsAnew(w);
    });

    it("of a refusal that its client did not get is carried out, of one that it got is not", async () => {
      const w = await open();
      await w.lock("a", "x");
      const b = await w.lock("b", "x", { retry, waitMs: 0 });
      expect(b.reply).toMatchObject({ code: "lock_held" });
      await w.unlock("a", "x");
      expect((await w.lock("b", "x", { retry, waitMs: 0 })).reply).toEqual(b.reply);
      w.engine.unheard((await w.lock("b", "x", { retry, waitMs: 0 })).n, retry);
      await w.settle();
      expect((await w.lock("b", "x", { retry, waitMs: 0 })).reply).toMatchObject({ ok: true });
    });

    it("of a wait that a stop or an end of the process cut short takes its place up", async () => {
      for (const stop of [(w: EngineWorld) => w.engine.close(), async () => {}]) {
        const w = await open();
        await w.lock("a", "x");
        await w.lock("b", "x", { retry });
        const c = await w.lock("c", "x");
        const closing = stop(w);
        await w.settle();
        await closing;
        await w.start();
        const again = await w.lock("b", "x", { retry });
        expect([again.reply, again.parked]).toEqual([null, true]);
        await w.unlock("a", "x");
        expect(again.reply).toMatchObject({ ok: true });
        expect(c.reply?.ok).not.toBe(true);
      }
    });
  });

  describe("a snapshot", () => {
    it("is taken after so many entries, and the next start begins from it", async () => {
      const w = await new EngineWorld(make()).start({ snapshotEntries: 10 });
      // With the two entries of the start ten are in the snapshot, and two behind it.
      for (let n = 0; n < 10; n += 1) await w.lock("a", `f${n}`);
      const lived = w.written;
      await w.start({ snapshotEntries: 10 });
      // All but the two at the end are in the snapshot.
      expect(w.replayed.length).toBeLessThanOrEqual(3);
      expect(w.replayed.length).toBeGreaterThan(0);
      const holds = (text: string) => text.split("\n").find(line => line.startsWith('{"holds"'));
      expect(holds(lived)).toBeDefined();
      expect(holds(w.written)).toBe(holds(lived));
    });

    it("is taken by a start that had much to replay, so that the next one has not", async () => {
      const w = await new EngineWorld(make()).start();
      for (let n = 0; n < 30; n += 1) await w.lock("a", `f${n}`);
      await w.start({ snapshotEntries: 10 });
      expect(w.replayed.length).toBeGreaterThan(30);
      const lived = w.written;
      await w.start({ snapshotEntries: 10 });
      expect(w.replayed.length).toBeLessThan(5);
      const holds = (text: string) => text.split("\n").find(line => line.startsWith('{"holds"'));
      expect(holds(w.written)).toBe(holds(lived));
    });

    it("bounds what a start replays, though each life ends after few entries", async () => {
      const few = { snapshotEntries: 100 };
      const w = new EngineWorld(make());
      const replays: number[] = [];
      for (let life = 0; life < 60; life += 1) {
        // No pause of a snapshot that is written in slices ever ends.
        await w.start({ ...few, soon: () => {} });
        replays.push(w.replayed.length);
        for (let n = 0; n < 8; n += 1) w.submitLock("a", `life-${life}-${n}`);
        await w.until(() => w.state.locks.holds.size === 8 * (life + 1));
      }
      expect(Math.max(...replays)).toBeGreaterThanOrEqual(100);
      expect(Math.max(...replays)).toBeLessThan(130);
      // It is not taken at each start either: it costs its size.
      expect(replays.filter(n => n < 12).length).toBeLessThan(10);
    });

    it("of a large state waits until the log has grown to twice its size", async () => {
      const w = await new EngineWorld(make()).start({ snapshotEntries: 10 });
      const many = Array.from({ length: 300 }, (_, i) => `f${i}`);
      await w.lock("a", many);
      for (let n = 0; n < 40; n += 1) await w.lock("b", "x", { waitMs: 0 });
      const journal = w.place.journal(w.clock);
      const first = (await journal.loadSnapshot())?.seq ?? 0;
      expect(first).toBeGreaterThanOrEqual(10);
      expect(first).toBeLessThan(15);
    });
  });

  describe("close", () => {
    it("tells those who wait to come back, and later ones as well", async () => {
      const w = await open();
      await w.lock("a", "x");
      const b = await w.lock("b", "x");
      const c = w.submitLock("c", "y");
      const closing = w.engine.close();
      await w.settle();
      await closing;
      expect(b.reply).toMatchObject({ ok: false, code: "restarting" });
      // It was handed over before: it is stored, and answered.
      expect(c.reply).toMatchObject({ ok: true });
      expect((await w.lock("d", "z")).reply).toMatchObject({ ok: false, code: "restarting" });
      await w.engine.close();
    });

    it("leaves nothing to replay, and keeps places for a while", async () => {
      const w = await open();
      await w.lock("a", "x");
      await w.lock("b", "x");
      const closing = w.engine.close();
      await w.settle();
      await closing;
      await w.start();
      expect(w.replayed).toEqual([]);
      expect(w.holder("x")).toBe("a");
      const again = await w.lock("b", "x");
      expect(again.parked).toBe(true);
      await w.unlock("a", "x");
      expect(again.reply).toMatchObject({ ok: true, token: "store.2.2" });
    });

    it("sets off nothing that is due later", async () => {
      const w = await open();
      await w.lock("a", "x", { kind: "turn" });
      const closing = w.engine.close();
      await w.settle();
      await closing;
      await w.pass(limits.turnLeaseMs);
      expect(w.count("elapse")).toBe(0);
      expect(w.fatal).toEqual([]);
    });
  });

  it("what an earlier start's request waited for is no answer to one of the same number", async () => {
    const w = await open();
    await w.lock("a", "x");
    const earlier = await w.lock("b", "x");
    await w.start();
    await w.lock("c", "y");
    let waiting = await w.lock("d", "y");
    while (waiting.n < earlier.n) waiting = await w.lock(`d${waiting.n}`, "y");
    expect(waiting.n).toBe(earlier.n);
    await w.unlock("a", "x");
    expect([waiting.parked, waiting.replies, w.count("lock_undelivered")]).toEqual([true, [], 0]);
  });

  it("a start finds everything as it was, under a new epoch", async () => {
    const w = await open();
    await w.lock("a", ["x", "y"]);
    await w.lock("b", "z", { kind: "turn", prompt: "p" });
    const holds = () => JSON.stringify([...w.state.locks.holds.values()]);
    const [lived, epoch] = [holds(), w.engine.epoch];
    await w.start();
    expect(holds()).toBe(lived);
    expect(w.engine.epoch).toBe(epoch + 1);
    expect(w.state.epoch).toBe(epoch + 1);
    expect((await w.lock("c", "n")).reply).toMatchObject({ token: `store.${epoch + 1}.3` });
  });

  it("progress goes to the request that asked for it alone", async () => {
    const w = await open();
    await w.lock("a", "x");
    const b = await w.lock("b", "x", { progress: true });
    const c = await w.lock("c", "x");
    expect(b.events.map(e => e.event.event)).toEqual(["lock_queued"]);
    expect(c.events).toEqual([]);
  });
});

describe("what has to be durable", () => {
  it("is not heard of before it is, nor is anything behind it; locks alone wait for no disk", async () => {
    const w = await new EngineWorld(new FilePlace()).start();
    const { disk } = w.place;
    disk.holdSyncs = true;
    const before = await w.lock("a", "x");
    expect(before.reply).toMatchObject({ ok: true });
    const rules = w.submit({ type: "rules", level: 1 });
    const behind = w.submitLock("b", "y");
    await w.settle();
    let seen = 0;
    const reading = w.engine.read(state => {
      seen = state.locks.holds.size;
    });
    await w.settle();
    expect(w.holder("y")).toBe("b");
    expect([rules.reply, behind.reply, seen]).toEqual([null, null, 0]);
    disk.completeSyncs();
    await w.settle();
    await reading;
    expect([rules.reply, behind.reply, seen]).toMatchObject([{ ok: true }, { ok: true }, 2]);
    expect(w.heard.slice(-4)).toEqual([`answer ${rules.n}`, "rules", `answer ${behind.n}`, "lock_request"]);
  });

  it("a start waits for its epoch", async () => {
    const w = new EngineWorld(new FilePlace());
    let started = false;
    w.begin();
    const whenStarted = w.engineStarted.then(() => {
      started = true;
    });
    await w.settle();
    await whenStarted;
    started = false;
    w.place.disk.holdSyncs = true;
    w.begin();
    const again = w.engineStarted.then(() => {
      started = true;
    });
    // The journal's own opening syncs first; the last of all syncs is that of the epoch's entry.
    for (let n = 0; n < 20 && w.log.length === 0; n += 1) {
      expect(started).toBe(false);
      w.place.disk.completeSyncs();
      await w.settle();
    }
    await again;
    expect(started).toBe(true);
  });

  it("a failed sync is the end, told once", async () => {
    const w = await new EngineWorld(new FilePlace()).start();
    w.place.disk.failingSyncs = 5;
    const rules = await w.do({ type: "rules", level: 1 });
    expect(rules.reply).toBeNull();
    expect(w.fatal).toHaveLength(1);
    expect((await w.lock("a", "x")).reply).toMatchObject({ ok: false, code: "internal_error" });
    expect(w.fatal).toHaveLength(1);
  });
});

describe("a log that is full", () => {
  const full = async () => {
    const w = await new EngineWorld(new FilePlace()).start();
    await w.lock("a", "x");
    const { disk } = w.place;
    disk.capacity = disk.used;
    return { w, disk };
  };

  it("refuses what wants space by name; what frees goes on, and so does all when there is space", async () => {
    const { w, disk } = await full();
    const refused = await w.lock("b", "y");
    expect(refused.reply).toMatchObject({ ok: false, code: "store_full" });
    expect((await w.unlock("a", "x")).reply).toMatchObject({ ok: true });
    await w.engine.read(state => expect(state.locks.holds.size).toBe(0));
    disk.capacity = Number.POSITIVE_INFINITY;
    await w.pass(limits.fullRetryMs);
    expect((await w.lock("b", "y")).reply).toMatchObject({ ok: true });
    expect(w.fatal).toEqual([]);
  });

  it("takes what the daemon itself has to say as soon as it can, once", async () => {
    const { w, disk } = await full();
    w.engine.submitWithRetry({ type: "session_found", session: "a" });
    await w.pass(3 * limits.fullRetryMs);
    expect(w.count("session_found")).toBe(0);
    disk.capacity = Number.POSITIVE_INFINITY;
    await w.pass(2 * limits.fullRetryMs);
    expect(w.count("session_found")).toBe(1);
    await w.pass(10 * limits.fullRetryMs);
    expect(w.count("session_found")).toBe(1);
  });

  it("lets waits end in their time", async () => {
    const w = await new EngineWorld(new FilePlace()).start();
    await w.lock("a", "x");
    const b = await w.lock("b", "x", { waitMs: 5000 });
    w.place.disk.capacity = w.place.disk.used;
    await w.pass(5000);
    expect(b.reply).toMatchObject({ code: "lock_timeout" });
  });

  it("keeps no start from its rules", async () => {
    const w = await new EngineWorld(new FilePlace()).start();
    await w.do({ type: "rules", level: 1 });
    w.place.disk.capacity = w.place.disk.used;
    await w.start();
    expect([w.state.rules, w.troubles]).toEqual([rulesLevel, []]);
  });

  it("is not filled further with snapshots, and keeps no daemon from closing", async () => {
    const w = await new EngineWorld(new FilePlace()).start({ snapshotEntries: 5 });
    const { disk } = w.place;
    disk.capacity = disk.used;
    expect((await w.lock("b", "y")).reply).toMatchObject({ code: "store_full" });
    for (let n = 0; n < 10; n += 1) await w.unlock("a", "n");
    expect(w.count("lock_release")).toBe(10);
    const closing = w.engine.close();
    await w.settle();
    await closing;
    expect(disk.list("/journal").filter(name => name.endsWith(".snapshot"))).toEqual([]);
    expect(w.troubles).toEqual([]);
  });
});

describe("a stop", () => {
  const stopped = async (files: readonly string[], times: number) => {
    const w = await new EngineWorld(new FilePlace()).start();
    for (let n = 0; n < times; n += 1) await w.lock("a", [...files, `more-${n}`]);
    const held = [...w.state.locks.holds.keys()];
    const closing = w.engine.close();
    await w.settle();
    await closing;
    const snapshots = w.place.disk.list("/journal").filter(name => name.endsWith(".snapshot"));
    await w.start();
    expect([...w.state.locks.holds.keys()]).toEqual(held);
    return { snapshots, replayed: w.replayed.length, troubles: w.troubles };
  };

  it("takes a snapshot of a small state, and the next start reads nothing else", async () => {
    const { snapshots, replayed, troubles } = await stopped(["x"], 3);
    expect(snapshots).toHaveLength(1);
    expect({ replayed, troubles }).toEqual({ replayed: 0, troubles: [] });
  });

  it("does not write a large one again: the next start reads it from the journal", async () => {
    const files = Array.from({ length: 1_000 }, (_, n) => `${"long".repeat(60)}-${n}`);
    const { snapshots, replayed, troubles } = await stopped(files, limits.stopSnapshotBytes / 500_000);
    expect(snapshots).toEqual([]);
    expect(replayed).toBeGreaterThan(10);
    expect(troubles).toEqual([]);
  });
});

describe("a stop while a snapshot is written", () => {
  const files = Array.from({ length: 1_000 }, (_, n) => `${"long".repeat(60)}-${n}`);

  it("gives it up: what it would hold is in the journal", async () => {
    const pauses: (() => void)[] = [];
    const soon = (task: () => void) => void pauses.push(task);
    const w = await new EngineWorld(new FilePlace()).start({ snapshotEntries: 5, soon });
    // Too large for one at the stop.
    for (let n = 0; n < limits.stopSnapshotBytes / 500_000; n += 1)
      w.submitLock("a", [...files, `more-${n}`]);
    await w.settle();
    // A line is written, and the next one waits for its turn.
    expect(pauses).not.toEqual([]);
    const closing = w.engine.close();
    await w.settle();
    await closing;
    for (const pause of pauses.splice(0)) pause();
    await w.settle();
    expect(pauses).toEqual([]);
    expect(w.place.disk.list("/journal").filter(name => name.includes("snapshot"))).toEqual([]);
    expect(w.troubles).toEqual([]);
  });
});

describe("a snapshot that finds no space", () => {
  const small = async () => {
    const w = await new EngineWorld(new FilePlace()).start({ snapshotEntries: 5 });
    const many = Array.from({ length: 300 }, (_, i) => `f${i}`);
    await w.lock("a", many);
    const { disk } = w.place;
    disk.capacity = disk.used + 3000;
    return { w, disk };
  };

  it("is a trouble, and no more", async () => {
    const { w } = await small();
    for (let n = 0; n < 5; n += 1) await w.unlock("b", "x");
    expect(w.troubles).toEqual(["a snapshot could not be written"]);
    expect(w.fatal).toEqual([]);
    expect((await w.lock("b", "x")).reply).toMatchObject({ ok: true });
  });

  it("is told at a close, which closes all the same", async () => {
    const { w } = await small();
    const closing = w.engine.close();
    // Looked at below, once everything has happened.
    closing.catch(() => {});
    await w.settle();
    await expect(closing).rejects.toThrow(/no space/);
    await w.start();
    expect(w.holder("f299")).toBe("a");
  });
});

describe("a journal that refuses what is proposed", () => {
  const open = () => new EngineWorld(new MemoryPlace()).start();

  it("is asked again for what cleans up", async () => {
    const w = await open();
    await w.lock("a", "x");
    const b = await w.lock("b", "x");
    w.place.refuses = () => true;
    w.engine.abandon(b.n);
    await w.pass(5 * limits.fullRetryMs);
    expect(w.state.locks.waiters.size).toBe(1);
    w.place.refuses = () => false;
    await w.pass(limits.fullRetryMs);
    expect(w.state.locks.waiters.size).toBe(0);
    expect(w.count("lock_detach")).toBe(1);
  });

  it("is asked again for what is due", async () => {
    const w = await open();
    await w.lock("a", "x", { kind: "turn" });
    w.place.refuses = () => true;
    await w.pass(limits.turnLeaseMs);
    expect(w.holder("x")).toBe("a");
    w.place.refuses = () => false;
    await w.pass(limits.fullRetryMs);
    expect([w.holder("x"), w.count("elapse")]).toEqual([null, 1]);
  });

  it("leaves a start that gets no rules under the earlier ones, and the start says so", async () => {
    const w = await open();
    await w.do({ type: "rules", level: 1 });
    w.place.refuses = ({ command }) => command.type === "rules";
    await w.start();
    expect(w.state.rules).toBe(1);
    expect(w.troubles).toEqual([`the journal did not take rules ${rulesLevel}; those of level 1 apply`]);
  });

  it("ends a start that gets no epoch, and the start says why", async () => {
    const w = new EngineWorld(new MemoryPlace());
    w.place.refuses = () => true;
    w.begin();
    await w.settle();
    await expect(w.engineStarted).rejects.toThrow(/took no new epoch: .*no space/);
  });
});

it("a storeId is kept for the life of the store", async () => {
  const w = await new EngineWorld(new MemoryPlace()).start({ storeId: "first" });
  await w.start({ storeId: "second" });
  expect(w.state.storeId).toBe("first");
});
