/**
 * Who made the entries of the projects' stash lists, as far as Kite saw it. The worktrees of a project share one list.
 *
 * Invariants: an entry has one maker, the first that was noted; the latest noted entry is last; at most
 * `limits.stashEntriesMax`, of which the oldest is dropped first.
 */
import type { Limits } from "../../../protocol/limits.ts";
import type { Actor } from "../actor.ts";
import { dropOldest } from "../oldest.ts";

/** An entry of a stash list, with its maker. */
export interface StashEntry {
  readonly project: string;
  /** The id of the commit that `refs/stash` pointed to when it was made. */
  readonly commit: string;
  readonly actor: Actor;
  /** The actor's name at that time; its session may have ended since. */
  readonly name: string;
  /** Wall time in milliseconds. */
  readonly wallMs: number;
  /** The `seq` of the entry of the log that noted it. */
  readonly seq: number;
}

/** A stash list changed: while a shell line of the actor ran, or unseen before that. */
export interface StashesNoted {
  readonly actor: Actor;
  readonly project: string;
  /** Commits of the entries that the actor's line made. */
  readonly made: readonly string[];
  /** Commits of entries that are not in the list any more. */
  readonly gone: readonly string[];
  /** The command of the line that took the entries that are gone, in short form; null: Kite did not see what took them. */
  readonly takenBy: string | null;
  readonly wallMs: number;
}

/** The state's table of makers. */
export interface Stashes {
  readonly limits: Limits;
  /** By `stashKey`, the latest noted last. */
  readonly entries: Map<string, StashEntry>;
}

export function noStashes(limits: Limits): Stashes {
  return { limits, entries: new Map() };
}

export function stashKey({ project, commit }: Pick<StashEntry, "project" | "commit">): string {
  return `${project}\n${commit}`;
}

/** Adds the latest entry, and drops the oldest one if there are too many. */
export function addStash({ entries, limits }: Stashes, entry: StashEntry): void {
  entries.set(stashKey(entry), entry);
  dropOldest(entries, limits.stashEntriesMax, key => entries.delete(key));
}

/** Returns the known entries of a project's list, the latest noted first. */
export function stashesOf({ entries }: Stashes, project: string): StashEntry[] {
  return [...entries.values()].filter(entry => entry.project === project).reverse();
}

/** Moves a session's entries to the id under which its process goes on. */
export function renameStashes({ entries }: Stashes, from: string, to: string): void {
  for (const [key, entry] of entries) {
    if (entry.actor.session !== from) continue;
    // Setting an existing key keeps its order in the map.
    entries.set(key, { ...entry, actor: { ...entry.actor, session: to, incarnation: 0 } });
  }
}

/** Yields a sentence for each broken invariant. */
export function* checkStashes({ entries, limits }: Stashes, seq: number): Generator<string> {
  if (entries.size > limits.stashEntriesMax) yield "more stash entries are remembered than may be";
  let last = 0;
  for (const [key, entry] of entries) {
    if (key !== stashKey(entry)) yield `the stash entry ${entry.commit} has the key of another one`;
    if (entry.seq < last || entry.seq > seq)
      yield `the stash entry ${entry.commit} stands in the wrong place`;
    last = entry.seq;
  }
}
