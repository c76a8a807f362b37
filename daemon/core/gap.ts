/**
 * Goes on behind entries of the log that are lost, for a salvage. What is left is applied as if nobody had proposed the
 * lost ones: handlers refuse what builds on them.
 *
 * Invariant: behind a gap no number is given out that the lost entries, or later ones, may have given to something else.
 * So what later entries name is what they meant, or is unknown.
 */
import { limits } from "../../protocol/limits.ts";
import type { Command } from "./commands.ts";
import type { State } from "./state.ts";

/** Numbers of tasks, debates, spawned agents and merges that one entry gives out at most: people type them. */
const typedMax = limits.tasksPerRequestMax;
/** Numbers of other things. */
const numbersMax = 10_000;

export interface Gap {
  /** The last lost entry. */
  readonly until: number;
  /** The last entry of the log. */
  readonly lastSeq: number;
  /** The last numbers given out up to `until`, by counter, where later entries tell them. */
  readonly numbers: ReadonlyMap<string, number>;
}

/** The numbers that a command uses for what it makes. */
export interface NumbersMade {
  /** The kind of id that has them; tasks count per project. */
  readonly kind: "t" | "d" | "a" | "mg";
  readonly counter: string;
  readonly count: number;
  readonly wallMs: number;
}

/** Returns the numbers in ids of what the command makes, or null if it makes nothing whose id tells its time. */
export function numbersOf(command: Command): NumbersMade | null {
  switch (command.type) {
    case "task_create": {
      const { project, tasks, wallMs } = command;
      return { kind: "t", counter: taskCounter(project), count: tasks.length, wallMs };
    }
    case "debate_open":
      return { kind: "d", counter: "debates", count: 1, wallMs: command.wallMs };
    case "spawn_create":
    case "spawn_replace":
      return { kind: "a", counter: "spawns", count: 1, wallMs: command.wallMs };
    case "merge_queue":
      return { kind: "mg", counter: "merges", count: command.merges.length, wallMs: command.wallMs };
    default:
      return null;
  }
}

/** Makes the state ready for the entry behind the gap. */
export function passGap(state: State, { until, lastSeq, numbers }: Gap): void {
  const { tasks, locks, context, messages, freezes, notes } = state;
  const entries = lastSeq - state.seq;
  state.seq = until;
  messages.count += entries;
  freezes.count += entries;
  notes.count += entries * numbersMax;
  locks.grants += entries * numbersMax;
  context.versions += entries * numbersMax;
  const projects = [...tasks.numbers.keys()].map(taskCounter);
  for (const counter of new Set(["debates", "spawns", "merges", ...projects, ...numbers.keys()])) {
    const present = numberAt(state, counter);
    const known = numbers.get(counter) ?? 0;
    // A number below the present one was given out already, so it is none of what comes.
    setNumber(state, counter, known >= present ? known : present + entries * typedMax);
  }
  tasks.numbersFrom += entries * typedMax;
}

/** Uses up the numbers of a command that makes nothing behind a gap: it made something before. */
export function passNumbers(state: State, command: Command): void {
  const made = numbersOf(command);
  if (made !== null) setNumber(state, made.counter, numberAt(state, made.counter) + made.count);
}

const taskPrefix = "tasks of ";

function taskCounter(project: string): string {
  return taskPrefix + project;
}

function numberAt({ debates, spawns, merges, tasks }: State, counter: string): number {
  if (counter === "debates") return debates.count;
  if (counter === "spawns") return spawns.count;
  if (counter === "merges") return merges.count;
  return tasks.numbers.get(counter.slice(taskPrefix.length)) ?? tasks.numbersFrom;
}

function setNumber({ debates, spawns, merges, tasks }: State, counter: string, number: number): void {
  if (counter === "debates") debates.count = number;
  else if (counter === "spawns") spawns.count = number;
  else if (counter === "merges") merges.count = number;
  else tasks.numbers.set(counter.slice(taskPrefix.length), number);
}
