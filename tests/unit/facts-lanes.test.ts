import { describe, expect, test } from "vitest";
import { Lanes } from "../../daemon/facts-lanes.ts";

const longMs = 60_000;
const never = () => new Promise<never>(() => {});
const soon = () => new Promise<void>(resolve => setImmediate(resolve));

/** A probe that ends when told to. */
function held() {
  let finish: (value: string) => void = () => {};
  const answer = new Promise<string>(resolve => {
    finish = resolve;
  });
  let started = false;
  const probe = () => {
    started = true;
    return answer;
  };
  return { probe, finish, started: () => started };
}

describe("lanes", () => {
  test("run so many at once, the others in order", async () => {
    const lanes = new Lanes(2);
    const probes = [held(), held(), held()] as const;
    const all = probes.map(p => lanes.run("disk", p.probe, longMs));
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
    const lanes = new Lanes(1);
    const stuck = lanes.run("hung", never, 1);
    expect(await lanes.run("disk", async () => 7, longMs)).toMatchObject({ value: 7 });
    expect(await stuck).toEqual({ late: true });
  });

  test("that are stuck say so at once, to those who wait and to those who come", async () => {
    const lanes = new Lanes(1);
    const first = held();
    const stuck = lanes.run("hung", first.probe, 1);
    const waiting = lanes.run("hung", async () => "late", longMs);
    expect(await stuck).toEqual({ late: true });
    expect(await waiting).toEqual({ late: true });
    expect(await lanes.run("hung", async () => "come", longMs)).toEqual({ late: true });
    first.finish("at last");
    await soon();
    expect(await lanes.run("hung", async () => "again", longMs)).toMatchObject({ value: "again" });
  });

  test("come back place by place", async () => {
    const lanes = new Lanes(2);
    const [first, second] = [held(), held()];
    await Promise.all([lanes.run("slow", first.probe, 1), lanes.run("slow", second.probe, 1)]);
    first.finish("at last");
    await soon();
    expect(await lanes.run("slow", async () => "again", longMs)).toMatchObject({ value: "again" });
    second.finish("at last");
  });

  test("pass errors on and go on", async () => {
    const lanes = new Lanes(1);
    const failing = lanes.run("disk", () => Promise.reject(new Error("no")), longMs);
    const next = lanes.run("disk", async () => "yes", longMs);
    await expect(failing).rejects.toThrow("no");
    expect(await next).toMatchObject({ value: "yes" });
  });

  test("take an answer that is there when the timer comes late", async () => {
    const lanes = new Lanes(1);
    const probed = lanes.run("disk", () => new Promise(resolve => setImmediate(() => resolve("there"))), 1);
    // A stall of the whole process: timer and answer are both due when it ends.
    const until = performance.now() + 5;
    while (performance.now() < until);
    expect(await probed).toMatchObject({ late: false, value: "there" });
  });

  test("begin nothing without a budget", async () => {
    let begun = false;
    const probe = async () => {
      begun = true;
    };
    expect(await new Lanes().run("disk", probe, 0)).toEqual({ late: true });
    expect(begun).toBe(false);
  });
});
