/**
 * Dirty files, settled files and merge risks with their indexes.
 *
 * Invariants: `makeRoom` drops the oldest write; git may bring back the work of a settled file, so it keeps its writers.
 */

import type { Limits } from "../../../protocol/limits.ts";
import { type Actor, sameActor, type Written } from "../frame/actors.ts";
import { Records, sets } from "../frame/records.ts";
import { pairList, valueList } from "../frame/saved-rows.ts";
import type { Revisions } from "./sessions.ts";

/** A file with uncommitted work, as far as the daemon saw its writes. */
export interface DirtyFile {
  readonly key: string;
  readonly file: string;
  readonly worktree: string;
  readonly project: string;
  /** The writers, each actor once, the latest last. */
  readonly writers: readonly Writer[];
}

export interface Writer {
  readonly actor: Actor;
  /** The actor's name at the time of the write; its session may have ended since. */
  readonly name: string;
  readonly ancestors: readonly (string | null)[];
  readonly by: "edit" | "shell";
  /** Wall time in milliseconds. */
  readonly wallMs: number;
  /** The `seq` of the entry that recorded its latest write. */
  readonly seq: number;
}

/** Uncommitted work in one file of a repository in two of its worktrees. */
export interface MergeRisk {
  readonly project: string;
  readonly file: string;
  readonly sides: readonly [MergeSide, MergeSide];
  /** Sessions that received a notice of this risk. */
  readonly told: readonly string[];
}

export interface MergeSide {
  readonly worktree: string;
  readonly actor: Actor;
}

const sessionsOf = ({ writers }: DirtyFile) => writers.map(({ actor }) => actor.session);

export const dirtyRecords = new Records("files", (work: DirtyFile) => work.key, {
  /** Keys by the sessions of their writers, by the top of their worktree, and by project and path in the repository. */
  byWriter: sets(sessionsOf),
  byWorktree: sets(({ worktree }) => worktree),
  byFile: sets(({ project, file }) => fileKey(project, file)),
});
/** Files that git reported clean. */
export const settledRecords = new Records("settled", (work: DirtyFile) => work.key, {
  settledIn: sets(({ worktree }) => worktree),
  settledBy: sets(sessionsOf),
});
export const riskRecords = new Records("risks", (risk: MergeRisk) => riskKey(risk), {
  /** Keys by the sessions of their sides. */
  risksOf: sets(({ sides }) => sides.map(({ actor }) => actor.session)),
});

type DirtyFiles = ReturnType<typeof dirtyRecords.empty>;
type SettledFiles = ReturnType<typeof settledRecords.empty>;
/** Merge risks by `riskKey`, oldest first. */
export type Risks = ReturnType<typeof riskRecords.empty>;

/** Dirty files by key, in the order of their latest writes, and settled ones, the latest last. */
export interface Writes extends DirtyFiles, SettledFiles {
  /** `Sessions.revisions` */
  readonly revisions: Revisions;
}

export function noWrites(revisions: Revisions): Writes {
  return { ...dirtyRecords.empty(), ...settledRecords.empty(), revisions };
}

/** Returns the index key of one path in a repository. */
export function fileKey(project: string, file: string): string {
  return `${project}\n${file}`;
}

export function riskKey({ project, file, sides: [a, b] }: MergeRisk): string {
  return [fileKey(project, file), a.worktree, b.worktree].join("\n");
}

/** Adds a dirty file, or replaces the one of the same key. */
export function addWork(writes: Writes, work: DirtyFile): void {
  const before = writes.files.get(work.key);
  if (before !== undefined) noteChange(writes, before);
  settledRecords.drop(writes, work);
  dirtyRecords.put(writes, work);
  noteChange(writes, work);
}

export function removeWork(writes: Writes, work: DirtyFile): void {
  dirtyRecords.drop(writes, work);
  noteChange(writes, work);
}

/** Drops the dirty files whose latest writes are oldest while there are more than `max`. */
export function makeRoom(writes: Writes, max: number): void {
  for (const work of dirtyRecords.makeRoom(writes, max)) noteChange(writes, work);
}

function noteChange({ revisions }: Writes, { writers }: DirtyFile): void {
  for (const { actor } of writers) revisions.changed(actor.session);
}

/** Moves a session's work to the id under which its process goes on, what has settled too: git may bring it back. */
export function renameWriters(writes: Writes, from: string, to: string): void {
  const renamed = (work: DirtyFile): DirtyFile => {
    const writers = work.writers.map(w =>
      w.actor.session === from ? { ...w, actor: { ...w.actor, session: to, incarnation: 0 } } : w,
    );
    return { ...work, writers: onceEach(writers) };
  };
  for (const key of [...(writes.byWriter.get(from) ?? [])]) {
    const work = writes.files.get(key);
    if (work !== undefined) addWork(writes, renamed(work));
  }
  for (const key of [...(writes.settledBy.get(from) ?? [])]) {
    const work = writes.settled.get(key);
    if (work !== undefined) settledRecords.put(writes, renamed(work));
  }
}

