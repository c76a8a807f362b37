/** Answers leave in turns, and not before their entry is durable. */
import { describe, expect, it } from "vitest";
import { Outbox } from "../../daemon/engine/answers.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, lockOf } from "./core-world.ts";
import { type Call, EngineWorld, MemoryPlace, unlockOf } from "./engine-world.ts";

// What one step leads to leaves in as many turns as it takes.

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

describe("the outbox", () => {
  function world(turnMax?: number) {
    let tasks: (() => void)[] = [];
    const outbox = new Outbox(task => tasks.push(task), turnMax);
    const sent: string[] = [];
    const turn = () => {
      const due = tasks;
      tasks = [];
      for (const task of due) task();
      return due.length;
    };
    return { outbox, sent, turn, put: (name: string) => outbox.put(() => sent.push(name)) };
  }

  describe("the outbox", () => {
    it("lets out at once what no disk has to know of", () => {
      const { outbox, sent, put } = world();
      expect(outbox.entered(1, { type: "lock_request" })).toBe(false);
      put("lock");
      expect(sent).toEqual(["lock"]);
    });

    it("tells context that is to last from context that is not, and waits for every message", () => {
      const { outbox, sent, put } = world();
      expect(outbox.entered(1, { type: "context_set", durable: false })).toBe(false);
      put("in memory");
      expect(outbox.entered(2, { type: "context_set", durable: true })).toBe(true);
      put("durable");
      expect(sent).toEqual(["in memory"]);
      for (const type of ["message_send", "message_ack", "broadcast", "context_delete"] as const) {
        expect(outbox.entered(3, { type }), type).toBe(true);
      }
      expect(outbox.entered(4, { type: "inbox_take" })).toBe(false);
    });

    it("holds an entry of the disk class and all behind it until that entry is durable, in order", () => {
      const { outbox, sent, put } = world();
      expect(outbox.entered(1, { type: "daemon_started" })).toBe(true);
      put("start");
      outbox.entered(2, { type: "lock_request" });
      put("lock");
      expect(outbox.entered(3, { type: "rules" })).toBe(true);
      put("rules");
      outbox.durable(0);
      expect(sent).toEqual([]);
      outbox.durable(2);
      expect(sent).toEqual(["start", "lock"]);
      outbox.durable(3);
      expect(sent).toEqual(["start", "lock", "rules"]);
      put("later");
      expect(sent.at(-1)).toBe("later");
    });

    it("takes no step back when an older sync is told late", () => {
      const { outbox, sent, put } = world();
      outbox.durable(5);
      outbox.durable(2);
      outbox.entered(4, { type: "rules" });
      put("rules");
      expect(sent).toEqual(["rules"]);
    });

    it("holds everything behind an entry that threw until the log says that it is void", () => {
      const { outbox, sent, put } = world();
      put("before");
      outbox.threw(2);
      put("answer");
      put("behind");
      outbox.durable(9);
      outbox.voided(7);
      expect(sent).toEqual(["before"]);
      outbox.voided(2);
      expect(sent).toEqual(["before", "answer", "behind"]);
    });

    it("waits for every one of several that threw, and for the disk as well", () => {
      const { outbox, sent, put } = world();
      outbox.threw(1);
      outbox.threw(2);
      outbox.entered(3, { type: "rules" });
      put("rules");
      outbox.voided(1);
      outbox.durable(3);
      expect(sent).toEqual([]);
      outbox.voided(2);
      expect(sent).toEqual(["rules"]);
    });

    it("sends so many a turn, in order, and asks for no turn without need", () => {
      const { outbox, sent, turn, put } = world(2);
      for (const name of ["a", "b", "c", "d", "e"]) put(name);
      expect(sent).toEqual(["a", "b"]);
      expect(turn()).toBe(1);
      put("f");
      expect(sent).toEqual(["a", "b", "c", "d"]);
      turn();
      expect(sent).toEqual(["a", "b", "c", "d", "e", "f"]);
      turn();
      expect(turn()).toBe(0);
      expect([outbox.claim(3), outbox.claim(2), outbox.claim(1)]).toEqual([false, true, false]);
      put("g");
      expect(sent.at(-1)).toBe("f");
      turn();
      expect(sent.at(-1)).toBe("g");
    });

    it("sends no more in a turn for what the disk says, and keeps what is not durable through its turns", () => {
      const { outbox, sent, turn, put } = world(2);
      outbox.entered(1, { type: "rules" });
      for (const name of ["a", "b", "c"]) put(name);
      outbox.entered(2, { type: "rules" });
      put("d");
      expect(turn()).toBe(0);
      outbox.durable(1);
      expect(sent).toEqual(["a", "b"]);
      turn();
      turn();
      expect(sent).toEqual(["a", "b", "c"]);
      outbox.durable(2);
      expect(sent).toEqual(["a", "b", "c", "d"]);
    });

    it("sends behind the others what is put while it sends", () => {
      const { outbox, sent, turn, put } = world(1);
      put("a");
      outbox.put(() => {
        sent.push("b");
        put("d");
      });
      put("c");
      for (let n = 0; n < 4; n += 1) turn();
      expect(sent).toEqual(["a", "b", "c", "d"]);
    });

    it("sends at a stop whatever is durable, at once", () => {
      const { outbox, sent, put } = world(1);
      for (const name of ["a", "b", "c"]) put(name);
      outbox.entered(1, { type: "rules" });
      put("d");
      outbox.flush();
      expect(sent).toEqual(["a", "b", "c"]);
      outbox.durable(1);
      expect(sent).toEqual(["a", "b", "c", "d"]);
    });
  });
});
