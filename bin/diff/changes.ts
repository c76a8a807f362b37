/** What a file was and is, and what of the difference each writer made. */
import { existsSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { VersionRow } from "../../protocol/schemas/rescue.ts";
import type { WriterRow } from "../../protocol/work.ts";
import { findRepository } from "../project.ts";
import type { Asker } from "../rescue/asker.ts";
import type { Commits, CommittedFile } from "../rescue/committed.ts";
import type { OnDisk } from "../rescue/on-disk.ts";
import { isBinary, type Texts } from "../rescue/texts.ts";
import { contentOf, uncommittedOf, versionsOf } from "../rescue/versions.ts";
import { type Part, partsOf, type Written } from "./by-writer.ts";

/** A difference of one file. */
export interface Change {
  /** The path from the top of the worktree. */
  readonly file: string;
  readonly path: string;
  readonly worktree: string;
  /** The file that it was, if it has another name now; else null. */
  readonly was: string | null;
  readonly mode: number;
  /** Null: there was no file. */
  readonly before: Buffer | null;
  /** Null: there is no file any more. */
  readonly after: Buffer | null;
  /** Who made it; null: nobody asked. */
  readonly writers: Part["writers"] | null;
  /** It is all that differs: Kite keeps no versions of the file, by which it could tell the writers' lines apart. */
  readonly isWhole: boolean;
}

/** A file that may differ from its commit. */
export interface Candidate extends CommittedFile {
  readonly path: string;
  readonly was: string | null;
  readonly before: Buffer | null;
  readonly after: Buffer | null;
  readonly mode: number;
  /** Who wrote it as the daemon knows, the latest first. */
  readonly known: readonly WriterRow[];
}

/** Whether what has these contents differs. */
export function differs({ before, after }: Pick<Change, "before" | "after">): boolean {
  return before === null || after === null ? before !== after : !before.equals(after);
}

/** Returns the parts of a file that differs, by writer; as one with `isOne`. Throws `ProgramFailed`. */
export async function changesOf(
  asker: Asker,
  { commits, texts }: { readonly commits: Commits; readonly texts: Texts },
  one: Candidate,
  isOne: boolean,
): Promise<readonly Change[]> {
  const { worktree, was, before, after, known } = one;
  const { known: _, ...place } = one;
  const all = { ...place, isWhole: false };
  if (isOne) return [{ ...all, writers: null }];
  const names = was === null ? [one.file] : [was, one.file];
  const versions: VersionRow[] = [];
  for (const file of names) {
    const rows = await versionsOf(asker, join(worktree, file));
    versions.push(...(await uncommittedOf(commits, { worktree, file }, rows)).versions);
  }
  versions.sort((a, b) => numberOf(a) - numberOf(b));
  const [latest] = known;
  // Who removed a file wrote it last: no version has that.
  if (after === null && latest?.by === "shell") return [{ ...all, writers: [latest] }];
  if (versions.length === 0) return [{ ...all, writers: known.length === 0 ? [null] : known, isWhole: true }];
  const [base, now] = [before ?? Buffer.alloc(0), after ?? Buffer.alloc(0)];
  const last = versions.at(-1);
  if (isBinary(base) || isBinary(now)) return [{ ...all, writers: [last?.by ?? null] }];
  const states: Written[] = [];
  for (const row of versions) {
    const content = await contentOf(row);
    if (content !== null && !isBinary(content)) states.push({ by: row.by, content });
  }
  if (states.at(-1)?.content.equals(now) !== true) states.push({ by: null, content: now });
  const parts = await partsOf((from, to) => texts.hunks(from, to), base, states);
  // An empty file, or one that was only renamed, has no lines that anybody wrote.
  if (parts.length === 0) return [{ ...all, writers: [last?.by ?? null] }];
  const isGone = after === null && parts.length === 1;
  return parts.map(({ writers, content }) => ({ ...all, writers, after: isGone ? null : content }));
}

/** Returns the number of a version: a later one is higher. */
export function numberOf({ version }: VersionRow): number {
  return Number(version.slice("v-".length));
}

/** Returns where a file is: as a version of it says, else as git does. */
export async function placeOf(path: string, [row]: readonly VersionRow[]): Promise<CommittedFile> {
  if (row !== undefined) return { worktree: row.worktree, file: row.file };
  return repositoryAt(path);
}

/** Returns where the place of this path is; what does not exist any more is where its directory is. */
export async function repositoryAt(path: string): Promise<CommittedFile> {
  let there = path;
  while (!existsSync(there) || !statSync(there).isDirectory()) there = dirname(there);
  const found = await findRepository(there);
  const worktree = "unreachable" in found || found.gitDir === null ? there : found.worktree;
  return { worktree, file: relative(worktree, path) };
}

export function modeOf(disk: OnDisk): number {
  return disk.is === "file" ? disk.mode : 0o644;
}