/** Keeps the latest write of each actor, since a rename may have merged two incarnations into one actor. */
function onceEach(writers: readonly Writer[]): Writer[] {
  return writers.filter((w, i) => !writers.slice(i + 1).some(later => sameActor(later.actor, w.actor)));
}

export const writeRows = {
  lists: {
    writes: valueList((writes: Writes) => writes.files, addWork),
    settled: valueList(
      (writes: Writes) => writes.settled,
      (writes, work) => settledRecords.put(writes, work),
    ),
  },
};

export const riskRows = {
  lists: {
    risks: pairList(
      (risks: Risks["risks"]) => risks,
      (_risks, [, risk], state: Risks) => riskRecords.put(state, risk),
    ),
  },
};

export interface WriteNote {
  readonly files: readonly Written[];
  /** `edit`: a tool's hook reported the write. `shell`: the daemon detected it after a shell command. */
  readonly by: "edit" | "shell";
  /** Agents of the same session that the writer works for; null is the main agent. */
  readonly ancestors: readonly (string | null)[];
  readonly wallMs: number;
}

/** The actor's shell command ended; these files changed while it ran. */
interface WritesNoted {
  readonly actor: Actor;
  readonly noted: WriteNote;
}

/**
 * Git reports these files clean; `seq` is the latest write that the daemon knew when git ran. With `writers` the file still has
 * work of others: only what these wrote until then is committed.
 */
interface WritesSettled {
  readonly settled: readonly {
    readonly key: string;
    readonly seq: number;
    readonly writers?: readonly Actor[];
  }[];
}

/** The actor's git command made settled work in these files uncommitted again: it popped a stash or undid a commit. */
interface WorkReturned {
  readonly actor: Actor;
  readonly noted: WriteNote;
}

/**
 * The actor's git command committed other actors' uncommitted work, or removed it from the working tree. A file's
 * `seq` is the latest write that the daemon knew when the command began; it took no later write.
 */
interface WorkTaken {
  readonly actor: Actor;
  /** The actor's name for people. */
  readonly name: string;
  readonly ancestors: readonly (string | null)[];
  readonly how: "committed" | "discarded";
  /** The command in short form: `git commit -a`. */
  readonly command: string;
  /** The abbreviated id of the commit; null if there is none, or the daemon could not find it. */
  readonly commit: string | null;
  readonly files: readonly { readonly key: string; readonly seq: number }[];
}

/** An actor with the agents of its session that it works for. */
interface ActorInFamily {
  readonly actor: Actor;
  readonly ancestors: readonly (string | null)[];
}

/** Uncommitted work was wiped or overwritten, and Kite kept it: its writers and whoever did it are to hear of that. */
export interface WorkWiped {
  /** The wipe's name: `r-12`. */
  readonly wipe: string;
  readonly project: string;
  /** Null: no tool use explains it. */
  readonly doer:
    | (ActorInFamily & {
        /** The actor's name for people. */
        readonly name: string;
        /** The line did not name what it wiped: then its actor hears it of its own work, too. */
        readonly isUnaware: boolean;
      })
    | null;
  /** The command in short form: `git checkout`. */
  readonly command: string;
  /** At least one, at most `limits.rescueWipeFilesMax`. */
  readonly files: readonly WipedWork[];
  /** Files that the wipe has besides these, so that a restore of all brings back more. */
  readonly others: number;
}

/** A file that was wiped and that a version brings back. */
export interface WipedWork {
  /** Relative to the top of the worktree. */
  readonly file: string;
  /** Absolute. */
  readonly path: string;
  /** Lines that the file lost; null: not counted. */
  readonly lines: number | null;
  /** Whose work it was. */
  readonly writers: readonly ActorInFamily[];
}

/** These commands by name. */
export interface WriteCommands {
  writes_noted: WritesNoted;
  writes_settled: WritesSettled;
  work_returned: WorkReturned;
  work_taken: WorkTaken;
  work_wiped: WorkWiped;
}

// Who made the entries of the projects' stash lists, as far as Kite saw it. The worktrees of a project share one list.
//
// Invariants: an entry has one maker, the first that was noted. The latest noted entry is last. There are at most
// `limits.stashEntriesMax`, and the oldest is dropped first.

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
