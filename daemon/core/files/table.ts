/**
 * Dirty files, settled files and merge risks with their indexes.
 *
 * Invariants: `makeRoom` drops the oldest write; git may bring back the work of a settled file, so it keeps its writers.
 */
import { type Actor, sameActor } from "../actor.ts";
import { Records, sets } from "../records.ts";
import { pairList, valueList } from "../rows.ts";
import type { Revisions } from "../sessions/revisions.ts";

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
