/** A check of thousands of silent sessions goes over several turns of the event loop. */
import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { AnchorWatch } from "../../daemon/facts/processes.ts";
import type { Services } from "../../daemon/options.ts";
import { Life } from "../../daemon/sessions/liveness.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import { limits } from "../../protocol/limits.ts";
import { begin, Crowd, upTo } from "../bench/growth-steps.ts";

/** The checks of a daemon with `n` sessions without a process, whose next check the test lets happen. */
function world(n: number) {
  const crowd = new Crowd({ step: work => work() });
  for (const i of upTo(n)) crowd.before(begin(`s${i}`));
  let tick = () => {};
  const at = (_at: number, callback: () => void) => {
    tick = callback;
    return () => {};
  };
  const clock = { now: () => crowd.now, wall: () => crowd.now, at };
  const lost: string[] = [];
  const submit = (command: Command, { answer }: { answer: () => void }) => {
    if (command.type !== "session_lost") throw new Error(command.type);
    lost.push(command.session);
    crowd.before(command);
    answer();
  };
  const presence = new PresenceTable(clock);
  const services = { engine: { state: crowd.state, submit }, clock, presence, node: "n" };
  const nothing = () => {};
  const life = new Life({
    services: services as unknown as Services,
    anchors: new AnchorWatch({ table: { rows: async () => null } as never }),
    idleExitMs: 0,
    stillOurs: () => true,
    verifyJournal: nothing,
    onAlive: nothing,
    isConnected: () => true,
    forget: nothing,
    stopped: nothing,
    idleEndMs: () => null,
    stop: nothing,
  });
  const silent = () => {
    crowd.now += limits.silenceMs;
  };
  return { crowd, lost, life, silent, tick: () => tick() };
}

it("finds silent sessions a part a turn, each once", async () => {
  const n = 3 * limits.lostPerTurn;
  const { lost, silent, tick, life } = world(n);
  tick();
  expect(lost).toEqual([]);
  silent();
  tick();
  expect(lost).toHaveLength(limits.lostPerTurn);
  // A check that comes meanwhile begins no other one.
  tick();
  expect(lost).toHaveLength(limits.lostPerTurn);
  await turn();
  expect(lost).toHaveLength(2 * limits.lostPerTurn);
  while (lost.length < n) await turn();
  await turn();
  tick();
  expect(new Set(lost).size).toBe(n);
  expect(lost).toHaveLength(n);
  life.close();
});

it("looks at nobody after it is closed", async () => {
  const { lost, silent, tick, life } = world(2 * limits.lostPerTurn);
  silent();
  tick();
  life.close();
  await turn();
  expect(lost).toHaveLength(limits.lostPerTurn);
});
