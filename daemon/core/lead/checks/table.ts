/**
 * The latest results of the projects' checks.
 *
 * Invariants: one result per project, worktree and check; the latest recorded is last; at most
 * `limits.checkResultsMax`, of which the oldest is dropped first.
 */
import type { Limits } from "../../../../protocol/limits.ts";
import type { ActorRow } from "../../../../protocol/lock.ts";
import type { Actor } from "../../actor.ts";
import type { Retry } from "../../origin.ts";

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

/** The state's table of results. */
export interface CheckTable {
  readonly limits: Limits;
  /** By `resultKey`, the latest recorded last. */
  readonly results: Map<string, CheckResult>;
}

export function noChecks(limits: Limits): CheckTable {
  return { limits, results: new Map() };
}

export function resultKey({
  project,
  worktree,
  name,
}: Pick<CheckResult, "project" | "worktree" | "name">): string {
  return `${project}\n${worktree}\n${name}`;
}

/** Adds the latest result of its check, and drops the oldest result if there are too many. */
export function addResult({ results, limits }: CheckTable, result: CheckResult): void {
  const key = resultKey(result);
  results.delete(key);
  results.set(key, result);
  if (results.size <= limits.checkResultsMax) return;
  for (const oldest of results.keys()) {
    results.delete(oldest);
    return;
  }
}

/** Yields a sentence for each broken invariant. */
export function* checkResults({ results, limits }: CheckTable, seq: number): Generator<string> {
  if (results.size > limits.checkResultsMax) yield "more results of checks are kept than may be";
  let last = 0;
  for (const [key, result] of results) {
    if (key !== resultKey(result)) yield `the result of ${result.name} has the key of another one`;
    if (result.seq <= last || result.seq > seq)
      yield `the result of ${result.name} stands in the wrong place`;
    last = result.seq;
  }
}
