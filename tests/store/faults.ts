/** What goes wrong in a history: daemons, connections and servers, drawn from a seed. */
import { setTimeout as delay } from "node:timers/promises";
import type { StoreProxy } from "../journal/store-proxy.ts";
import type { Random } from "../simulation/random.ts";
import type { Machine, Store } from "./machines.ts";
import { silence } from "./silence.ts";

export interface Faulty {
  readonly machines: readonly Machine[];
  readonly store: Store;
  /** Edits on this machine go on now: rejects if they do not. */
  readonly probe: (machine: Machine) => Promise<void>;
  /** Notes what happened. */
  readonly note: (what: string) => void;
}

type Fault = (random: Random, world: Faulty) => Promise<void>;

/** Of daemons. */
const ofProcesses: readonly Fault[] = [
  async (random, { machines, note }) => {
    const machine = random.pick(machines);
    note(`kill ${machine.index}`);
    await machine.restart(random.int(0, 400));
  },
  async (random, { machines, note }) => {
    const machine = random.pick(machines);
    note(`stop ${machine.index}`);
    await machine.stop();
    await machine.start();
  },
  async (random, { machines, note }) => {
    const machine = random.pick(machines);
    note(`pause ${machine.index}`);
    machine.daemon.signal("SIGSTOP");
    await delay(random.int(100, 1_500));
    machine.daemon.signal("SIGCONT");
  },
];

/** Of what is between a daemon and its store. */
const ofConnections: readonly Fault[] = [
  async (random, { machines, note }) => {
    const machine = random.pick(machines);
    note(`cut ${machine.index}`);
    for (const proxy of machine.proxies) proxy.cut();
  },
  (random, world) => hold(random, world, proxy => proxy.release()),
  // Nothing of what was under way arrives.
  (random, world) =>
    hold(random, world, proxy => {
      proxy.holdsRequests = false;
      proxy.holdsAnswers = false;
      proxy.cut();
    }),
  (random, world) => silence(random.pick(world.machines), world),
  async (random, { machines, probe, note }) => {
    const machine = random.pick(machines);
    note(`refuse ${machine.index}`);
    for (const proxy of machine.proxies) {
      proxy.refuses = true;
      proxy.cut();
    }
    await delay(random.int(100, 1_000));
    await probe(machine);
    for (const proxy of machine.proxies) proxy.refuses = false;
  },
];

async function hold(
  random: Random,
  { machines, probe, note }: Faulty,
  goOn: (proxy: StoreProxy) => void,
): Promise<void> {
  const machine = random.pick(machines);
  const [requests, answers] = random.pick([
    [true, true],
    [true, false],
    [false, true],
  ] as const);
  note(`hold${requests ? " requests" : ""}${answers ? " answers" : ""} of ${machine.index}`);
  for (const proxy of machine.proxies) {
    proxy.holdsRequests = requests;
    proxy.holdsAnswers = answers;
  }
  await delay(random.int(100, 1_500));
  await probe(machine);
  for (const proxy of machine.proxies) goOn(proxy);
  note(`go on ${machine.index}`);
}

/** Ends the server, and lets it come back, or its standby in its place, once edits were seen to go on. */
async function crash(random: Random, { machines, store, probe, note }: Faulty): Promise<void> {
  note("kill the server");
  await store.kill();
  await delay(random.int(0, 500));
  await Promise.all(machines.map(probe));
  await store.comeBack();
  note("the server is back");
}

/**
 * Lets `count` faults of connections happen, one after the other, a crash of the server among them, and meanwhile about half
 * as many of daemons. All is well when this resolves.
 */
export async function runFaults(random: Random, world: Faulty, count: number): Promise<void> {
  const crashAt = random.int(1, count - 1);
  const [near, far] = [random.fork(), random.fork()];
  const inTurn = async (drawn: Random, times: number, faultAt: (n: number) => Fault) => {
    for (let n = 0; n < times; n += 1) {
      await delay(drawn.int(50, 500));
      await faultAt(n)(drawn, world);
    }
  };
  await Promise.all([
    inTurn(far, count, n => (n === crashAt ? crash : far.pick(ofConnections))),
    inTurn(near, Math.ceil(count / 2), () => near.pick(ofProcesses)),
  ]);
}
