/** What a file was and is, and what of the difference each writer made. */

import { existsSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { ActorRow } from "../../protocol/schemas/lock.ts";
import type { VersionRow } from "../../protocol/schemas/rescue.ts";
import type { WriterRow } from "../../protocol/work.ts";
import { findRepository } from "../context/project.ts";
import { contentOf as bytesOf, type Hunk, isBinary, linesOf, type Texts } from "../rescue/texts.ts";
import {
  type Asker,
  type Commits,
  type CommittedFile,
  contentOf,
  type OnDisk,
  uncommittedOf,
  versionsOf,
} from "../rescue/versions.ts";

// Splits what is not committed of a file by who wrote it.

/** A state of the file, and who made it; null: nobody that Kite knows. */
export interface Written {
  readonly by: Pick<ActorRow, "id" | "agent" | "name"> | null;
  readonly content: Buffer;
}

/** A part of the changes: what these writers changed, and nobody else in the same lines. */
interface Part {
  readonly writers: readonly Written["by"][];
  /** What the commit has, with this part's changes alone. */
  readonly content: Buffer;
}

interface Line {
  readonly text: string;
  /** Which line of the commit it is, or who wrote it. */
  readonly from: number | string;
}

/** A place where the file differs from the commit. */
interface Place {
  readonly start: number;
  readonly removed: number;
  readonly lines: readonly string[];
  readonly writers: ReadonlySet<string>;
}

/**
 * Returns the parts, in the order in which they begin. `states` are the file's contents since the commit, the first one first, the
 * last one as it is now.
 */
export async function partsOf(
  hunks: (before: Buffer, after: Buffer) => Promise<readonly Hunk[]>,
  committed: Buffer,
  states: readonly Written[],
): Promise<readonly Part[]> {
  const base = linesOf(committed);
  const writers = new Map<string, Written["by"]>();
  /** Who removed each line of the commit. */
  const removers = new Map<number, string>();
  let lines: readonly Line[] = base.map((text, from) => ({ text, from }));
  let before = committed;
  const known: { readonly content: Buffer; readonly lines: readonly Line[] }[] = [{ content: before, lines }];
  for (const { by, content } of states) {
    const key = by === null ? "" : `${by.id}\n${by.agent ?? ""}`;
    writers.set(key, by);
    const same = known.find(one => one.content.equals(content));
    if (same !== undefined) {
      // Who brings a content back did not write its lines.
      lines = same.lines;
      before = content;
      continue;
    }
    const after = linesOf(content);
    const next: Line[] = [];
    let at = 0;
    for (const hunk of await hunks(before, content)) {
      next.push(...lines.slice(at, hunk.before.start));
      at = hunk.before.start + hunk.before.lines;
      for (const { from } of lines.slice(hunk.before.start, at))
        if (typeof from === "number") removers.set(from, key);
      const { start, lines: count } = hunk.after;
      for (const text of after.slice(start, start + count)) next.push({ text, from: key });
    }
    lines = [...next, ...lines.slice(at)];
    before = content;
    known.push({ content, lines });
  }
  const places = placesOf(base, lines, removers);
  const groups = new Map<string, Place[]>();
  for (const place of places) {
    const key = [...place.writers].sort().join("\0");
    groups.set(key, [...(groups.get(key) ?? []), place]);
  }
  return [...groups.values()].map(own => ({
    writers: [...(own[0]?.writers ?? [])].map(key => writers.get(key) ?? null),
    content: withPlaces(base, own),
  }));
}

function placesOf(
  base: readonly string[],
  lines: readonly Line[],
  removers: ReadonlyMap<number, string>,
): Place[] {
  const places: Place[] = [];
  let at = 0;
  let fresh: { readonly text: string; readonly by: string }[] = [];
  const end = (next: number) => {
    const start = at;
    const removed = next - start;
    const isUnchanged = removed === fresh.length && fresh.every(({ text }, i) => text === base[start + i]);
    if (!isUnchanged) {
      const gone = Array.from({ length: removed }, (_, i) => removers.get(start + i) ?? "");
      const all = new Set([...gone, ...fresh.map(({ by }) => by)]);
      // Lines that were only added lie beside each other, whoever added them.
      const groups = removed === 0 ? [...all].map(by => new Set([by])) : [all];
      for (const writers of groups)
        places.push({
          ...{ start, removed, writers },
          lines: fresh.flatMap(({ text, by }) => (writers.has(by) ? [text] : [])),
        });
    }
    fresh = [];
  };
  for (const { text, from } of lines) {
    if (typeof from === "string") {
      fresh.push({ text, by: from });
      continue;
    }
    if (from > at || fresh.length > 0) end(from);
    at = from + 1;
  }
  if (at < base.length || fresh.length > 0) end(base.length);
  return places;
}

function withPlaces(base: readonly string[], places: readonly Place[]): Buffer {
  const lines: string[] = [];
  let at = 0;
  for (const { start, removed, lines: own } of places) {
    lines.push(...base.slice(at, start), ...own);
    at = start + removed;
  }
  return bytesOf([...lines, ...base.slice(at)]);
}

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
