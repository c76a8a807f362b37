/**
 * Where HEAD of the worktrees is in which several actors work, and whose the operation in progress there is.
 *
 * Invariants: a worktree has one row. The row of the latest look is last. There are at most `limits.headRowsMax`, and the oldest
 * is dropped first.
 */

import type { HeadPlace, OperationKind } from "../../../protocol/guard.ts";
import type { Limits } from "../../../protocol/limits.ts";
import type { Actor } from "../frame/actors.ts";
import { Records } from "../frame/records.ts";
import { valueList } from "../frame/saved-rows.ts";
import type { Whose } from "./messages.ts";

/** An operation in progress. Its session owns it, whichever of its agents began it. */
export interface Operation {
  readonly kind: OperationKind;
  /** Who began it; null: Kite did not see that. */
  readonly by: Actor | null;
  /** The actor's name at that time; its session may have ended since. */
  readonly name: string | null;
  /** When it was begun, or found, as wall time in milliseconds. */
  readonly wallMs: number;
}

/** The latest move of HEAD by an actor that Kite saw make it. */
export interface OwnMove {
  readonly by: Actor;
  readonly from: HeadPlace;
  readonly to: HeadPlace;
}

export interface HeadRow {
  /** The top of the worktree. */
  readonly worktree: string;
  /** Where HEAD was at the latest look; null: nobody looked since one actor was alone there. */
  readonly head: HeadPlace | null;
  readonly operation: Operation | null;
  /** Null: the latest move was another one's, or there was none. */
  readonly moved: OwnMove | null;
}

/** A look at HEAD of a worktree found something new. */
export interface HeadMoved {
  readonly row: HeadRow;
  /** The actors to tell of the move, without whoever made it. Empty: it is no move, or nobody else is there. */
  readonly tell: readonly Whose[];
  /** The name of whoever moved HEAD; null: not known. */
  readonly by: string | null;
}

export const headRecords = new Records("rows", (row: HeadRow) => row.worktree, {});

/** Rows by worktree, the latest looked at last. */
export interface Heads extends ReturnType<typeof headRecords.empty> {
  readonly limits: Limits;
}

export function noHeads(limits: Limits): Heads {
  return { ...headRecords.empty(), limits };
}

export function addHead(heads: Heads, row: HeadRow): void {
  headRecords.putLast(heads, row);
  headRecords.makeRoom(heads, heads.limits.headRowsMax);
}

/** Moves a session's operations and moves to the id under which its process goes on. */
export function renameHeads(heads: Heads, from: string, to: string): void {
  const renamed = <T extends { readonly by: Actor | null }>(one: T | null): T | null =>
    one?.by?.session === from ? { ...one, by: { ...one.by, session: to, incarnation: 0 } } : one;
  for (const row of heads.rows.values()) {
    const [operation, moved] = [renamed(row.operation), renamed(row.moved)];
    if (operation !== row.operation || moved !== row.moved)
      headRecords.put(heads, { ...row, operation, moved });
  }
}

/** Yields a sentence for each broken invariant. */
export function* checkHeads({ heads }: { readonly heads: Heads }): Generator<string> {
  yield* headRecords.check(heads, "heads", heads.limits.headRowsMax);
  for (const { worktree, head, operation } of heads.rows.values())
    if (head === null && operation === null) yield `the head of ${worktree} says nothing`;
}

export const headRows = {
  lists: { heads: valueList((heads: Heads) => heads.rows, addHead) },
};
