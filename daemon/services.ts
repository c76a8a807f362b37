/** The services that nearly every part of the daemon uses; interfaces with more of them extend this one. */
import type { Clock } from "./engine/clock.ts";
import type { Log } from "./engine/engine.ts";
import type { Facts } from "./facts/facts.ts";
import type { PresenceTable } from "./sessions/presence.ts";
import type { Recorder } from "./trail/recorder.ts";

export interface Services {
  /** This machine's name in the log. */
  readonly node: string;
  readonly engine: Log;
  readonly clock: Clock;
  readonly facts: Facts;
  readonly presence: PresenceTable;
  readonly recorder: Recorder;
}
