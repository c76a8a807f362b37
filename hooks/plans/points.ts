/** Where other parts of the adapter join in the rows of events. */

import type { ShellUses } from "../../protocol/guard.ts";
import type { HookAction, HookOutcome } from "../seam/slices.ts";
import type { Answer } from "./answers/answer.ts";
import type { Edit, Edits } from "./answers/lock.ts";
import type { Reader } from "./answers/reader.ts";
import type { Actor } from "./event.ts";

/** Asks before a step of an agent; `T` says what the step is. */
export interface Asking<T> {
  /** The name of its action: without an outcome of that, it has nothing to word. */
  readonly did: HookAction["do"];
  /** Null: the step needs no question. */
  asks(step: T, actor: Actor): HookAction | null;
  /** Words what came of that; `rest` words what comes after it, if the step happens. */
  answer(step: T, outcomes: readonly HookOutcome[], rest: () => Answer): Answer;
}

/** Who calls a task completed. */
export type Completion = Pick<Reader, "isTeammate"> & { readonly cwd: string | null };

/** What asks before each step. */
export interface Before {
  /** A write of a file; `isOwn`: it is one of the client's own files. */
  readonly write: readonly Asking<Edit & { readonly isOwn: boolean }>[];
  /** A patch writes several files at once. */
  readonly patch: readonly Asking<Edits>[];
  /** A shell line; `written`: the files in Kite's own directory that it writes, as far as its words tell. */
  readonly shell: readonly Asking<ShellUses & Reader & { readonly written: readonly string[] }>[];
  /** A shell line wipes or changes the files that it names; absolute paths. */
  readonly files: readonly Asking<Reader & { readonly files: readonly string[] }>[];
  /** The end of a turn. */
  readonly stop: readonly Asking<null>[];
  /** A task of the client's own list is called completed; `cwd` is null if the event names none. */
  readonly completion: readonly Asking<Completion>[];
}

/** Returns the actions that ask before a step. */
export function asksBefore<T>(all: readonly Asking<T>[], step: T, actor: Actor): readonly HookAction[] {
  return all.flatMap(one => one.asks(step, actor) ?? []);
}

/** Returns the answer of the first that holds the step back, else that of `rest` with what they add. */
export function answerAround<T>(
  all: readonly Asking<T>[],
  step: T,
  outcomes: readonly HookOutcome[],
  rest: () => Answer,
): Answer {
  let answer = rest;
  for (const one of all.toReversed()) {
    const inner = answer;
    for (const { did } of outcomes) if (did === one.did) answer = () => one.answer(step, outcomes, inner);
  }
  return answer();
}
