/** The wire of health: in which state an agent is, and since when. */

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
