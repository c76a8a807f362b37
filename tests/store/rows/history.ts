/** One history: machines that share projects, sessions that work, faults, and a judgement at the end. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Random } from "../../simulation/random.ts";
import { type Built, buildProgram, type Change } from "../build.ts";
import { runChaos } from "./chaos.ts";
import type { Database } from "./database.ts";
import type { ProjectSettings } from "./exchange.ts";
import { faultsOf } from "./judge.ts";
import { Machine, type Skew } from "./machine.ts";
import { settle } from "./settled.ts";
import { Timeline } from "./timeline.ts";
import { type Common, comeAndGo, emptyCommon, History, Worker, watchValues } from "./workload.ts";

export interface HistoryOptions {
  readonly seed: number;
  readonly database: Database;
  /** The machines' program. */
  readonly program: string;
  /** How many requests each session makes. */
  readonly requests?: number;
  /** How long the store and all copies may take to agree at the end. */
  readonly settleMs?: number;
}

export interface Outcome {
  /** A sentence for each fault; empty: there is none. */
  readonly wrong: readonly string[];
  /** What happened: faults and answers, with their counts. */
  readonly seen: ReadonlyMap<string, number>;
  readonly notes: readonly string[];
}

const nodes = ["ash", "elm", "oak"];
const hourMs = 3_600_000;

/** Builds the program of a machine, with changes of its source. */
export function buildNode(changes: readonly Change[] = []): Promise<Built> {
  return buildProgram("tests/store/rows/node-program.ts", changes);
}

/** Makes a folder for what machines keep; the caller removes it. */
export function machineFolder(): {
  readonly path: string;
  readonly of: (node: string) => string;
  remove(): void;
} {
  const path = mkdtempSync(join(tmpdir(), "kite-rows-"));
  const of = (node: string) => {
    const folder = join(path, node);
    mkdirSync(folder, { recursive: true });
    return folder;
  };
  return { path, of, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 9 }) };
}

/** Runs a history to its end. Everything that it started has ended then. */
export async function runHistory(options: HistoryOptions): Promise<Outcome> {
  const { seed, database, program } = options;
  const random = new Random(seed);
  const folder = machineFolder();
  const machines: Machine[] = [];
  try {
    for (const node of nodes) {
      // The first machine's clock is right.
      const skew = machines.length === 0 || random.chance(0.4) ? {} : { skew: skewOf(random) };
      const projects = projectsOf(seed);
      machines.push(
        await Machine.start({ node, program, folder: folder.of(node), database, projects, ...skew }),
      );
    }
    return await played(random, machines, options);
  } finally {
    await Promise.all(machines.map(machine => machine.end()));
    folder.remove();
  }
}

/** A clock that is an hour off at most, and jumps by as much in the middle of the history. */
function skewOf(random: Random): Skew {
  const [ms, jumpMs] = [random.int(-hourMs, hourMs), random.int(-hourMs, hourMs)];
  return { ms, jumpMs, afterMs: random.int(1_000, 5_000) };
}

/** All machines have sessions of the same ids. Every third history has a second project. */
function projectsOf(seed: number): ProjectSettings[] {
  const session = (id: string) => ({ id, registeredAt: 1, agents: [], terminals: [0] });
  const first = { name: "team/app", sessions: [session("s1"), session("s2")] };
  return seed % 3 === 0 ? [first, { name: "team/site", sessions: [session("s1")] }] : [first];
}

