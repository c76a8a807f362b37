/** The copy of the store that a daemon keeps while it works: what people read after a kill. */
import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import { expect, it } from "vitest";
import { emptyState } from "../../daemon/core/snapshot.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Clock } from "../../daemon/engine/clock.ts";
import { loadCopy } from "../../daemon/sharing/copy-file.ts";
import { CopyWriter } from "../../daemon/sharing/copy-writer.ts";
import { limits } from "../../protocol/limits.ts";
import { copyPathOfTest, MemoryStoreOfAll, machine } from "./shared-world.ts";

/** A clock that a test moves. */
class HandClock implements Clock {
  #now = 1_000_000;
  #timers: { readonly at: number; readonly callback: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  wall(): number {
    return this.#now;
  }

  at(at: number, callback: () => void): () => void {
    const timer = { at, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter(one => one !== timer);
    };
  }

  get waiting(): number {
    return this.#timers.length;
  }

  /** Until the first timer. */
  get dueInMs(): number {
    return Math.min(...this.#timers.map(({ at }) => at)) - this.#now;
  }

  pass(ms: number): void {
    this.#now += ms;
    const due = this.#timers.filter(({ at }) => at <= this.#now);
    this.#timers = this.#timers.filter(one => !due.includes(one));
    for (const { callback } of due) callback();
  }
}

function writerOfTest(state: () => State | null) {
  const [path, clock] = [copyPathOfTest(), new HandClock()];
  const troubles: unknown[] = [];
  let written = 0;
  const now = () => {
    const found = state();
    written += 1;
    return found === null
      ? null
      : { head: JSON.stringify({ where: "x", storeId: "s", atMs: written }), state: found };
  };
  const writer = new CopyWriter({ path, clock, now, onTrouble: error => troubles.push(error) });
  const copy = () => loadCopy(path);
  return {
    path,
    clock,
    writer,
    copy,
    troubles,
    files: () => readdirSync(dirname(path)),
    count: () => written,
  };
}

it("is there after a kill", async () => {
  const [copyPath, all] = [copyPathOfTest(), new MemoryStoreOfAll()];
  const killed = await machine("laptop", all, { copyPath });
  expect(await killed.store.open(10_000)).toBe(true);
  await expect.poll(() => loadCopy(copyPath)?.state ?? null).not.toBeNull();
  const { atMs } = loadCopy(copyPath) ?? { atMs: 0 };
  killed.kill();
  all.awaySinceMs = Date.now();
  const next = await machine("laptop", all, { copyPath });
  await expect.poll(() => next.store.condition).toMatchObject({ is: "opening", why: "no store answers" });
  expect(next.store.asOfMs).toBe(atMs);
  expect(next.store.state).not.toBeNull();
});

it("follows a change when the pause since the one before is over, and not before", async () => {
  const state = { ...emptyState(), seq: 1 };
  const { clock, writer, copy, files, count } = writerOfTest(() => state);
  writer.changed();
  expect(copy()).toBeNull();
  clock.pass(0);
  // While the first one is written.
  state.seq = 2;
  writer.changed();
  await expect.poll(() => clock.waiting).toBe(1);
  expect(copy()?.state?.seq).toBe(1);
  const before = count();
  clock.pass(limits.storeCopyPauseMs - 1);
  expect(count()).toBe(before);
  clock.pass(1);
  await expect.poll(() => copy()?.state?.seq).toBe(2);
  await writer.close();
  expect(files()).toEqual(["copy"]);
  // Nothing changed.
  expect(clock.waiting).toBe(0);
});

it("is written at once when the store opens, though something changed before that", async () => {
  let state: State | null = null;
  const { clock, writer, copy } = writerOfTest(() => state);
  writer.changed();
  clock.pass(0);
  state = { ...emptyState(), seq: 1 };
  writer.changed();
  clock.pass(0);
  await expect.poll(() => copy()?.state?.seq).toBe(1);
  await writer.close();
});

it("waits twenty times as long as the last one took, if that is longer", async () => {
  const state = emptyState();
  const { clock, writer } = writerOfTest(() => {
    clock.pass(limits.storeCopyPauseMs);
    return state;
  });
  writer.changed();
  clock.pass(0);
  writer.changed();
  await expect.poll(() => clock.waiting).toBe(1);
  // The state was looked at twice: at the beginning, and before it took its place.
  expect(clock.dueInMs).toBe(2 * limits.storeCopyPauseMs * limits.storeCopyShare);
});

it("leaves the old copy, and no other file, when the daemon stops meanwhile, and after a failure", async () => {
  let fails = false;
  const state = { ...emptyState(), seq: 1 };
  const { clock, writer, copy, files, troubles } = writerOfTest(() => {
    if (fails) throw new Error("no state");
    return state;
  });
  writer.changed();
  clock.pass(0);
  fails = true;
  await expect.poll(() => troubles).toHaveLength(1);
  expect(files()).toEqual([]);
  fails = false;
  writer.changed();
  await expect
    .poll(() => {
      clock.pass(limits.storeCopyPauseMs);
      return copy()?.state?.seq;
    })
    .toBe(1);
  state.seq = 2;
  writer.changed();
  await expect.poll(() => clock.waiting).toBe(1);
  clock.pass(limits.storeCopyPauseMs * limits.storeCopyShare);
  await writer.close();
  expect([copy()?.state?.seq, files()]).toEqual([1, ["copy"]]);
});
