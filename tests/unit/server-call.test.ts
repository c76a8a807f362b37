/** Requests take turns: long answers, and looks at other processes. */
import { beforeEach, describe, expect, it } from "vitest";
import { Call, type CallServices, type Steps, Turns } from "../../daemon/server/call.ts";
import type { Connection, Slot } from "../../daemon/server/connection.ts";
import { limits } from "../../protocol/limits.ts";

describe("turns", () => {
  /** What happened, in order. */
  let log: string[];
  let next: (() => void)[];
  let turns: Turns;

  beforeEach(() => {
    log = [];
    next = [];
    turns = new Turns(task => next.push(task));
  });

  /** One turn of the event loop. */
  function turn(): void {
    log.push("turn");
    for (const task of next.splice(0)) task();
  }

  const open = { isClosed: false };

  /** So many steps of this cost. */
  function* work(name: string, count: number, cost: number): Steps<string> {
    for (let n = 0; n < count; n += 1) {
      log.push(name);
      if (yield cost) log.push(`${name} again`);
    }
    return name;
  }

  const third = Math.ceil(limits.turnBytes / 3);
  const settled = () => new Promise<void>(resolve => setImmediate(resolve));

  describe("long answers", () => {
    it("are made at once when they are short and nobody waits, as many as a turn holds", async () => {
      expect(await turns.make(open, work("a", 1, third))).toBe("a");
      expect(await turns.make(open, work("b", 1, third))).toBe("b");
      const last = [turns.make(open, work("c", 2, third)), turns.make(open, work("d", 1, third))];
      expect(log).toEqual(["a", "b", "c"]);
      turn();
      expect(await Promise.all(last)).toEqual(["c", "d"]);
      expect(log.slice(3)).toEqual(["turn", "c again", "c", "d"]);
    });

    it("take turns, each a piece, and know that they were interrupted", async () => {
      const made = [turns.make(open, work("a", 7, third)), turns.make(open, work("b", 4, third))];
      for (let n = 0; n < 3; n += 1) turn();
      expect(log).toEqual([
        ...["a", "a", "a", "turn", "a again", "a", "a", "a"],
        ...["turn", "b", "b", "b"],
        ...["turn", "a again", "a", "b again", "b"],
      ]);
      expect(await Promise.all(made)).toEqual(["a", "b"]);
    });

    it("of many connections are all on their way while one turn never makes more than its bound", () => {
      const many = Array.from({ length: 50 }, (_, n) => `c-${n}`);
      for (const name of many) void turns.make(open, work(name, 400, 2_500));
      for (let n = 0; n < 200; n += 1) turn();
      const pieces = log
        .filter(line => !line.endsWith("again"))
        .join(" ")
        .split("turn");
      for (const piece of pieces) {
        const steps = piece.trim().split(" ").length;
        expect((steps - 1) * 2_500).toBeLessThan(limits.turnBytes);
      }
      const counts = many.map(name => log.filter(line => line === name).length);
      // Nobody is a whole round ahead of another one.
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(limits.turnBytes / 2_500 + 1);
    });

    it("are not made for a connection that is gone", async () => {
      const gone = { isClosed: false };
      const made = turns.make(gone, work("a", 10, third));
      const other = turns.make(open, work("b", 1, third));
      gone.isClosed = true;
      turn();
      expect(await Promise.all([made, other])).toEqual([null, "b"]);
      expect(log).toEqual(["a", "a", "a", "turn", "b"]);
    });

    it("that throw say so to who asked, and keep nobody else waiting", async () => {
      function* broken(): Steps<string> {
        yield limits.turnBytes;
        throw new Error("broken");
      }
      const made = turns.make(open, broken());
      const other = turns.make(open, work("b", 1, third));
      turn();
      await expect(made).rejects.toThrow("broken");
      expect(await other).toBe("b");
    });

    it("cost nothing while there are none", async () => {
      await turns.make(open, work("a", 1, third));
      turn();
      await settled();
      expect(next).toEqual([]);
    });
  });
});

describe("looks", () => {
  /** Calls whose turns the test lets happen. */
  function world() {
    const next: (() => void)[] = [];
    const services = { turns: new Turns(task => next.push(task)) } as unknown as CallServices;
    const call = (connection = { isClosed: false }) =>
      new Call(services, connection as Connection, {} as Slot, "hook", () => {});
    const turn = () => {
      for (const task of next.splice(0)) task();
    };
    return { call, turn };
  }

  it("looks at the others take turns when many agents ask at the same time", async () => {
    const { call, turn } = world();
    let looks = 0;
    const all = Array.from({ length: 5 }, () => call().inTurn(() => ++looks, limits.peersEffort));
    expect(looks).toBe(2);
    turn();
    expect(looks).toBe(4);
    turn();
    turn();
    expect(await Promise.all(all)).toEqual([1, 2, 3, 4, 5]);
  });

  it("a look for a client that has left is left out, and one that fails tells so", async () => {
    const { call, turn } = world();
    const left = { isClosed: false };
    const looks = [1, 2, 3].map(n => call(n === 3 ? left : undefined).inTurn(() => n, limits.peersEffort));
    left.isClosed = true;
    turn();
    turn();
    expect(await Promise.all(looks)).toEqual([1, 2, null]);
    const failed = call().inTurn(() => {
      throw new Error("no such");
    }, limits.peersEffort);
    turn();
    await expect(failed).rejects.toThrow("no such");
  });
});
