/** One history: machines that share a store, sessions that work, faults, and a judgement at the end. */
import { setTimeout as delay } from "node:timers/promises";
import { Random } from "../simulation/random.ts";
import { faultsOfEarly, sendEarly } from "./before-share.ts";
import { declarationFaults, faultsOfOverlaps, faultsOfToldDeclarations } from "./declaration-faults.ts";
import { Declarer, type DeclaringAgent, declareEarly } from "./declarations.ts";
import { runFaults } from "./faults.ts";
import { faultsOf } from "./judge.ts";
import { asked, faultsOfFormerId, faultsOfLeaving, faultsOfRejoining } from "./leaving.ts";
import { Machine, type Skew, type Store } from "./machines.ts";
import { History, Speaker } from "./operations.ts";
import { faultsOfPassing } from "./passing.ts";
import { faultsOfMachine, settledFaults } from "./settled.ts";
import { readSharedLog, type SharedLog } from "./shared-log.ts";
import { viewFaults } from "./views.ts";
import { type Common, comeAndGo, emptyCommon, Worker } from "./workload.ts";

export interface HistoryOptions {
  readonly seed: number;
  readonly store: Store;
  /** The daemon's program. */
  readonly program: string;
  readonly faults?: number;
  /** How long the log and all machines may take to agree at the end. */
  readonly settleMs?: number;
}

export interface Outcome {
  /** A sentence for each fault; empty: there is none. */
  readonly wrong: readonly string[];
  /** What happened: faults and answers, with their counts. */
  readonly seen: ReadonlyMap<string, number>;
  readonly notes: readonly string[];
}

const machinesCount = 3;
const workersEach = 3;
const hourMs = 3_600_000;

/** Runs a history to its end. Everything that it started has ended then. */
export async function runHistory({
  seed,
  store,
  program,
  faults = 7,
  settleMs = 60_000,
}: HistoryOptions): Promise<Outcome> {
  const random = new Random(seed);
  const skews: (Skew | null)[] = [null, skewOf(random), skewOf(random)];
  const machines = await Promise.all(
    skews
      .slice(0, machinesCount)
      .map((skew, index) =>
        Machine.make({ index, program, skew, doors: store.doors, database: store.database }),
      ),
  );
  try {
    return await played(random, store, machines, { seed, faults, settleMs });
  } finally {
    await Promise.all(machines.map(machine => machine.dispose()));
  }
}

/** A clock that is an hour off at most, and jumps by as much in the middle of the history. */
function skewOf(random: Random): Skew {
  const [ms, jumpMs] = [random.int(-hourMs, hourMs), random.int(-hourMs, hourMs)];
  return { ms, jumpMs, afterMs: random.int(500, 5_000) };
}

