import { expect, it } from "vitest";
import { Call, type CallServices, Turns } from "../../daemon/server/call.ts";
import type { Connection, Slot } from "../../daemon/server/connection.ts";
import { limits } from "../../protocol/limits.ts";

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
