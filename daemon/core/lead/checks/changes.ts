/**
 * What changed in a worktree since a check ran, and whose work that is. Pure.
 *
 * Invariant: a change counts as the work of others only if the state knows another writer of the file since the run, and
 * no writer of the agent's own lineage.
 */

import type { DirtyFile } from "../../base-state.ts";
import { type Lineage, sameLineage } from "../../sessions/kinship.ts";
import type { State } from "../../state.ts";

/** The state of a worktree, as far as two of them can be compared. */
export interface StateFiles {
  readonly commit: string | null;
  /** The files that differ from the commit, with mode and content. */
  readonly changed: ReadonlyMap<string, string>;
  /** A hash of what the working tree leaves out. */
  readonly absent: string;
}

/** By the path from the worktree's top: mode and content in each of two commits; `gone` if one has no such file. */
export type CommitDiff = ReadonlyMap<string, readonly [string, string]>;

/** Returns the files that differ between two states, in order; null if they differ in what they leave out. */
export function differingFiles(then: StateFiles, now: StateFiles, between: CommitDiff): string[] | null {
  if (then.absent !== now.absent) return null;
  const files = new Set([...then.changed.keys(), ...now.changed.keys(), ...between.keys()]);
  const differs = (file: string) => {
    const [before, after] = between.get(file) ?? [committed, committed];
    return (then.changed.get(file) ?? before) !== (now.changed.get(file) ?? after);
  };
  return [...files].filter(differs).sort();
}

/** The content of a file as both commits have it. */
const committed = "as committed";

/** A changed file, and who wrote it last. */
export interface OthersFile {
  readonly file: string;
  readonly by: string;
}

/** Changed files by whose work they are: the agent's own, that of others, of nobody that the state knows. */
export interface Changes {
  readonly own: readonly string[];
  readonly others: readonly OthersFile[];
  readonly unknown: readonly string[];
}

/** Sorts changed files of a worktree by who wrote them after the entry `seq`. */
export function changesBy(
  { writes }: Pick<State, "writes">,
  worktree: string,
  me: Lineage,
  files: readonly string[],
  seq: number,
): Changes {
  const works = worksOf(writes, worktree);
  const [own, unknown, others]: [string[], string[], OthersFile[]] = [[], [], []];
  for (const file of files) {
    const since = (works.get(file)?.writers ?? []).filter(writer => writer.seq > seq);
    const last = since.at(-1);
    if (last === undefined) unknown.push(file);
    else if (since.some(writer => sameLineage(me, writer))) own.push(file);
    else others.push({ file, by: last.name });
  }
  return { own, others, unknown };
}

/** Returns the files of a worktree that the agent or its lineage wrote, committed or not. */
export function writtenBy({ writes }: Pick<State, "writes">, worktree: string, me: Lineage): string[] {
  const isOwn = ({ writers }: DirtyFile) => writers.some(writer => sameLineage(me, writer));
  return [...worksOf(writes, worktree)].filter(([, work]) => isOwn(work)).map(([file]) => file);
}

/** Files of the worktree that are dirty, or were: by their paths from its top. */
function worksOf(
  { files, byWorktree, settled, settledIn }: State["writes"],
  worktree: string,
): ReadonlyMap<string, DirtyFile> {
  const works = new Map<string, DirtyFile>();
  for (const [keys, at] of [
    [settledIn, settled],
    [byWorktree, files],
  ] as const)
    for (const key of keys.get(worktree) ?? []) {
      const work = at.get(key);
      if (work !== undefined) works.set(work.file, work);
    }
  return works;
}
