import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { check } from "../../daemon/core/slices.ts";
import { writeState } from "../../daemon/core/snapshot.ts";
import { rulesKnown } from "../../daemon/core/tables/base-state.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { RepeatedThrows } from "../../daemon/engine/engine.ts";
import { RulesUnknown, rebuild, stateHash } from "../../daemon/engine/replay.ts";
import { limits } from "../../protocol/limits.ts";
import { opened } from "../journal/commands.ts";
import { EngineWorld, lastingPoison, MemoryPlace, places, poison, unlockOf } from "./engine-world.ts";

describe.each(places)("over $name", ({ make }) => {
  const open = () => new EngineWorld(make()).start();

  it("an entry that throws is void: answered, undone, and those behind it in its batch are applied", async () => {
    const w = await open();
    await w.lock("b", "z");
    const poisoned = w.submit(poison("a", "x"));
    const behind = w.submitLock("c", "x");
    const freed = w.submit(unlockOf("b", "z"));
    await w.settle();
    expect(poisoned.reply).toMatchObject({ ok: false, code: "internal_error" });
    expect(behind.reply).toMatchObject({ ok: true, file: "x" });
    expect(freed.reply).toMatchObject({ ok: true });
    expect([w.holder("x"), w.holder("x-second"), w.holder("z")]).toEqual(["c", null, null]);
    expect(w.state.sessions.live.has("a")).toBe(false);
    expect(check(w.state)).toEqual([]);
    const [seq = 0, ...others] = w.engine.voided;
    expect(others).toEqual([]);
    expect(w.troubles).toHaveLength(2);
    expect(w.troubles[0]).toBe(`entry ${seq} threw and is void`);
    expect(w.count("void")).toBe(1);
    expect(w.fatal).toEqual([]);
  });

  it("its number is logged, and the hash of the state without it", async () => {
    const w = await open();
    await w.do(poison("a", "x"));
    const hash = createHash("sha256").update(w.written).digest("hex");
    const { seq } = w.state;
    expect(w.troubles.at(-1)).toMatch(/^the state was rebuilt, to entry \d+; its SHA-256 is [0-9a-f]{64}$/);
    expect(stateHash(w.state)).toBe(hash);
    // The entry that declares the other one void came after that.
    expect(Number(/entry (\d+);/.exec(w.troubles.at(-1) ?? "")?.[1])).toBeLessThan(seq);
  });

  it("the log alone leads to the state without it", async () => {
    const w = await open();
    await w.lock("b", "z");
    w.submit(poison("a", "x"));
    w.submitLock("c", "x");
    await w.settle();
    const lived = w.written;
    const journal = w.place.journal(w.clock);
    const snapshot = await journal.loadSnapshot();
    const { entries } = await opened(journal, snapshot?.seq ?? 0);
    expect(writeState(rebuild(snapshot, entries).state)).toBe(lived);
  });

  it("what waits goes on waiting, and is answered in its turn", async () => {
    const w = await open();
    await w.lock("a", "x");
    const waiting = w.submitLock("b", "x");
    await w.do(poison("c", "y"));
    expect([waiting.parked, waiting.reply]).toEqual([true, null]);
    await w.unlock("a", "x");
    expect(waiting.reply).toMatchObject({ ok: true, granted_from_queue: true });
    const late = await w.lock("c", "x", { waitMs: 5000 });
    await w.pass(5000);
    expect(late.reply).toMatchObject({ code: "lock_timeout" });
  });

  it("whoever reads meanwhile sees neither the torn state nor less than what was proposed", async () => {
    const w = await open();
    w.submit(poison("a", "x"));
    w.submitLock("c", "y");
    let seen: (string | null)[] = [];
    const reading = w.engine.read(state => {
      seen = ["x", "y"].map(f => state.locks.holds.get(`n:/p/${f}`)?.actor.session ?? null);
    });
    await w.settle();
    await reading;
    expect(seen).toEqual([null, "c"]);
  });

  it("a close in that moment stores no torn state", async () => {
    const w = await open();
    await w.lock("b", "z");
    const poisoned = w.submit(poison("a", "x"));
    const closing = w.engine.close();
    await w.settle();
    await closing;
    expect(poisoned.reply).toMatchObject({ ok: false });
    await w.start();
    expect([w.holder("x"), w.holder("z")]).toEqual([null, "b"]);
    expect(check(w.state)).toEqual([]);
  });

  it("three within ten minutes end the daemon, once and by name", async () => {
    const w = await open();
    await w.do(poison("a", "x"));
    await w.do(poison("a", "x"));
    expect(w.fatal).toEqual([]);
    await w.do(poison("a", "x"));
    expect(w.fatal).toHaveLength(1);
    expect(w.fatal[0]).toBeInstanceOf(RepeatedThrows);
    expect(w.fatal[0]?.message).toMatch(/3 entries threw within 10 minutes/);
    await w.do(poison("a", "x"));
    expect(w.fatal).toHaveLength(1);
  });

  it("three in a longer time do not", async () => {
    const w = await open();
    await w.do(poison("a", "x"));
    await w.do(poison("a", "x"));
    await w.pass(limits.throwsWindowMs);
    await w.do(poison("a", "x"));
    await w.do(poison("a", "x"));
    expect(w.fatal).toEqual([]);
  });

  it("a crash between the throw and its void heals at the next start", async () => {
    const w = await open();
    await w.lock("b", "z");
    w.submit(lastingPoison("a"));
    // The estimate of its cost throws first.
    await w.until(() => w.troubles.length > 1);
    await w.start();
    expect(w.troubles.at(-1)).toMatch(/^entry \d+ threw and is void$/);
    const told = w.troubles.length;
    expect(w.engine.voided).toHaveLength(1);
    expect(w.holder("z")).toBe("b");
    expect((await w.lock("c", "y")).reply).toMatchObject({ ok: true });
    await w.start();
    expect(w.troubles).toHaveLength(told);
    expect(w.holder("y")).toBe("c");
  });

  it("nobody hears of it, or of anything behind it, before its void is stored", async () => {
    const w = await open();
    const poisoned = w.submit(poison("a", "x"));
    const behind = w.submitLock("c", "x");
    await w.until(() => w.troubles.length > 0);
    // The process ends here: the next one knows nothing of the throw, and may well grant the entry.
    await w.start();
    expect([poisoned.reply, behind.reply]).toEqual([null, null]);
  });

  it("a journal under unknown rules stops the start with the level it needs", async () => {
    const w = await open();
    await w.lock("a", "x");
    const journal = w.place.journal(w.clock);
    const snapshot = await journal.loadSnapshot();
    const { epoch } = await opened(journal, snapshot?.seq ?? 0);
    const command: Command = { type: "rules", level: 7 };
    const origin = { node: "n", epoch, n: 1 };
    journal.propose({ origin, at: w.clock.now(), command }, () => {});
    await w.settle();
    w.begin();
    await w.settle();
    await expect(w.engineStarted).rejects.toThrow(RulesUnknown);
    const known = rulesKnown.join(", ");
    const words = `rules 7, this program knows ${known}: start a newer Kite`;
    await expect(w.engineStarted).rejects.toThrow(words);
  });

  it("entries of a retired command are refused and change nothing, and the start says how many there are", async () => {
    const w = await open();
    await w.lock("a", "x");
    const journal = w.place.journal(w.clock);
    const snapshot = await journal.loadSnapshot();
    const { epoch } = await opened(journal, snapshot?.seq ?? 0);
    const proposal = (n: number) => ({
      origin: { node: "n", epoch, n },
      at: w.clock.now(),
      // An earlier program entered it.
      command: { type: "branch_files", session: "a", files: [["a.ts", null]] } as unknown as Command,
    });
    const many = limits.throwsMax + 1;
    for (let n = 1; n <= many; n += 1) journal.propose(proposal(n), () => {});
    await w.settle();
    await w.start();
    expect(w.fatal).toEqual([]);
    expect(w.engine.voided).toEqual([]);
    expect(w.troubles).toEqual([`the journal has ${many} entries of retired commands: they change nothing`]);
    expect(w.holder("x")).toBe("a");
    expect((await w.lock("b", "y")).reply).toMatchObject({ ok: true });
  });
});

it("a snapshot under unknown rules stops the start as well", async () => {
  const w = await new EngineWorld(new MemoryPlace()).start({ snapshotEntries: 3 });
  for (const file of ["x", "y", "z"]) await w.lock("a", file);
  const { snapshot } = w.place.store;
  if (snapshot === null) throw new Error("no snapshot was taken");
  const newer = snapshot.bytes.toString().replace(/"rules":\d/, '"rules":9');
  w.place.store.snapshot = { seq: snapshot.seq, bytes: Buffer.from(newer) };
  w.begin();
  await w.settle();
  await expect(w.engineStarted).rejects.toThrow(RulesUnknown);
});

it("an entry that throws only when read again is void in the log as well", async () => {
  const w = await new EngineWorld(new MemoryPlace()).start();
  await w.lock("a", "x");
  const stored = w.place.store.entries.at(-1);
  if (stored === undefined) throw new Error("nothing was stored");
  w.place.store.entries.splice(-1, 1, { ...stored, command: lastingPoison("a") });
  await w.do(poison("b", "y"));
  expect(w.engine.voided).toHaveLength(2);
  expect(w.count("void")).toBe(2);
  expect(w.holder("x")).toBeNull();
});
