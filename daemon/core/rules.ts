/** What a slice brings above the state: its rules. Invariant: a handler checks first and changes after. */
import type { BaseState } from "./base-state.ts";
import type { Command, CommandOf, CommandType, Due, DueName, DueOf } from "./commands.ts";
import type { Durability } from "./durability.ts";
import type { Origin } from "./origin.ts";
import type { Step } from "./outcome.ts";
import type { Points } from "./points.ts";

/** An entry's place in the log, and the origin that its answer goes to. */
export interface Meta {
  readonly seq: number;
  readonly origin: Origin;
}

/** Changes the state by one command. A refusal goes into `step.reply`; only a bug throws. `S`: the tables that it needs. */
export type Handler<T extends CommandType, S extends BaseState = BaseState> = (
  state: S,
  command: CommandOf<T>,
  meta: Meta,
  step: Step,
) => void;

/** One handler per command, with its durability; a missing one does not compile. */
export type CommandRules<T extends CommandType, S extends BaseState = BaseState> = {
  readonly [K in T]: Durability & { readonly apply: Handler<K, S> };
};

interface TimerRule<D, S> {
  /** Returns when it is due in this state (core time, ms), or null if it no longer applies. */
  at(state: S, due: D): number | null;
  /** Does what is due. */
  over(state: S, due: D, step: Step): void;
}

/** One rule per timer; a missing one does not compile. */
export type TimerRules<W extends DueName, S extends BaseState = BaseState> = {
  readonly [K in W]: TimerRule<DueOf<K>, S>;
};

/** Makes the rule of a timer that is about one row of a table: how to find it, when it is due, and what is done then. */
export function timer<D, S, R>(
  find: (state: S, due: D) => R | undefined,
  at: (row: R, state: S) => number | null,
  over: (state: S, row: R, step: Step) => void,
): TimerRule<D, S> {
  return {
    at(state, due) {
      const row = find(state, due);
      return row === undefined ? null : at(row, state);
    },
    over(state, due, step) {
      const row = find(state, due);
      if (row !== undefined) over(state, row, step);
    },
  };
}

/** The numbers of what a slice makes: its ids are `kind-TIME-NUMBER`, with the time of the request. */
export interface Numbers<S> {
  readonly kind: string;
  /** Returns the table, whose `count` is the last number. */
  tableIn(state: S): { count: number };
  /** Returns how many numbers the command uses. */
  usedBy(command: Command): number;
}

/** The rules of a slice with these commands. */
export interface Rules<C, S extends BaseState = BaseState> {
  readonly commands: CommandRules<keyof C & CommandType, S>;
  /** Those that nodes enter into a log that they share; all others belong to the machine whose files they are about. */
  readonly shared?: readonly (keyof C & CommandType)[];
  readonly points?: Points<S>;
  readonly numbers?: Numbers<S>;
}

/** The rules of a slice that also has timers. */
export interface TimedRules<C, D, S extends BaseState = BaseState> extends Rules<C, S> {
  readonly timers: TimerRules<keyof D & DueName, S>;
  /** Yields all timers that its part of the state has, for a start from a snapshot. */
  dues(state: S): Iterable<Due>;
}

type Joined<T> = (T extends unknown ? (one: T) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** Returns all rows of these tables in one; of two rows of a name the later counts. */
export function joined<T extends object>(tables: readonly T[]): Joined<T> {
  return Object.assign({}, ...tables);
}
