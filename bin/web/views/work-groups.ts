/** Files with uncommitted work by worktree and directory, what was written last first, and bounded. */
import type { WriteRow } from "../../../protocol/work.ts";
import { order } from "../../view/urgency.ts";

/** Files of a directory, and of a project, that are shown; the rest are counted. */
export const shownMax = { inDirectory: 12, inProject: 300 } as const;

/** A directory of a worktree. */
export interface Directory {
  /** From the top of the worktree, with `/` at its end; empty: the top. */
  readonly name: string;
  readonly files: readonly WriteRow[];
  /** Those that are not shown. */
  readonly left: readonly WriteRow[];
}

export interface Worktree {
  readonly path: string;
  readonly count: number;
  readonly directories: readonly Directory[];
  /** Files of directories that are not shown. */
  readonly left: readonly WriteRow[];
}

/** Returns the wall time of the latest write, in milliseconds; 0: unknown. */
export function writtenAtMs({ writers: [latest] }: WriteRow): number {
  return latest?.at ?? 0;
}

/** Returns the name of the file's directory. */
function directoryOf({ file }: WriteRow): string {
  return file.slice(0, file.lastIndexOf("/") + 1);
}

/** Returns the worktrees of a project's files, the one that was written to last first. */
export function worktreesOf(rows: readonly WriteRow[]): readonly Worktree[] {
  // The first of a group in this order is its latest.
  const latestFirst = [...rows].sort((a, b) => writtenAtMs(b) - writtenAtMs(a) || order(a.path, b.path));
  let room: number = shownMax.inProject;
  return [...groupsBy(latestFirst, row => row.worktree)].map(([path, own]) => {
    const directories: Directory[] = [];
    const left: WriteRow[] = [];
    for (const [name, inside] of groupsBy(own, directoryOf)) {
      const count = Math.min(shownMax.inDirectory, room);
      room -= Math.min(count, inside.length);
      if (count === 0) left.push(...inside);
      else directories.push({ name, files: inside.slice(0, count), left: inside.slice(count) });
    }
    return { path, count: own.length, directories, left };
  });
}

function groupsBy(
  rows: readonly WriteRow[],
  key: (row: WriteRow) => string,
): ReadonlyMap<string, readonly WriteRow[]> {
  const groups = new Map<string, WriteRow[]>();
  for (const row of rows) {
    const name = key(row);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [row]);
    else group.push(row);
  }
  return groups;
}
