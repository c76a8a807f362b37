/** What is not committed: of a project, an agent, a file or a directory. */
import { existsSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import type { WriteRow } from "../../protocol/work.ts";
import type { NamedAgent } from "../agent/named.ts";
import type { ProcessContext } from "../process-context.ts";
import type { Asker } from "../rescue/asker.ts";
import type { Commits } from "../rescue/committed.ts";
import { onDisk } from "../rescue/on-disk.ts";
import type { Texts } from "../rescue/texts.ts";
import { contentOf, versionsOf } from "../rescue/versions.ts";
import { scopeProject } from "../scope.ts";
import { rowsOf } from "../with-daemon.ts";
import { changedFiles } from "./changed-files.ts";
import { type Candidate, type Change, changesOf, differs, modeOf, repositoryAt } from "./changes.ts";
import { isOf, type Meant } from "./meant.ts";
import { type Moved, renamesOf } from "./renames.ts";

export interface Uncommitted {
  readonly changes: readonly Change[];
  /** Files that differ in the agent's worktrees, of which Kite saw nobody write anything. */
  readonly unseen: readonly string[];
  /** Files that cannot be compared, and what they are: `a link`. */
  readonly odd: readonly { readonly file: string; readonly what: string }[];
  /** Files beyond those that one diff shows. */
  readonly more: number;
}

export interface Wanted {
  readonly meant: Meant;
  /** Only what this agent changed; null: whoever did. */
  readonly by: NamedAgent | null;
  /** For git: no split by writer unless `by` asks for it, and no renames. */
  readonly patch: boolean;
}

interface Tools {
  readonly commits: Commits;
  readonly texts: Texts;
}

/** Files of one diff. */
const filesMax = 500;

/** Returns what differs from what is checked out. Throws `ProgramFailed`, and what the disk says. */
export async function uncommitted(
  world: Pick<ProcessContext, "cwd">,
  asker: Asker,
  tools: Tools,
  { meant, by, patch }: Wanted,
): Promise<Uncommitted> {
  const rows = await rowsOf(asker.client, "writes");
  const path = meant?.is === "path" ? meant.path : null;
  const worktrees = await worktreesFor(world, rows, meant, by);
  const changes: Change[] = [];
  const unseen: string[] = [];
  const odd: Uncommitted["odd"][number][] = [];
  let [left, more] = [filesMax, 0];
  for (const worktree of worktrees) {
    const own = rows.filter(row => row.worktree === worktree);
    const head = await tools.commits.head(worktree);
    const files = await filesIn(tools.commits, worktree, head, own, path);
    more += Math.max(0, files.length - left);
    const found: Candidate[] = [];
    for (const file of files.slice(0, left)) {
      const at = join(worktree, file);
      const disk = onDisk(at);
      if (disk.is === "odd") {
        if (disk.what !== "a directory") odd.push({ file, what: disk.what });
        continue;
      }
      const place = { worktree, file };
      const before = await tools.commits.content(head, place);
      const after = disk.is === "file" ? disk.content : null;
      const known = own.find(row => row.file === file)?.writers ?? [];
      const one = { ...place, path: at, was: null, before, after, mode: modeOf(disk), known };
      if (differs(one)) found.push(one);
    }
    left -= Math.min(left, files.length);
    for (const one of patch ? found : await renamed(asker, found)) {
      const parts = await changesOf(asker, tools, one, patch && by === null);
      changes.push(...parts.filter(({ writers }) => by === null || isPartOf(writers, by)));
      if (parts.every(({ writers }) => writers?.every(writer => writer === null) === true))
        unseen.push(one.file);
    }
  }
  return { changes, unseen: by === null ? [] : unseen, odd, more };
}

/** The worktrees that are looked at: of a path its own, else those in which somebody wrote, and the one of the caller. */
async function worktreesFor(
  world: Pick<ProcessContext, "cwd">,
  rows: readonly WriteRow[],
  meant: Meant,
  by: NamedAgent | null,
): Promise<readonly string[]> {
  if (meant?.is === "path") {
    const { worktree } = await repositoryAt(meant.path);
    const below = rows.filter(row => row.worktree.startsWith(`${meant.path}/`)).map(row => row.worktree);
    return [...new Set([worktree, ...below])];
  }
  if (by !== null && meant !== null) {
    const its = rows.filter(row => row.writers.some(one => isOf(one, by))).map(row => row.worktree);
    return [...new Set([...its, ...(meant.worktree === null ? [] : [meant.worktree])])].sort();
  }
  const project = await scopeProject(world, undefined, {});
  const own = rows.filter(row => project === null || row.project === project).map(row => row.worktree);
  const { worktree } = await repositoryAt(world.cwd);
  return [...new Set([worktree, ...own])].sort();
}

/** The files that may differ, also those that git does not list: what it ignores and somebody named. */
async function filesIn(
  commits: Commits,
  worktree: string,
  head: string | null,
  rows: readonly WriteRow[],
  path: string | null,
): Promise<readonly string[]> {
  const listed = (await changedFiles(commits, worktree, head)) ?? [];
  const all = [...new Set([...listed, ...rows.map(row => row.file)])].sort();
  if (path === null || path === worktree || worktree.startsWith(`${path}/`)) return all;
  const wanted = relative(worktree, path);
  const below = all.filter(file => file === wanted || file.startsWith(`${wanted}/`));
  const isFile = existsSync(path) && !statSync(path).isDirectory();
  return below.length > 0 || !isFile ? below : [wanted];
}

/** The files, with two that are one under another name as one: what is gone may have been edited before it was renamed. */
async function renamed(asker: Asker, found: readonly Candidate[]): Promise<readonly Candidate[]> {
  const gone: Moved[] = [];
  for (const { file, path, before, after, known } of found) {
    if (before === null || after !== null) continue;
    gone.push({ file, content: before });
    const [latest] = known.length === 0 ? [] : await versionsOf(asker, path);
    const content = latest === undefined ? null : await contentOf(latest);
    if (content !== null) gone.push({ file, content });
  }
  const come = found.flatMap(({ file, before, after }) =>
    before === null && after !== null ? [{ file, content: after }] : [],
  );
  const renames = renamesOf(gone, come);
  const olds = new Set(renames.values());
  return found.flatMap(one => {
    if (olds.has(one.file)) return [];
    const was = renames.get(one.file);
    const old = found.find(({ file }) => file === was);
    return old === undefined ? [one] : [{ ...one, was: old.file, before: old.before }];
  });
}

export function isPartOf(writers: Change["writers"], who: NamedAgent): boolean {
  return writers?.some(one => isOf(one, who)) === true;
}
