/**
 * Who made the entries of the projects' stash lists, as far as Kite saw it. The worktrees of a project share one list.
 *
 * Invariants: an entry has one maker, the first that was noted; the latest noted entry is last; at most
 * `limits.stashEntriesMax`, of which the oldest is dropped first.
 */
import type { Limits } from "../../../protocol/limits.ts";
import type { Actor } from "../actor.ts";
import { Records } from "../records.ts";
import { valueList } from "../rows.ts";

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

export function stashKey({ project, commit }: Pick<StashEntry, "project" | "commit">): string {
  return `${project}\n${commit}`;
}

const stashRecords = new Records("entries", (entry: StashEntry) => stashKey(entry), {});

/** Entries by `stashKey`, the latest noted last. */
export interface Stashes extends ReturnType<typeof stashRecords.empty> {
  readonly limits: Limits;
}

export function noStashes(limits: Limits): Stashes {
  return { ...stashRecords.empty(), limits };
}

/** Adds the latest entry, and drops the oldest one if there are too many. */
export function addStash(stashes: Stashes, entry: StashEntry): void {
  stashRecords.put(stashes, entry);
  stashRecords.makeRoom(stashes, stashes.limits.stashEntriesMax);
}

/** Returns the known entries of a project's list, the latest noted first. */
export function stashesOf({ entries }: Stashes, project: string): StashEntry[] {
  return [...entries.values()].filter(entry => entry.project === project).reverse();
}

/** Moves a session's entries to the id under which its process goes on. */
export function renameStashes(stashes: Stashes, from: string, to: string): void {
  for (const entry of stashes.entries.values()) {
    if (entry.actor.session !== from) continue;
    stashRecords.put(stashes, { ...entry, actor: { ...entry.actor, session: to, incarnation: 0 } });
  }
}

/** Yields a sentence for each broken invariant. */
export function* checkStashes({
  stashes,
  seq,
}: {
  readonly stashes: Stashes;
  readonly seq: number;
}): Generator<string> {
  yield* stashRecords.check(stashes, "stash entries", stashes.limits.stashEntriesMax);
  let last = 0;
  for (const entry of stashes.entries.values()) {
    if (entry.seq < last || entry.seq > seq)
      yield `the stash entry ${entry.commit} stands in the wrong place`;
    last = entry.seq;
  }
}

export const stashRows = {
  lists: { stashes: valueList((stashes: Stashes) => stashes.entries, addStash) },
};
