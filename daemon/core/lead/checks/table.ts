/**
 * The latest results of the projects' checks.
 *
 * Invariants: one result per project, worktree and check; the latest recorded is last; at most
 * `limits.checkResultsMax`, of which the oldest is dropped first.
 */
import type { Limits } from "../../../../protocol/limits.ts";
import type { ActorRow } from "../../../../protocol/schemas/lock.ts";
import type { Actor } from "../../actor.ts";
import type { Retry } from "../../origin.ts";
import { Records } from "../../records.ts";
import { valueList } from "../../rows.ts";

/** The state of a worktree: its commit, and a hash of what differs from it. */
export interface Revision {
  /** The id of the commit; null before the first one. */
  readonly commit: string | null;
  /** The hash of all files that differ from the commit, with their content. */
  readonly dirty: string;
}

/** What one run of a check came to. */
export interface CheckResult extends Revision {
  readonly project: string;
  /** The top of the worktree that it ran in. */
  readonly worktree: string;
  readonly name: string;
  /** The hash of the command's text. */
  readonly command: string;
  /** The exit code; 0 is green. */
  readonly exit: number;
  /** The run's duration in milliseconds. */
  readonly ranMs: number;
  /** The number of files that differ from the commit. */
  readonly files: number;
  /** The actor that ran it; null: a person. */
  readonly by: ActorRow | null;
  /** Wall time in milliseconds. */
  readonly at: number;
  /** The `seq` of the entry that recorded it. */
  readonly seq: number;
}

/** A check ran to its end, and the worktree had the same state before and after. */
export interface CheckRecord extends Omit<CheckResult, "by" | "at" | "seq"> {
  /** Null: a person ran it. */
  readonly actor: Actor | null;
  readonly wallMs: number;
  readonly retry?: Retry;
}

export function resultKey({
  project,
  worktree,
  name,
}: Pick<CheckResult, "project" | "worktree" | "name">): string {
  return `${project}\n${worktree}\n${name}`;
}

const checkRecords = new Records("results", (result: CheckResult) => resultKey(result), {});

/** Results by `resultKey`, the latest recorded last. */
export interface CheckTable extends ReturnType<typeof checkRecords.empty> {
  readonly limits: Limits;
}

function noChecks(limits: Limits): CheckTable {
  return { ...checkRecords.empty(), limits };
}

/** Adds the latest result of its check, and drops the oldest result if there are too many. */
export function addResult(checks: CheckTable, result: CheckResult): void {
  checkRecords.putLast(checks, result);
  checkRecords.makeRoom(checks, checks.limits.checkResultsMax);
}

/** Yields a sentence for each broken invariant. */
export function* checkResults({
  checks,
  seq,
}: {
  readonly checks: CheckTable;
  readonly seq: number;
}): Generator<string> {
  yield* checkRecords.check(checks, "results of checks", checks.limits.checkResultsMax);
  let last = 0;
  for (const result of checks.results.values()) {
    if (result.seq <= last || result.seq > seq)
      yield `the result of ${result.name} stands in the wrong place`;
    last = result.seq;
  }
}

export const checkRows = {
  empty: noChecks,
  lists: { checks: valueList((checks: CheckTable) => checks.results, addResult) },
};
