/** The log's commands for merges. */
import type { MergeReason } from "../../../../protocol/lead/merge.ts";
import type { Actor } from "../../actor.ts";
import type { Bound, Retry } from "../../origin.ts";

/** The process that merges: a name that it chose for itself, and the connection that its right ends with. */
export interface Runner {
  readonly name: string;
  readonly bound: Bound;
}

export interface NewMerge {
  readonly branch: string;
  /** `name`: it did one of the tasks, in a log that machines share, which was asked; `session`: as this machine calls it. */
  readonly author: (Pick<Actor, "session" | "agent"> & { readonly name?: string }) | null;
  readonly tasks: readonly string[];
  /** Branches of merges that are open for the same base; others do not count. */
  readonly after: readonly string[];
}

/** Queues branches, or none of them. */
export interface MergeQueue {
  /** Null: a person. */
  readonly by: Actor | null;
  readonly project: string;
  readonly base: string;
  readonly runner: Runner;
  readonly rebase: boolean;
  readonly checkOnly: boolean;
  readonly merges: readonly NewMerge[];
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** Gives the runner the base's next merge, if it is its turn. `drain`: although none of its own is left. */
export interface MergeTake {
  readonly by: Actor | null;
  readonly project: string;
  readonly base: string;
  readonly runner: Runner;
  readonly drain: boolean;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** Ties the runner's merges to another connection. */
export interface MergeAttach {
  readonly runner: Runner;
}

export type MergeOutcome =
  | { readonly is: "moving" | "merged" | "checked"; readonly commit: string }
  | { readonly is: "returned" | "cancelled"; readonly reason: MergeReason }
  | { readonly is: "queued" };

export interface MergeReport {
  readonly by: Actor | null;
  readonly runner: Runner;
  readonly merge: string;
  readonly run: number;
  readonly outcome: MergeOutcome;
  /** Of a merge that comes back: its author's tasks that a log which machines share is to give back, as far as it was known. */
  readonly shared?: readonly string[];
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** `merge`: an id or a part of one; null: all that `runner` has queued. */
export interface MergeCancel {
  readonly by: Actor | null;
  readonly merge: string | null;
  /** The project whose short names count; absent: whole ids alone. */
  readonly project?: string;
  readonly runner: string;
  readonly reason: MergeReason;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** The connection has closed: its merges wait for another runner. */
export interface MergeUnbind {
  readonly bound: Bound;
  readonly wallMs: number;
}

/** These commands by name. */
export interface MergeCommands {
  merge_queue: MergeQueue;
  merge_take: MergeTake;
  merge_attach: MergeAttach;
  merge_report: MergeReport;
  merge_cancel: MergeCancel;
  merge_unbind: MergeUnbind;
}

/** The timers of merges. */
export interface MergeDues {
  merge_runner_over: { readonly merge: string };
}
