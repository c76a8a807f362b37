/** The wire of health: in which state an agent is, and since when. */
import type { ActorRow } from "../lock.ts";

/**
 * `working`: a turn runs. `waiting`: on a person, a lock or the model's service. `idle`: no turn runs. `quiet`: a turn runs
 * and nothing is heard of it. `stalled`: it was quiet for long, or its turn failed and nothing came after. `stopped`: a
 * signal stopped its process. `dead`: its process is gone.
 */
export const healthStates = ["working", "waiting", "idle", "quiet", "stalled", "stopped", "dead"] as const;

export type HealthState = (typeof healthStates)[number];

/** What an agent waits on. */
export type WaitsOn = "person" | "lock" | "service";

/** An agent's state as a row shows it. */
export interface HealthRow {
  readonly state: HealthState;
  /** For how long it has been in it, in milliseconds; of `quiet` and `stalled`: since its last sign of life. */
  readonly forMs: number;
  /** Of `waiting`: on what. */
  readonly on?: WaitsOn;
  /** What it waits for, or why it counts as stalled; absent: nothing to say. */
  readonly why?: string;
}

/** The events of agents' health. */
export type HealthEvent =
  | {
      /** An agent gives no sign of life, or a signal has stopped its process. Sent once, without a cursor. */
      readonly event: "agent_stalled";
      readonly agent: ActorRow;
      readonly project: string;
      readonly state: "stalled" | "stopped";
      /** For how long, in milliseconds. */
      readonly forMs: number;
      /** Empty if there is nothing to say. */
      readonly why: string;
      /** The ids of the tasks that it has, at most 20, and how many locks. */
      readonly tasks: readonly string[];
      readonly locks: number;
      /** Commands that show the agent, and that give back what it has. */
      readonly todo: readonly string[];
    }
  /** A sign of life came after `agent_stalled`. Without a cursor. */
  | { readonly event: "agent_recovered"; readonly agent: ActorRow; readonly project: string };

export interface HealthColumn {
  /** The agent's state; absent if no event of it came since the daemon started, or its session is lost. */
  readonly health?: HealthRow;
}
