/** What one step leads to leaves in as many turns as it takes. */
import { describe, expect, it } from "vitest";
import { limits } from "../../protocol/limits.ts";
import { actor, lockOf } from "./core-world.ts";
import { type Call, EngineWorld, MemoryPlace, unlockOf } from "./engine-world.ts";

/** An engine whose turns the test lets happen, and what left in each. */
async function world(turnAnswers?: number) {
  let tasks: (() => void)[] = [];
  const soon = (task: () => void) => void tasks.push(task);
  const options = turnAnswers === undefined ? { soon } : { soon, turnAnswers };
  const w = new EngineWorld(new MemoryPlace());
  const turn = (): string[] => {
    const before = w.heard.length;
    const due = tasks;
    tasks = [];
    for (const task of due) task();
    return w.heard.slice(before);
  };
  const rest = async (): Promise<void> => {
    do {
      while (tasks.length > 0) turn();
      await w.settle();
    } while (tasks.length > 0);
  };
  w.begin(options);
  let isStarted = false;
  const started = w.engineStarted.then(() => {
    isStarted = true;
  });
  while (!isStarted) await rest();
  await started;
  return { w, turn, rest };
}

const everything = (session: string) =>
  ({ type: "lock_release", actor: actor(session), files: "all" }) as const;

it("a request that waits is known to wait at once, whatever else is to leave before", async () => {
  const { w, rest } = await world(1);
  await w.lock("a", ["x"]);
  await rest();
  const others = ["y", "z"].map(name => w.submitLock("b", name));
  const waiting = w.submitLock("c", "x");
  await w.settle();
  expect(others.map(({ reply }) => reply !== null)).toEqual([true, false]);
  expect(waiting.parked).toBe(true);
  await rest();
});

describe("the answers of one step", () => {
  it("that ends thousands of waits leave so many a turn, in order, and nothing overtakes them", async () => {
    const { w, turn, rest } = await world();
    const count = 2 * limits.turnAnswersMax + 200;
    const names = Array.from({ length: count }, (_, i) => `f${i}`);
    await w.lock("a", names);
    const waits: Call[] = [];
    for (const name of names) waits.push(w.submitLock("b", name));
    for (let n = 0; n < 4; n += 1) await rest();
    expect(waits.every(({ parked }) => parked)).toBe(true);
    const before = w.heard.length;
    const release = w.submit(everything("b"));
    const later = w.submitLock("c", "other");
    await w.settle();
    const sizes = [w.heard.length - before];
    const read = w.engine.outputReleased().then(() => w.heard.push("read"));
    while (w.heard.at(-1) !== "read") {
      sizes.push(turn().length);
      await w.settle();
    }
    await read;
    expect(Math.max(...sizes)).toBeLessThanOrEqual(limits.turnAnswersMax);
    expect(w.heard.slice(before)).toEqual([
      `answer ${release.n}`,
      ...waits.map(({ n }) => `answer ${n}`),
      "lock_release",
      `answer ${later.n}`,
      "lock_request",
      "read",
    ]);
    expect(waits.every(({ reply }) => reply?.ok === false)).toBe(true);
  });

  it("that find their client gone in its turn are undone", async () => {
    const { w, turn, rest } = await world(2);
    await w.lock("a", ["x", "y"]);
    await rest();
    const b = w.submitLock("b", "x");
    await rest();
    const c = w.submitLock("c", "y");
    await rest();
    w.submit(everything("a"));
    await w.settle();
    expect([b.reply?.ok, c.reply]).toEqual([true, null]);
    expect(w.holder("y")).toBe("c");
    w.engine.abandon(c.n);
    turn();
    await rest();
    expect(c.replies).toEqual([]);
    expect([w.holder("x"), w.holder("y")]).toEqual(["b", null]);
  });

  it("with a retry that find their client gone are carried out again", async () => {
    const { w, turn, rest } = await world(2);
    await w.lock("a", ["x", "y"]);
    await rest();
    await w.lock("b", "x");
    await rest();
    const retry = { by: "b", requestId: "1", digest: "d" };
    const gone = await w.lock("b", "y", { retry });
    await rest();
    w.submit(everything("b"));
    await w.settle();
    expect(gone.replies).toEqual([]);
    w.engine.abandon(gone.n);
    turn();
    await rest();
    const again = await w.lock("b", "y", { retry });
    await rest();
    expect([gone.replies, again.parked, again.reply]).toEqual([[], true, null]);
  });

  it("leave at once when the daemon stops", async () => {
    const { w } = await world(1);
    await w.lock("a", ["x", "y"]);
    await w.settle();
    w.submit(unlockOf("nobody", "z"));
    const late = w.submit(lockOf("b", "z", w.clock.now()));
    await w.settle();
    expect(late.reply).toBe(null);
    const closing = w.engine.close();
    await w.settle();
    expect(late.reply).toMatchObject({ ok: true });
    await closing;
  });
});
