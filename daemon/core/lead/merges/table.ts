/**
 * The merges and their indexes: the only file that adds, removes or changes them.
 *
 * Invariants: a merge is a value, which a change replaces; it moves between states as `moves` says; one merge of a base
 * runs at a time; one that ended has no runner; a merge waits only for merges with smaller numbers, so no cycle can
 * arise; there are at most `limits.mergesMax`, of which the oldest that ended make room.
 */

import type { MergeRow, MergeState } from "../../../../protocol/lead/merge.ts";
import type { Limits } from "../../../../protocol/limits.ts";
import type { ActorRow } from "../../../../protocol/lock.ts";
import { assert } from "../../assert.ts";
import { endOf, scopeOf } from "../../ids.ts";
import { boundKey } from "../../origin.ts";
import { addToSet, removeFromSet } from "../../sets.ts";
import { SortedKeys } from "../../sorted-keys.ts";
import type { Runner } from "./commands.ts";

export interface Merges {
  readonly limits: Limits;
  /** Merges by id, in the order of their numbers. */
  readonly all: Map<string, Merge>;
  /** The number of the last merge queued. */
  count: number;
  /** derived: see `IdIndex`; every key begins with its project, see `scopeOf`. */
  readonly ids: SortedKeys;
  readonly ends: SortedKeys;
  /** derived: ids of open merges by `baseKey`, in the order of their numbers: the queue. */
  readonly open: Map<string, Set<string>>;
  /** derived: the running merge by `baseKey`. */
  readonly running: Map<string, string>;
  /** derived: ids of open merges by the name of their runner, and by its connection. */
  readonly byRunner: Map<string, Set<string>>;
  readonly byBound: Map<string, Set<string>>;
  /** derived: ids of open merges that wait for a merge. */
  readonly waitFor: Map<string, Set<string>>;
  /** derived: ids of merges that came back, by the messages that say so. */
  readonly byNotice: Map<string, string>;
  /** derived: sort keys of merges that ended. */
  readonly ended: SortedKeys;
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

export function noMerges(limits: Limits): Merges {
  const [open, running, byRunner, byBound, waitFor] = [new Map(), new Map(), new Map(), new Map(), new Map()];
  const byNotice = new Map();
  const [ids, ends, ended] = [new SortedKeys(), new SortedKeys(), new SortedKeys()];
  return {
    limits,
    all: new Map(),
    count: 0,
    ids,
    ends,
    open,
    running,
    byRunner,
    byBound,
    waitFor,
    byNotice,
    ended,
  };
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
  merges.all.set(merge.id, merge);
  const scope = scopeOf(merge.project);
  merges.ids.add(scope + merge.id);
  merges.ends.add(scope + endOf(merge.id));
  if (isOpen(merge)) {
    addToSet(merges.open, baseKey(merge), merge.id);
    for (const id of merge.after) addToSet(merges.waitFor, id, merge.id);
  } else merges.ended.add(sortKeyOf(merge));
  addRunner(merges, merge);
  addNotice(merges, merge);
  makeRoom(merges);
}

/** Replaces a merge by what became of it. */
export function putMerge(merges: Merges, next: Merge): void {
  const before = mergeOf(merges, next.id);
  assert(
    next.state === before.state || moves[before.state].includes(next.state),
    () => `${next.id} goes from ${before.state} to ${next.state}`,
  );
  dropRunner(merges, before);
  merges.all.set(next.id, next);
  addRunner(merges, next);
  addNotice(merges, next);
  if (!isOpen(before) || isOpen(next)) return;
  removeFromSet(merges.open, baseKey(next), next.id);
  for (const id of next.after) removeFromSet(merges.waitFor, id, next.id);
  merges.ended.add(sortKeyOf(next));
  makeRoom(merges);
}

function addRunner(merges: Merges, merge: Merge): void {
  const { id, state, runner } = merge;
  if (state === "running") merges.running.set(baseKey(merge), id);
  if (runner === null) return;
  addToSet(merges.byRunner, runner.name, id);
  addToSet(merges.byBound, boundKey(runner.bound), id);
}

function addNotice(merges: Merges, { id, notice }: Merge): void {
  if (notice) merges.byNotice.set(notice.message, id);
}

function dropRunner(merges: Merges, merge: Merge): void {
  const { id, state, runner } = merge;
  if (state === "running") merges.running.delete(baseKey(merge));
  if (runner === null) return;
  removeFromSet(merges.byRunner, runner.name, id);
  removeFromSet(merges.byBound, boundKey(runner.bound), id);
}

function makeRoom(merges: Merges): void {
  while (merges.all.size > merges.limits.mergesMax && merges.ended.first !== undefined) {
    const key = merges.ended.first;
    const { id, project, notice } = mergeOf(merges, key.slice(key.indexOf(" ") + 1));
    if (notice) merges.byNotice.delete(notice.message);
    merges.ended.delete(key);
    merges.all.delete(id);
    merges.ids.delete(scopeOf(project) + id);
    merges.ends.delete(scopeOf(project) + endOf(id));
  }
}

function sortKeyOf({ n, id }: Merge): string {
  return `${n.toString(36).padStart(8, "0")} ${id}`;
}