async function played(
  random: Random,
  store: Store,
  machines: readonly Machine[],
  { seed, faults, settleMs }: Required<Pick<HistoryOptions, "seed" | "faults" | "settleMs">>,
): Promise<Outcome> {
  const notes: string[] = [];
  const began = performance.now();
  const note = (what: string) =>
    void notes.push(`${((performance.now() - began) / 1000).toFixed(1)} s: ${what}`);
  const history = new History();
  const common = emptyCommon(history);
  await Promise.all(machines.map(machine => machine.start()));
  const early = (await Promise.all(machines.map(machine => sendEarly(machine, history)))).flat();
  common.speakers.push(...early);
  const { declarations } = common;
  for (const speaker of early) await declareEarly(declarations.begin(speaker), declarations);
  await Promise.all(machines.map(machine => machine.share()));
  const probes = new Map(
    machines.map(one => {
      const speaker = new Speaker(one, "probe", `probe-of-${one.index}`, history);
      return [one, declarations.begin(speaker)] as const;
    }),
  );
  await store.keepAll();
  for (const [{ clone }, { speaker }] of probes)
    await speaker.ask({ type: "register", cwd: clone, name: speaker.name });
  let isOver = false;
  // Of its own: what else is drawn does not depend on declarations.
  const declared = new Random(-seed);
  const workers = machines.flatMap(machine =>
    Array.from({ length: workersEach }, (_, slot) => new Worker(machine, slot, random.fork(), common)),
  );
  const working = Promise.all([
    ...workers.map(worker => worker.run(() => isOver)),
    ...machines.map(machine => comeAndGo(machine, random.fork(), common, () => isOver)),
    ...machines.map(machine => new Declarer(machine, declared.fork(), common).run(() => isOver)),
  ]);
  working.catch(() => {});
  const probe = async (machine: Machine) => {
    const agent = probes.get(machine);
    if (agent !== undefined) await editsGoOn(agent, common);
  };
  await runFaults(random, { machines, store, probe, note }, faults);
  isOver = true;
  const isHeard = await Promise.race([working.then(() => true), delay(settleMs, false, { ref: false })]);
  history.isOver = true;
  await working;
  note("all is well");
  const wrong = isHeard ? [] : [`a session heard nothing for ${settleMs} ms although all was well`];
  for await (const fault of faultsOfPassing(store, machines, early, settleMs)) wrong.push(fault);
  const all = () => [...common.speakers, ...[...probes.values()].map(({ speaker }) => speaker)];
  wrong.push(...(await settledFaults(store, machines, all(), settleMs)));
  wrong.push(...(await viewFaults(store, machines, common.speakers, settleMs)));
  const isDeclared = async (former?: ReadonlySet<string>) => {
    // What differs already is not waited for again.
    if (wrong.length === 0)
      wrong.push(...(await declarationFaults(machines, declarations, settleMs, former)));
    return wrong.length === 0;
  };
  if (await isDeclared())
    for await (const fault of faultsOfOverlaps(machines, declarations, settleMs)) wrong.push(fault);
  for await (const fault of faultsOfEarly(early)) wrong.push(fault);
  note("all is told");
  const judged = await readSharedLog(store);
  wrong.push(...faultsOf({ ...common, machines, log: judged }));
  wrong.push(...faultsOfToldDeclarations(judged, machines, declarations), ...declarations.wrong);
  const [, renamed, leaving] = machines;
  if (leaving !== undefined)
    for await (const fault of faultsOfLeaving(store, leaving, all(), settleMs)) wrong.push(fault);
  await isDeclared();
  const former = new Set(machines.map(({ node }) => node));
  if (renamed !== undefined)
    for await (const fault of faultsOfRejoining(store, renamed, all(), settleMs)) wrong.push(fault);
  for (const { node } of machines) former.delete(node);
  await isDeclared(former);
  for await (const fault of faultsOfFormerId(store, machines, all(), settleMs)) wrong.push(fault);
  await isDeclared();
  // It waits until the store has what each machine says.
  for (const machine of machines) await asked(machine, all(), { type: "store_share" });
  for (const speaker of all()) speaker.close();
  note("one has left and is back, and one has a new id");
  await Promise.all(machines.map(machine => machine.stop()));
  note("all have ended");
  const log = await readSharedLog(store);
  for (const machine of machines) wrong.push(...(await faultsOfMachine(machine, log)));
  wrong.push(...log.wrong);
  return { wrong, seen: new Map([...seenIn(history, notes, log), ...declarations.seen]), notes };
}

/** A declaration, an edit as the client's hooks tell of it, and a lock beside it: all go on whatever the store does. */
async function editsGoOn(agent: DeclaringAgent, { declarations }: Common): Promise<void> {
  const { speaker } = agent;
  const name = "probe.ts";
  const wills = new Map([[name, declarations.will(agent)]]);
  await agent.declare({ task: declarations.task(), wills });
  const file = `${speaker.machine.clone}/${name}`;
  const tool = {
    tool_name: "Edit",
    tool_use_id: "use-1",
    tool_input: { file_path: file, old_string: "a", new_string: "b" },
  };
  const steps = [
    () => speaker.hook({ ...tool, hook_event_name: "PreToolUse" }),
    () => speaker.hook({ ...tool, hook_event_name: "PostToolUse", tool_response: {} }),
    () => speaker.send({ type: "file_lock", id: speaker.id, file, waitMs: 0 }),
    () => speaker.send({ type: "file_unlock", id: speaker.id, file }),
  ];
  for (const [n, step] of steps.entries()) {
    let reply = await step();
    // Its daemon was killed: the lock may have gone with the connection's answer.
    for (let tries = 0; reply === null || reply["code"] === "restarting"; tries += 1) {
      if (tries > 1_000) throw new Error(`an edit was not answered: ${JSON.stringify(reply)}`);
      await delay(20);
      reply = await step();
    }
    const isDenied = String(reply["output"] ?? "").includes('"deny"');
    const isGone = n === 3 && reply["code"] === "not_held";
    if (isDenied || (reply["ok"] !== true && !isGone))
      throw new Error(`step ${n} of an edit did not go on: ${JSON.stringify(reply)}`);
  }
  agent.touch(name);
}

function seenIn(
  { operations }: History,
  notes: readonly string[],
  log: SharedLog,
): ReadonlyMap<string, number> {
  const seen = new Map<string, number>();
  const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
  for (const note of notes) count(note.replace(/^[\d.]+ s: /, "").replace(/ \d+$/, ""));
  for (const { request, reply, tries } of operations) {
    count(`${request["type"]} ${reply === null ? "unknown" : tries.at(-1)}`);
    for (const one of tries.slice(0, -1)) count(`a try ${one}`);
  }
  for (const { command } of log.entries) {
    count(`an entry ${command.type}`);
    if (command.type === "elapse") count(`an end ${command.due.what}`);
  }
  return seen;
}
