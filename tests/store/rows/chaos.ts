/** What goes wrong in a history: processes, connections and servers, drawn from a seed. */
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../simulation/random.ts";
import type { Database } from "./database.ts";
import type { Machine } from "./machine.ts";

export interface Faulty {
  readonly machines: readonly Machine[];
  readonly database: Database;
  /** Notes what happened. */
  readonly note: (what: string) => void;
}

interface Hit extends Faulty {
  readonly random: Random;
  readonly machine: Machine;
}

/** `weight`: how often it is drawn among all. */
interface Fault {
  readonly name: string;
  readonly weight: number;
  readonly run: (hit: Hit) => Promise<void>;
}

/** Longer than a lease of a history, so that the others count the machine's sessions as gone. */
const beyondLeaseMs = { from: 1_800, to: 2_800 };
/** Longer than a request of a history waits for an outcome. */
const beyondAnswerMs = 2_800;
/** A text of each statement that writes a step. */
const write = '"kite".step(';
/** Longer than a statement of a history may take. */
const beyondStatementMs = 3_300;

const faults: readonly Fault[] = [
  {
    name: "kill",
    weight: 25,
    run: async ({ random, machine }) => {
      await machine.kill();
      await delay(random.int(0, 500));
      // Its agents' clients may have ended with it.
      if (random.chance(0.3)) machine.renewSessions();
      machine.up();
    },
  },
  {
    name: "stop",
    weight: 6,
    run: async ({ random, machine }) => {
      await machine.stop();
      await delay(random.int(0, 200));
      machine.up();
    },
  },
  {
    name: "pause",
    weight: 10,
    run: ({ random, machine }) => pause(machine, random.int(100, 1_000)),
  },
  {
    name: "pause beyond the lease",
    weight: 8,
    run: ({ random, machine }) => pause(machine, random.int(beyondLeaseMs.from, beyondLeaseMs.to)),
  },
  {
    name: "cut",
    weight: 10,
    run: async ({ machine }) => machine.cut(),
  },
  {
    name: "cut off",
    weight: 8,
    run: ({ random, machine }) => cutOff(machine, random.int(50, 500)),
  },
  {
    name: "cut off beyond the lease",
    weight: 5,
    run: ({ random, machine }) => cutOff(machine, random.int(beyondLeaseMs.from, beyondLeaseMs.to)),
  },
  {
    // What was asked is done, and nobody hears.
    name: "lose answers",
    weight: 12,
    run: async ({ random, machine }) => {
      machine.hold({ requests: false, answers: true });
      await delay(random.int(20, 170));
      machine.drop();
    },
  },
  {
    name: "lose the answer to a write",
    weight: 12,
    run: async ({ random, machine }) => {
      await machine.holdAnswersTo(write, random.int(100, 500));
      await delay(random.int(10, 60));
      machine.drop();
    },
  },
  {
    // Nobody can say whether it was done before its client has waited long enough.
    name: "lose the answer to a write, and the network",
    weight: 4,
    run: async ({ random, machine }) => {
      await machine.holdAnswersTo(write, random.int(100, 500));
      await delay(random.int(10, 60));
      machine.drop();
      await cutOff(machine, beyondAnswerMs);
    },
  },
  {
    name: "delay answers",
    weight: 7,
    run: ({ random, machine }) => late(machine, { requests: false, answers: true }, random.int(50, 1_500)),
  },
  {
    name: "delay requests",
    weight: 6,
    run: ({ random, machine }) => late(machine, { requests: true, answers: true }, random.int(50, 1_500)),
  },
  {
    name: "deliver requests of a connection that was given up",
    weight: 3,
    run: ({ machine }) => late(machine, { requests: true, answers: true }, beyondStatementMs),
  },
  {
    // A connection ends with an error of the server, which may come behind a commit.
    name: "end all connections",
    weight: 6,
    run: ({ database }) => database.endConnections(),
  },
  {
    name: "hold a lock as an administrator",
    weight: 4,
    run: ({ random, database }) => database.holdRows(random.int(50, 600)),
  },
  {
    name: "deliver requests of a process that was killed",
    weight: 6,
    run: async ({ random, machine }) => {
      machine.hold({ requests: true, answers: true });
      await delay(random.int(20, 150));
      await machine.kill();
      machine.up();
      await delay(random.int(0, 300));
      machine.release();
    },
  },
];

async function pause(machine: Machine, ms: number): Promise<void> {
  machine.signal("SIGSTOP");
  await delay(ms);
  machine.signal("SIGCONT");
}

async function cutOff(machine: Machine, ms: number): Promise<void> {
  machine.isCutOff = true;
  await delay(ms);
  machine.isCutOff = false;
}

async function late(
  machine: Machine,
  directions: { readonly requests: boolean; readonly answers: boolean },
  ms: number,
): Promise<void> {
  machine.hold(directions);
  await delay(ms);
  machine.release();
}

/** The server ends and comes back, or its standby in its place. */
async function crash(random: Random, { database, note }: Faulty): Promise<void> {
  const isKill = random.chance(0.5);
  note(isKill ? "kill the server" : "stop the server");
  await database.crash({ isKill, pauseMs: random.int(0, 400) });
  note("the server is back");
}

/** Lets faults happen until `isOver`, two at a time; the server crashes once. All is well when this resolves. */
export async function runChaos(random: Random, world: Faulty, isOver: () => boolean): Promise<void> {
  const crashAt = random.int(2, 6);
  const [one, other] = [random.fork(), random.fork()];
  await Promise.all([inTurn(one, world, isOver, crashAt), inTurn(other, world, isOver, null)]);
  for (const machine of world.machines) machine.heal();
}

async function inTurn(
  random: Random,
  world: Faulty,
  isOver: () => boolean,
  crashAt: number | null,
): Promise<void> {
  for (let n = 0; !isOver(); n += 1) {
    await delay(random.int(100, 500));
    if (isOver()) break;
    if (n === crashAt) {
      await crash(random, world);
      continue;
    }
    const machine = random.pick(world.machines);
    const fault = pickFault(random);
    world.note(`${fault.name} ${machine.node}`);
    await fault.run({ ...world, random, machine });
  }
}

function pickFault(random: Random): Fault {
  const all = faults.flatMap(fault => Array.from({ length: fault.weight }, () => fault));
  return random.pick(all);
}
