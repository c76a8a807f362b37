/** The rows of a client's table of events, from which its installed entries follow. What an event asks for is in the client's `rows.ts`. */
import { limits } from "../../protocol/limits.ts";

export interface EventRow<Name extends string = string> {
  readonly event: Name;
  /** The tools, as the client matches them; if left out, all. */
  readonly matcher?: string;
  /** How long the hook waits for the daemon, and the client for the hook; in milliseconds. */
  readonly budgetMs: number;
  readonly timeoutMs: number;
}

/** Returns the rows, with the events' names in their type: the adapter must have a plan for each. */
export function tableOf<const Name extends string>(
  ...rows: readonly EventRow<Name>[]
): readonly EventRow<Name>[] {
  return rows;
}

/** How long an event may take: a session's start, a turn, the end of a call, a write, and a write where Esc ends no hook. */
export const times = {
  start: { budgetMs: limits.hookStartBudgetMs, timeoutMs: limits.hookStartTimeoutMs },
  turn: { budgetMs: limits.hookTurnBudgetMs, timeoutMs: limits.hookTurnTimeoutMs },
  callEnd: { budgetMs: limits.hookObserverBudgetMs, timeoutMs: limits.hookObserverTimeoutMs },
  write: { budgetMs: limits.hookWriteBudgetMs, timeoutMs: limits.hookWriteTimeoutMs },
  shortWrite: { budgetMs: limits.hookShortWriteBudgetMs, timeoutMs: limits.hookShortWriteTimeoutMs },
} as const;
