import { describe, expect, test } from "vitest";
import { NotHere, PerDeviceLimit } from "../../daemon/facts/prober.ts";
import { WorkClock } from "../../daemon/facts/work-clock.ts";
import { limits } from "../../protocol/limits.ts";
import { FakeMachine, settled } from "./work-drive.ts";

const budgetMs = 10 * limits.workBeatMs;
const longMs = 1_000_000;
const never = () => new Promise<never>(() => {});

/** A probe that ends when told to. */
function held() {
  let finish: (value: string) => void = () => {};
  const answer = new Promise<string>(resolve => {
    finish = resolve;
  });
  let started = false;
  const ask = () => {
    started = true;
    return answer;
  };
  return { ask, finish, started: () => started };
}

function world(max: number) {
  const machine = new FakeMachine();
  const lanes = new PerDeviceLimit(max, new WorkClock(machine));
  const run = <T>(name: string, ask: () => Promise<T>, askNow: (() => Promise<T>) | null = null) =>
    lanes.run(name, { ask, askNow, budgetMs, until: longMs });
  return { machine, lanes, run };
}

describe("lanes", () => {
  test("run so many at once, the others in order", async () => {
    const { run } = world(2);
    const probes = [held(), held(), held()] as const;
    const all = probes.map(p => run("disk", p.ask));
    expect(probes.map(p => p.started())).toEqual([true, true, false]);
    probes[1].finish("second");
    expect(await all[1]).toMatchObject({ late: false, value: "second" });
    expect(probes[2].started()).toBe(true);
    probes[0].finish("first");
    probes[2].finish("third");
    expect(await Promise.all(all)).toMatchObject([
      { value: "first" },
      { value: "second" },
      { value: "third" },
    ]);
  });

  test("do not stop one another", async () => {
    const { machine, run } = world(1);
    const stuck = run("hung", never);
    expect(await run("disk", async () => 7)).toMatchObject({ value: 7 });
    await machine.work(budgetMs);
    expect(await stuck).toEqual({ late: true });
  });

  test("that are stuck say so at once, to those who wait and to those who come", async () => {
    const { machine, run } = world(1);
    const first = held();
    const stuck = run("hung", first.ask);
    const waiting = run("hung", async () => "late");
    await machine.work(budgetMs);
    expect(await stuck).toEqual({ late: true });
    expect(await waiting).toEqual({ late: true });
    expect(await run("hung", async () => "come")).toEqual({ late: true });
    first.finish("at last");
    await settled();
    expect(await run("hung", async () => "again")).toMatchObject({ value: "again" });
  });

  test("come back place by place", async () => {
    const { machine, run } = world(2);
    const [first, second] = [held(), held()];
    const both = [run("slow", first.ask), run("slow", second.ask)];
    await machine.work(budgetMs);
    expect(await Promise.all(both)).toEqual([{ late: true }, { late: true }]);
    first.finish("at last");
    await settled();
    expect(await run("slow", async () => "again")).toMatchObject({ value: "again" });
    second.finish("at last");
  });

  test("pass errors on and go on", async () => {
    const { run } = world(1);
    const failing = run("disk", () => Promise.reject(new Error("no")));
    const next = run("disk", async () => "yes");
    await expect(failing).rejects.toThrow("no");
    expect(await next).toMatchObject({ value: "yes" });
  });

  test("begin nothing without a budget", async () => {
    const { lanes } = world(1);
    let begun = false;
    const ask = async () => {
      begun = true;
    };
    expect(await lanes.run("disk", { ask, askNow: null, budgetMs: 0, until: longMs })).toEqual({
      late: true,
    });
    expect(await lanes.run("disk", { ask, askNow: null, budgetMs, until: 0 })).toEqual({ late: true });
    expect(begun).toBe(false);
  });
});

describe("where the process gets no processor", () => {
  test("a probe is not late, and its lane not stuck, however long that lasts", async () => {
    const { machine, run } = world(1);
    const probe = held();
    const probed = run("disk", probe.ask);
    for (let n = 0; n < 5; n += 1) await machine.stall(budgetMs);
    machine.isPoolStarved = true;
    await machine.work(10 * budgetMs);
    probe.finish("there");
    expect(await probed).toMatchObject({ late: false, value: "there" });
    expect(await run("disk", async () => "next")).toMatchObject({ value: "next" });
  });

  test("it is late all the same when all its time is over", async () => {
    const { machine, run } = world(1);
    const probed = run("disk", never);
    await machine.stall(longMs);
    expect(await probed).toEqual({ late: true });
  });

  test("what is asked for in the pool is asked here, also what waits for a place", async () => {
    const { machine, run } = world(1);
    machine.isPoolStarved = true;
    const [first, second] = [held(), held()];
    const probed = [
      run("disk", first.ask, async () => "here"),
      run("disk", second.ask, async () => "here too"),
    ];
    await machine.work(4 * limits.workBeatMs);
    expect(await Promise.all(probed)).toMatchObject([{ value: "here" }, { value: "here too" }]);
    expect(second.started()).toBe(false);
    first.finish("too late to matter");
    await settled();
    expect(await run("disk", async () => "next")).toMatchObject({ value: "next" });
  });

  test("what comes next is asked here at once, until a processor is free again", async () => {
    const { machine, run } = world(2);
    machine.isPoolStarved = true;
    const first = held();
    const probed = run("disk", first.ask, async () => "here");
    await machine.work(4 * limits.workBeatMs);
    expect(await probed).toMatchObject({ value: "here" });
    const second = held();
    expect(await run("disk", second.ask, async () => "here at once")).toMatchObject({
      value: "here at once",
    });
    expect(second.started()).toBe(false);
    const link = run("disk", second.ask, () => Promise.reject(new NotHere("a link")));
    second.finish("from the pool");
    expect(await link).toMatchObject({ value: "from the pool" });
    machine.isPoolStarved = false;
    await machine.work(limits.starvedMs + limits.workBeatMs);
    first.finish("late");
    await settled();
    expect(
      await run(
        "disk",
        async () => "pool",
        async () => "here",
      ),
    ).toMatchObject({ value: "pool" });
  });

  test("an error found here is an answer; what may not be asked here waits for the pool", async () => {
    const { machine, run } = world(2);
    machine.isPoolStarved = true;
    const failing = run("disk", never, () => Promise.reject(new Error("no")));
    const caught = expect(failing).rejects.toThrow("no");
    const probe = held();
    const waiting = run("disk", probe.ask, () => Promise.reject(new NotHere("a link")));
    await machine.work(4 * limits.workBeatMs);
    await caught;
    probe.finish("from the pool");
    expect(await waiting).toMatchObject({ value: "from the pool" });
  });

  test("nothing is asked here while the pool answers", async () => {
    const { machine, run } = world(1);
    let asked = 0;
    const probe = held();
    const probed = run("slow", probe.ask, async () => {
      asked += 1;
      return "here";
    });
    await machine.work(budgetMs - limits.workBeatMs);
    probe.finish("slow");
    expect(await probed).toMatchObject({ value: "slow" });
    expect(asked).toBe(0);
  });
});
