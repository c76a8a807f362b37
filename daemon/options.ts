/** What a daemon is started with, and what comes of it. */
import type { Logger } from "pino";
import type { HookAdapter } from "../hooks/seam/plan.ts";
import type { KitePaths } from "../protocol/paths.ts";
import type { Config } from "./config/config.ts";
import type { BudgetedFs } from "./facts/filesystem.ts";
import type { GitChild } from "./facts/git-process.ts";
import type { Journal } from "./journal/journal.ts";

export interface DaemonOptions {
  readonly paths: KitePaths;
  readonly version: string;
  readonly config: Pick<Config, "values" | "yieldFollows">;
  readonly adapter: HookAdapter | null;
  readonly log: Logger;
  /** A hook starts it: not where `kite down` was said, be it meanwhile. */
  readonly unlessDown?: boolean;
  /** Another log than the file's, for measurements. */
  readonly journal?: Journal;
  /** Another filesystem and another git than the machine's, for tests. */
  readonly outside?: BudgetedFs;
  readonly git?: GitChild;
}

export type Started =
  | { readonly is: "started"; readonly daemon: RunningDaemon }
  | { readonly is: "held" }
  | { readonly is: "refused"; readonly error: string };

export interface RunningDaemon {
  /** Resolves when everything is closed; with the error that ended it, if one did. */
  readonly done: Promise<Error | null>;
  stop(why: string): void;
}