async function played(
  random: Random,
  machines: readonly Machine[],
  { seed, database, requests = 35, settleMs = 20_000 }: HistoryOptions,
): Promise<Outcome> {
  const notes: string[] = [];
  const began = performance.now();
  const note = (what: string) =>
    void notes.push(`${((performance.now() - began) / 1000).toFixed(1)} s: ${what}`);
  await Promise.all(machines.map(machine => machine.reached()));
  const history = new History();
  const commons = projectsOf(seed).map(({ name }) => emptyCommon(history, name, machines));
  const workers = commons.flatMap(common => workersOf(common, random));
  let isOver = false;
  const chaos = runChaos(random.fork(), { machines, database, note }, () => isOver);
  const visits = Promise.all(
    commons.flatMap(common =>
      machines.flatMap(machine => [
        comeAndGo(machine, random.fork(), common, () => isOver),
        watchValues(machine, random.fork(), common, () => isOver),
      ]),
    ),
  );
  const working = Promise.all(workers.map(worker => worker.run(requests)));
  working.catch(() => {});
  visits.catch(() => {});
  await Promise.race([working, delay(requests * 2_000, null, { ref: false })]);
  isOver = true;
  await chaos;
  note("all is well");
  await Promise.all(machines.map(machine => machine.reached()));
  const ended = Promise.all([working, visits]).then(() => Promise.all(workers.map(worker => worker.drain())));
  const isHeard = await Promise.race([ended.then(() => true), delay(settleMs, false, { ref: false })]);
  history.isOver = true;
  await ended;
  const wrong = isHeard ? [] : [`a session heard nothing for ${settleMs} ms although all was well`];
  note("all is told");
  wrong.push(...history.wrong);
  for (const machine of machines) wrong.push(...faultsOfProcess(machine));
  let reloads = 0;
  for (const common of commons) {
    const settled = await settle({ project: common.project, database, machines, settleMs });
    reloads += settled.reloads;
    const asked = history.asked.filter(({ project }) => project === common.project);
    const { contents, steps } = settled;
    const read = history.read.filter(({ project }) => project === common.project);
    const timeline = new Timeline(steps, asked);
    const shown = history.shown.filter(({ text }) =>
      asked.some(({ operation }) => "text" in operation && operation.text === text),
    );
    wrong.push(...settled.wrong, ...faultsOf({ asked, shown, read, timeline, contents }));
  }
  for (const table of await database.tablesWith("/home/")) wrong.push(`${table} has a path of a machine`);
  return { wrong, seen: seenIn(history, notes, reloads), notes };
}

function workersOf(common: Common, random: Random): Worker[] {
  return common.machines.flatMap(machine =>
    machine.sessionsOf(common.project).map(({ id }) => new Worker(machine, id, random.fork(), common)),
  );
}

/** What a project says of a command that threw, and of a step for which no error of the store is the reason. */
const broke = /^a (?:[a-z]+_[a-z]+|look at sessions) of \S+ failed|(?:Assertion|Type|Range|Zod|Syntax)Error/;

/** A process neither ends by itself nor has a command that throws. */
function* faultsOfProcess({ node, ends, troubles }: Machine): Generator<string> {
  for (const end of ends)
    yield `the process of ${node} ended by itself: ${end}; ${troubles.slice(-3).join("; ")}`;
  const unkept = troubles.find(trouble => trouble.includes("cannot be kept"));
  if (unkept !== undefined) yield `a copy was not kept in ${node}: ${unkept}`;
  const threw = troubles.find(trouble => broke.test(trouble));
  if (threw !== undefined) yield `a command threw in ${node}: ${threw}`;
}

function seenIn(history: History, notes: readonly string[], reloads: number): ReadonlyMap<string, number> {
  const seen = new Map([["a copy read anew", reloads]]);
  const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
  for (const note of notes) count(note.replace(/^[\d.]+ s: /, "").replace(/ (?:ash|elm|oak)$/, ""));
  for (const { operation, tries, version } of history.asked) {
    const outcome = tries.at(-1) ?? "unknown";
    count(`${operation.what} ${outcome}`);
    for (const one of tries.slice(0, -1)) count(`a try ${one}`);
    if (tries.length > 1 && outcome === "ok" && version !== null) count("done although asked again");
  }
  for (const { isBack } of history.shown) count(isBack ? "a letter that came back" : "a letter");
  return seen;
}
