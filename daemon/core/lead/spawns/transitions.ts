/**
 * The states of a spawned agent.
 *
 * Invariants: `starting` is only the first state; a final state is left only by the agent's return, which its session
 * shows by beginning.
 */
import type { SpawnState } from "../../../../protocol/lead/spawn.ts";

/** The states that each state may change to. */
export const transitions: Readonly<Record<SpawnState, readonly SpawnState[]>> = {
  starting: ["running", "failed", "stopped"],
  running: ["waits_on_person", "idle", "done", "failed", "stopped"],
  waits_on_person: ["running", "idle", "done", "failed", "stopped"],
  idle: ["running", "waits_on_person", "done", "failed", "stopped"],
  done: ["idle"],
  // One that began late begins its first turn.
  failed: ["running", "idle"],
  stopped: ["idle"],
};

export function mayMove(from: SpawnState, to: SpawnState): boolean {
  return transitions[from].includes(to);
}

/** Whether the agent has ended, as far as is known. */
export function isFinal(state: SpawnState): boolean {
  return state === "done" || state === "failed" || state === "stopped";
}
