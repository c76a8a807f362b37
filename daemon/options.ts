/** The options of a daemon, and the result of starting one. */

import type { Logger } from "pino";
import type { HookAdapter } from "../hooks/seam/plan.ts";
import type { KitePaths } from "../protocol/paths.ts";
import type { UserConfig } from "./config/config.ts";
import type { Clock } from "./engine/clock.ts";
import type { Log } from "./engine/engine.ts";
import type { Facts } from "./facts/facts.ts";
import type { BudgetedFs } from "./facts/filesystem.ts";
import type { GitChild } from "./facts/git/process.ts";
import type { Journal } from "./journal/journal.ts";
import type { PresenceTable } from "./sessions/presence.ts";
import type { Recorder } from "./trail/trail.ts";

export interface DaemonOptions {
  readonly paths: KitePaths;
  readonly version: string;
  /** The user's settings; those of a `LiveConfig` change while the daemon runs. */
  readonly config: UserConfig;
  /**
   * One adapter a client. The first one takes events whose entry names no client. Without adapters the daemon takes no
   * hooks.
   */
  readonly adapters: readonly HookAdapter[];
  readonly log: Logger;
  /** For a hook that starts the daemon: does not start after `kite down`, even if that comes during the start. */
  readonly unlessDown?: boolean;
  /** A log in place of the file's, for measurements. */
  readonly journal?: Journal;
  /** A clock in place of the machine's, and the number of entries between two snapshots, for measurements. */
  readonly clock?: Clock;
  readonly snapshotEntries?: number;
  /** A filesystem and a git in place of the machine's, for tests. */
  readonly outside?: BudgetedFs;
  readonly git?: GitChild;
}

export type Started =
  | { readonly is: "started"; readonly daemon: RunningDaemon }
  | { readonly is: "held" }
  | { readonly is: "refused"; readonly error: string };

export interface RunningDaemon {
  /** Resolves when everything is closed: with the error that ended the daemon, or null. */
  readonly done: Promise<Error | null>;
  stop(why: string): void;
}

// The services that nearly every part of the daemon uses; interfaces with more of them extend this one.

export interface Services {
  /** This machine's name in the log. */
  readonly node: string;
  readonly engine: Log;
  readonly clock: Clock;
  readonly facts: Facts;
  readonly presence: PresenceTable;
  readonly recorder: Recorder;
}
