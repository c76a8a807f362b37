/** The rows of a client's table of events, from which its adapter and its installed entries follow. */
import { limits } from "../../protocol/limits.ts";
import type { Row } from "./plan-parts.ts";

export interface EventRow {
  readonly event: string;
  readonly row: Row;
  /** The tools, as the client matches them; if left out, all. */
  readonly matcher?: string;
  /** How long the hook waits for the daemon, and the client for the hook; in milliseconds. */
  readonly budgetMs: number;
  readonly timeoutMs: number;
}

/** How long an event may take: a session's start, a turn, the end of a call, a write, and a write where Esc ends no hook. */
export const times = {
  start: { budgetMs: limits.hookStartBudgetMs, timeoutMs: limits.hookStartTimeoutMs },
  turn: { budgetMs: limits.hookTurnBudgetMs, timeoutMs: limits.hookTurnTimeoutMs },
  callEnd: { budgetMs: limits.hookObserverBudgetMs, timeoutMs: limits.hookObserverTimeoutMs },
  write: { budgetMs: limits.hookWriteBudgetMs, timeoutMs: limits.hookWriteTimeoutMs },
  shortWrite: { budgetMs: limits.hookShortWriteBudgetMs, timeoutMs: limits.hookShortWriteTimeoutMs },
} as const;
