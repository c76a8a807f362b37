/**
 * What stalls a daemon: every request of the wire, and every step of the background, among few and among many. Beside each
 * go pings from outside, and a watch of the event loop. `STALL=100,10000` in the environment takes other sizes, and
 * `STALL_ONLY=words,others` what has one of them in its
 * name.
 */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { limits } from "../../protocol/limits.ts";
import { requests } from "../../protocol/schemas/requests.ts";
import type { Watched } from "./programs/stall-daemon.ts";
import { beside as compared, type Figure, figure, type Table, type Tables, table } from "./report.ts";
import type { Probe } from "./stall/probe.ts";
import { probes } from "./stall/requests.ts";
import { after, before, type Step } from "./stall/steps.ts";
import { Pings } from "./stall/talk.ts";
import { World } from "./stall/world.ts";

/** The longest that one turn of the event loop may take, in milliseconds of processor time. */
const turnMaxMs = 50;
/** What a unit may cost among many, against few. */
const ratioMax = 2;
const rounds = 4;

/** What one subject cost in one world. */
interface Cost extends Watched {
  /** Processor time of the daemon, in microseconds. */
  readonly usPerUnit: number;
  readonly pingMs: number;
}

export async function* stall(): Tables {
  const sizes = (process.env["STALL"] ?? "100,10000,100000").split(",").map(Number);
  const only = (process.env["STALL_ONLY"] ?? "").split(",");
  const isAsked = (name: string) => only.some(words => name.includes(words));
  const costs = new Map<string, Map<number, Cost>>();
  const stops: Figure[] = [];
  for (const n of sizes) {
    const note = (what: string, cost: Cost) => {
      const known = costs.get(what) ?? new Map<number, Cost>();
      costs.set(what, known.set(n, cost));
    };
    const world = new World(n);
    try {
      await world.start();
      await world.fill();
      await world.subscribe();
      for (const [type, list] of Object.entries(probes)) {
        for (const probe of list) {
          const name = `${type} ${probe.what}`.trim();
          if (isAsked(name)) note(name, await askedOf(world, probe, name));
        }
      }
      for (const step of before) if (isAsked(step.what)) note(step.what, await steppedIn(world, step));
      stops.push(...(await stopped(world)));
      await world.start();
      for (const step of after) if (isAsked(step.what)) note(step.what, await steppedIn(world, step));
    } finally {
      await world.end();
    }
  }
  yield* tablesOf(sizes, costs);
  yield table("a stop, beside subscribers and waiting requests", stops);
  const rest = Object.keys(requests).filter(type => !Object.hasOwn(probes, type));
  const names = rest.length === 0 ? "none" : rest.join(", ");
  yield table("requests that this bench does not make", [figure(names, rest.length, { atMost: 0 })]);
}

let asked = 0;

/** The rounds in which others disturb the least count; the first is for the compilers. */
async function askedOf(world: World, probe: Probe, name: string): Promise<Cost> {
  const units = probe.units?.(world) ?? probe.count;
  const round = async () => {
    const began = await usedUs(world);
    await probe.run(world.talk, world, asked);
    asked += probe.count;
    return ((await usedUs(world)) - began) / units;
  };
  try {
    await round();
    let usPerUnit = Number.POSITIVE_INFINITY;
    for (let i = 0; i < rounds; i += 1) usPerUnit = Math.min(usPerUnit, await round());
    let best: Cost | null = null;
    for (let i = 0; i < 2; i += 1) {
      const watched = await beside(world, round);
      if (best === null || watched.turnMs < best.turnMs) best = { ...watched, usPerUnit };
    }
    if (best === null) throw new Error("no round");
    return best;
  } catch (error) {
    throw new Error(`${name} among ${world.n}`, { cause: error });
  }
}

async function steppedIn(world: World, step: Step): Promise<Cost> {
  const undo = await step.prepare?.(world);
  let usPerUnit = 0;
  const watched = await beside(world, async () => {
    const began = await usedUs(world);
    const units = await step.run(world);
    usPerUnit = ((await usedUs(world)) - began) / units;
  });
  undo?.();
  return { ...watched, usPerUnit };
}

async function beside(world: World, work: () => Promise<unknown>): Promise<Watched & { pingMs: number }> {
  const talk = await world.connect();
  await world.order({ is: "watch" });
  const pings = new Pings(talk);
  await work();
  const pingMs = await pings.end();
  const watched = await world.order<Watched>({ is: "watched" });
  talk.close();
  return { ...watched, pingMs };
}

/** From the order to stop until the process has closed everything. */
async function stopped(world: World): Promise<Figure[]> {
  const [began, used] = [performance.now(), await usedUs(world)];
  await world.order({ is: "stop" });
  const ms = performance.now() - began;
  const usedMs = ((await usedUs(world)) - used) / 1_000;
  world.leave();
  await world.bench.stop(world.daemon);
  const among = `with ${shown(world.n)} of each`;
  return [
    figure(`${among}, elapsed`, ms, { atMost: limits.shutdownMs }, " ms"),
    figure(`${among}, processor time`, usedMs, { atMost: limits.shutdownMs }, " ms"),
  ];
}

/** Processor time of all threads of the daemon so far, in microseconds. The kernel counts a thread's when it rests. */
async function usedUs({ daemon }: World): Promise<number> {
  await delay(3);
  const folder = `/proc/${daemon.child.pid}/task`;
  let ns = 0;
  for (const task of readdirSync(folder))
    ns += Number.parseInt(readFileSync(`${folder}/${task}/schedstat`, "latin1"), 10);
  return ns / 1_000;
}

/** What a unit costs among more, and the longest turns, each with the worst first. */
function* tablesOf(
  sizes: readonly number[],
  costs: ReadonlyMap<string, ReadonlyMap<number, Cost>>,
): Generator<Table, void> {
  const [few = 0] = sizes;
  const of = (known: ReadonlyMap<number, Cost>, field: keyof Cost) =>
    sizes.map(n => known.get(n)?.[field] ?? Number.NaN);
  const rows = Array.from(costs, ([what, known]) => {
    const [base = Number.NaN, ...more] = of(known, "usPerUnit");
    const ratios = more.map(us => us / base);
    const times = ratios.map(one => one.toFixed(2)).join(", ");
    const name = `${what} (${base.toFixed(0)} us; ${times})`;
    return { what, ratio: figure(name, Math.max(...ratios), { atMost: ratioMax }), known };
  });
  const more = sizes.slice(1).map(shown).join(" and ");
  yield table(
    `processor time of a unit among ${more} of each against ${shown(few)}, worst first`,
    rows.map(({ ratio }) => ratio).sort((a, b) => b.value - a.value),
  );
  yield table(
    `the longest turn of the event loop, in processor time, at ${sizes.map(shown).join(", ")}, worst first`,
    rows
      .map(({ what, known }) => {
        const turns = of(known, "turnMs");
        const name = `${what} (${turns.map(ms => ms.toFixed(0)).join(", ")})`;
        const longest = figure(name, Math.max(...turns), { atMost: turnMaxMs }, " ms");
        return compared(longest, "longest ping", Math.max(...of(known, "pingMs")));
      })
      .sort((a, b) => b.value - a.value),
  );
}

function shown(n: number): string {
  return n.toLocaleString("en-US");
}
