/** One history: machines that share a store, sessions that work, faults, and a judgement at the end. */
import { setTimeout as delay } from "node:timers/promises";
import { Random } from "../simulation/random.ts";
import { faultsOfEarly, sendEarly } from "./before-share.ts";
import { runFaults } from "./faults.ts";
import { faultsOf } from "./judge.ts";
import { asked, faultsOfLeaving, faultsOfRejoining } from "./leaving.ts";
import { Machine, type Skew, type Store } from "./machines.ts";
import { History, Speaker } from "./operations.ts";
import { faultsOfPassing } from "./passing.ts";
import { faultsOfMachine, settledFaults } from "./settled.ts";
import { readSharedLog, type SharedLog } from "./shared-log.ts";
import { viewFaults } from "./views.ts";
import { comeAndGo, emptyCommon, Worker } from "./workload.ts";

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
    return await played(random, store, machines, { faults, settleMs });
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
  { faults, settleMs }: Required<Pick<HistoryOptions, "faults" | "settleMs">>,
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
  await Promise.all(machines.map(machine => machine.share()));
  const probes = new Map(
    machines.map(one => [one, new Speaker(one, "probe", `probe-of-${one.index}`, history)]),
  );
  await store.keepAll();
  for (const [{ clone }, probe] of probes)
    await probe.ask({ type: "register", cwd: clone, name: probe.name });
  let isOver = false;
  const workers = machines.flatMap(machine =>
    Array.from({ length: workersEach }, (_, slot) => new Worker(machine, slot, random.fork(), common)),
  );
  const working = Promise.all([
    ...workers.map(worker => worker.run(() => isOver)),
    ...machines.map(machine => comeAndGo(machine, random.fork(), common, () => isOver)),
  ]);
  working.catch(() => {});
  const probe = async (machine: Machine) => {
    const speaker = probes.get(machine);
    if (speaker !== undefined) await editsGoOn(speaker);
  };
  await runFaults(random, { machines, store, probe, note }, faults);
  isOver = true;
  const isHeard = await Promise.race([working.then(() => true), delay(settleMs, false, { ref: false })]);
  history.isOver = true;
  await working;
  note("all is well");
  const wrong = isHeard ? [] : [`a session heard nothing for ${settleMs} ms although all was well`];
  for await (const fault of faultsOfPassing(store, machines, early, settleMs)) wrong.push(fault);
  wrong.push(...(await settledFaults(store, machines, [...common.speakers, ...probes.values()], settleMs)));
  wrong.push(...(await viewFaults(store, machines, common.speakers, settleMs)));
  for await (const fault of faultsOfEarly(early)) wrong.push(fault);
  note("all is told");
  wrong.push(...faultsOf({ ...common, machines, log: await readSharedLog(store) }));
  const [, renamed, leaving] = machines;
  const all = [...common.speakers, ...probes.values()];
  if (leaving !== undefined)
    for await (const fault of faultsOfLeaving(store, leaving, all, settleMs)) wrong.push(fault);
  if (renamed !== undefined)
    for await (const fault of faultsOfRejoining(store, renamed, all, settleMs)) wrong.push(fault);
  // It waits until the store has what each machine says.
  for (const machine of machines) await asked(machine, all, { type: "store_share" });
  for (const speaker of all) speaker.close();
  note("one has left and is back, and one has a new id");
  await Promise.all(machines.map(machine => machine.stop()));
  note("all have ended");
  const log = await readSharedLog(store);
  for (const machine of machines) wrong.push(...(await faultsOfMachine(machine, log)));
  wrong.push(...log.wrong);
  return { wrong, seen: seenIn(history, notes, log), notes };
}

/** An edit as the client's hooks tell of it, and a lock beside it: both go on whatever the store does. */
async function editsGoOn(speaker: Speaker): Promise<void> {
  const file = `${speaker.machine.clone}/probe.ts`;
  const event = {
    session_id: speaker.id,
    cwd: speaker.machine.clone,
    tool_name: "Edit",
    tool_use_id: "use-1",
  };
  const tool = { ...event, tool_input: { file_path: file, old_string: "a", new_string: "b" } };
  const steps = [
    { type: "hook", event: { ...tool, hook_event_name: "PreToolUse" } },
    { type: "hook", event: { ...tool, hook_event_name: "PostToolUse", tool_response: {} } },
    { type: "file_lock", id: speaker.id, file, waitMs: 0 },
    { type: "file_unlock", id: speaker.id, file },
  ];
  for (const step of steps) {
    let reply = await speaker.send(step);
    // Its daemon was killed: the lock may have gone with the connection's answer.
    for (let tries = 0; reply === null || reply["code"] === "restarting"; tries += 1) {
      if (tries > 1_000) throw new Error(`an edit was not answered: ${JSON.stringify(reply)}`);
      await delay(20);
      reply = await speaker.send(step);
    }
    const isDenied = String(reply["output"] ?? "").includes('"deny"');
    const isGone = step.type === "file_unlock" && reply["code"] === "not_held";
    if (isDenied || (reply["ok"] !== true && !isGone))
      throw new Error(`an edit did not go on: ${JSON.stringify(step)}: ${JSON.stringify(reply)}`);
  }
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
