/**
 * The merges and their indexes: the only file that adds, removes or changes them.
 *
 * Invariants: a merge is a value, which a change replaces. It moves between states as `moves` says. One merge of a base runs
 * at a time, and one that ended has no runner. A merge waits only for merges with smaller numbers, so no cycle can arise.
 * There are at most `limits.mergesMax`: the oldest that ended make room.
 */

import type { MergeReason, MergeRow, MergeState, MergeThere } from "../../../../protocol/lead/merge.ts";
import type { Limits } from "../../../../protocol/limits.ts";
import type { ActorRow } from "../../../../protocol/schemas/lock.ts";
import { type Actor, type Bound, boundKey, type Retry } from "../../frame/actors.ts";
import { assert } from "../../frame/collections.ts";
import { idIndexes, placeOf, Records, sets, sorted, unique } from "../../frame/records.ts";
import { numberHead, valueList } from "../../frame/saved-rows.ts";
import type { TaskReturn } from "../../tables/tasks.ts";

// The log's commands for merges.

/** The process that merges: a name that it chose for itself, and the connection that its right ends with. */
export interface Runner {
  readonly name: string;
  readonly bound: Bound;
}

export interface NewMerge {
  readonly branch: string;
  /** `name`: it did one of the tasks of a shared project, which was asked; `session`: as this machine calls it. */
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
interface MergeTake {
  readonly by: Actor | null;
  readonly project: string;
  readonly base: string;
  readonly runner: Runner;
  readonly drain: boolean;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** Ties the runner's merges to another connection. */
interface MergeAttach {
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
  /**
   * Of a merge that comes back, of a project that machines share: its author's tasks that are to be given back there, as far as
   * that was known. Absent: the project is not shared.
   */
  readonly shared?: readonly string[];
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** `merge`: an id or a part of one; null: all that `runner` has queued. */
interface MergeCancel {
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
interface MergeUnbind {
  readonly bound: Bound;
  readonly wallMs: number;
}

/** The shared project has the return of the tasks that the merge owed. */
interface MergeSettled {
  readonly merge: string;
}

/** These commands by name. */
export interface MergeCommands {
  merge_queue: MergeQueue;
  merge_take: MergeTake;
  merge_attach: MergeAttach;
  merge_report: MergeReport;
  merge_cancel: MergeCancel;
  merge_unbind: MergeUnbind;
  merge_settled: MergeSettled;
}

/** The timers of merges. */
export interface MergeDues {
  merge_runner_over: { readonly merge: string };
}

declare module "../../tables/entries.ts" {
  interface Commands extends MergeCommands {}
  interface Dues extends MergeDues {}
}

/** A merge, with the fields of its row. The number of a run is its fencing token: reports of earlier runs are refused. */
export interface Merge extends Omit<MergeRow, "attended" | "unread"> {
  /** Its number; an earlier merge has a smaller one. */
  readonly n: number;
  /** The process that will merge it, or does; null: the next one that asks. */
  readonly runner: Runner | null;
  /**
   * The message that says that it came back, and to whom it went; null: nobody was there to read one, or had room for it.
   * Absent: it did not come back, or who has to know it ran it.
   */
  readonly notice?: { readonly message: string; readonly to: ActorRow } | null;
  /** Its author's tasks are to be given back in the shared project, which has not confirmed that. */
  readonly owed?: Pick<TaskReturn, "cause" | "by" | "wallMs">;
}

/** The states that a merge may get from each state. `running` to `queued`: its runner is gone, or gave it back. */
export const moves: { readonly [S in MergeState]: readonly MergeState[] } = {
  queued: ["running", "cancelled"],
  running: ["queued", "merged", "checked", "returned", "cancelled"],
  merged: [],
  checked: [],
  returned: [],
  cancelled: [],
};

export const mergeRecords = new Records("all", (merge: Merge) => merge.id, {
  ...idIndexes,
  /** Ids of open merges by `baseKey`, in the order of their numbers: the queue. */
  open: sets(merge => (isOpen(merge) ? baseKey(merge) : null)),
  /** The running merge by `baseKey`. */
  running: unique(merge => (merge.state === "running" ? baseKey(merge) : null)),
  /** Ids of open merges by the name of their runner, and by its connection. */
  byRunner: sets(({ runner }) => runner?.name),
  byBound: sets(({ runner }) => runner && boundKey(runner.bound)),
  /** Ids of open merges that wait for a merge. */
  waitFor: sets(merge => (isOpen(merge) ? merge.after : null)),
  /** Ids of merges that came back, by the messages that say so. */
  byNotice: unique(({ notice }) => notice?.message),
  /** Sort keys of merges that ended. */
  ended: sorted(merge => (isOpen(merge) ? null : placeOf(merge))),
});

/** Merges by id, in the order of their numbers. */
export interface Merges extends ReturnType<typeof mergeRecords.empty> {
  readonly limits: Limits;
  /** The number of the last merge queued. */
  count: number;
}

function noMerges(limits: Limits): Merges {
  return { ...mergeRecords.empty(), limits, count: 0 };
}

export function baseKey({ project, base }: Pick<Merge, "project" | "base">): string {
  return `${project}\n${base}`;
}

export function isOpen({ state }: Pick<Merge, "state">): boolean {
  return moves[state].length > 0;
}

export function mergeOf(merges: Merges, id: string): Merge {
  const merge = merges.all.get(id);
  assert(merge !== undefined, () => `no merge ${id}`);
  return merge;
}

/** Returns the base's open merges, the first in the queue first. */
export function queueOf(merges: Merges, of: Pick<Merge, "project" | "base">): Merge[] {
  return [...(merges.open.get(baseKey(of)) ?? [])].map(id => mergeOf(merges, id));
}

/** Returns the merges of a set of ids in the order of their numbers. */
export function inOrder(merges: Merges, ids: Iterable<string> = []): Merge[] {
  return [...ids].map(id => mergeOf(merges, id)).sort((a, b) => a.n - b.n);
}

/** Adds a merge whose number is the highest. Drops the oldest ended ones that are too many. */
export function addMerge(merges: Merges, merge: Merge): void {
  mergeRecords.put(merges, merge);
  mergeRecords.makeRoom(merges, merges.limits.mergesMax, merges.ended);
}

/** Replaces a merge by what became of it. */
export function putMerge(merges: Merges, next: Merge): void {
  const before = mergeOf(merges, next.id);
  assert(
    next.state === before.state || moves[before.state].includes(next.state),
    () => `${next.id} goes from ${before.state} to ${next.state}`,
  );
  addMerge(merges, next);
}

/** In a copy of a shared project: what each machine told of its merges, by node. */
type MergesThere = Map<string, readonly MergeThere[]>;

export const mergeThereRows = {
  empty: (): MergesThere => new Map(),
  lists: {},
};

export const mergeRows = {
  empty: noMerges,
  head: numberHead("mergeCount", "count", true),
  lists: { merges: valueList((merges: Merges) => merges.all, addMerge) },
};
