/** What looks found of agents' health, beside their presence: a sign of life ends it. */
import type { Health } from "../../core/lead/health.ts";
import type { Pulse } from "../../sessions/presence.ts";

export interface Found {
  /** What the last look found. */
  readonly health: Health;
  /** When the agent was found quiet, if it has been quiet since; else null. */
  readonly quietAt: number | null;
}

/** As long as an agent's presence lives. */
const all = new WeakMap<Pulse, Found>();

/** Returns what the last look found, if no sign of life came after. */
export function foundOf(pulse: Pulse): Found | undefined {
  return all.get(pulse);
}

export function noteFound(pulse: Pulse, found: Found): void {
  all.set(pulse, found);
}

/** The agent gave a sign of life. */
export function forgetFound(pulse: Pulse): void {
  all.delete(pulse);
}
