/**
 * Goes on after entries of the log that are lost, for a salvage. What is left is applied as if nobody had proposed the lost
 * ones: handlers refuse what builds on them.
 *
 * Invariant: after a gap no number is given out that the lost entries, or later ones, may have given to something else. So
 * what later entries name is what they meant, or is unknown.
 */
import { limits } from "../../protocol/limits.ts";
import { ruleList } from "./slices.ts";
import type { State } from "./state.ts";
import type { Numbers } from "./tables/base-state.ts";
import type { Command } from "./tables/entries.ts";

/** Numbers that people type, of tasks and the like, that one entry gives out at most. */
const typedMax = limits.tasksPerRequestMax;
/** Numbers of other things. */
const numbersMax = 10_000;

export interface Gap {
  /** The last lost entry. */
  readonly until: number;
  /** The last entry of the log. */
  readonly lastSeq: number;
  /** The last numbers given out up to `until`, by counter, if later entries tell them. */
  readonly numbers: ReadonlyMap<string, number>;
}

/** The numbers that a command uses for what it makes. */
export interface NumbersMade {
  /** The kind of id that has them. */
  readonly kind: string;
  /** Its kind, or of tasks also their project. */
  readonly counter: string;
  readonly count: number;
  readonly wallMs: number;
}

const taskKind = "t";
const numbered: readonly Numbers<State>[] = ruleList.flatMap(rules =>
  "numbers" in rules ? [rules.numbers] : [],
);

/** The kinds of ids that have a number. */
export const numberedKinds: readonly string[] = [taskKind, ...numbered.map(({ kind }) => kind)];

/** Returns the numbers in ids of what the command makes, or null if it makes nothing whose id tells its time. */
export function numbersOf(command: Command): NumbersMade | null {
  if (command.type === "task_create") {
    const { project, tasks, wallMs } = command;
    return { kind: taskKind, counter: taskCounter(project), count: tasks.length, wallMs };
  }
  if (!("wallMs" in command)) return null;
  const { wallMs } = command;
  const made = numbered.map(({ kind, usedBy }) => ({ kind, counter: kind, count: usedBy(command), wallMs }));
  return made.find(({ count }) => count > 0) ?? null;
}

/** Makes the state ready for the entry after the gap. */
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
  for (const counter of new Set([...numbered.map(({ kind }) => kind), ...projects, ...numbers.keys()])) {
    const present = numberAt(state, counter);
    const known = numbers.get(counter) ?? 0;
    // A number below the present one was given out already, so it is none of what comes.
    setNumber(state, counter, known >= present ? known : present + entries * typedMax);
  }
  tasks.numbersFrom += entries * typedMax;
}

/** Uses up the numbers of a command that makes nothing after a gap: it made something before. */
export function passNumbers(state: State, command: Command): void {
  const made = numbersOf(command);
  if (made !== null) setNumber(state, made.counter, numberAt(state, made.counter) + made.count);
}

const taskPrefix = "tasks of ";

function taskCounter(project: string): string {
  return taskPrefix + project;
}

function numberAt(state: State, counter: string): number {
  const { tasks } = state;
  const other = numbered.find(({ kind }) => kind === counter);
  if (other !== undefined) return other.tableIn(state).count;
  return tasks.numbers.get(counter.slice(taskPrefix.length)) ?? tasks.numbersFrom;
}

function setNumber(state: State, counter: string, number: number): void {
  const other = numbered.find(({ kind }) => kind === counter);
  if (other !== undefined) other.tableIn(state).count = number;
  else state.tasks.numbers.set(counter.slice(taskPrefix.length), number);
}
