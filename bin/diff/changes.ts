/** What a file was and is, and what of the difference each writer made. */

import { createHash } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { ActorRow } from "../../protocol/schemas/lock.ts";
import type { VersionRow } from "../../protocol/schemas/rescue.ts";
import type { WriterRow } from "../../protocol/work.ts";
import { findRepository } from "../context/project.ts";
import { Attribution, type FileEvent, type Hunks, nobody } from "../rescue/attribution.ts";
import { isBinary, type Texts } from "../rescue/texts.ts";
import {
  type Asker,
  type Commits,
  type CommittedFile,
  contentOf,
  type OnDisk,
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

/**
 * Returns the parts, in the order in which they begin. `events` are what happened to the file since the commit, the last one as it
 * is now.
 */
export async function partsOf(
  hunks: Hunks,
  committed: Buffer,
  events: readonly (FileEvent<Written["by"]> | Written)[],
): Promise<readonly Part[]> {
  const all = events.map(one => ("is" in one ? one : { is: "written" as const, ...one }));
  const found = await Attribution.of(hunks, writerKey, committed, all);
  const parts = new Map<string, readonly string[]>();
  for (const { writers } of found.groups()) parts.set(writers.join("\0"), writers);
  return [...parts].map(([key, writers]) => ({
    writers: writers.map(one => found.writers.get(one) ?? null),
    content: found.content(group => group.writers.join("\0") === key),
  }));
}

/** Names a writer among those of one file. */
export function writerKey(by: Written["by"]): string {
  return by === null ? nobody : `${by.id}\n${by.agent ?? ""}`;
}

// What happened to a file since it was last as committed: its kept versions, and the contents that the branch had of it.

/** Versions of one file that are looked at. */
const rowsMax = 256;

interface History {
  /** What was committed when it began. */
  readonly base: Buffer;
  readonly events: readonly FileEvent<VersionRow["by"]>[];
  /** The versions since, the latest first. */
  readonly versions: readonly VersionRow[];
}

/**
 * Returns the history, without what the file has now. `rows` are the file's versions, the latest first; `head` is what the
 * commit that is checked out has of it; `committedAt` what another commit has, null: nothing.
 */
async function historyOf(
  rows: readonly VersionRow[],
  head: Buffer | null,
  committedAt: (commit: string | null) => Promise<Buffer | null>,
): Promise<History> {
  const nothing = Buffer.alloc(0);
  const committed = new Map(head === null ? [] : [[hashOf(head), head]]);
  const versions: { readonly row: VersionRow; readonly base: Buffer }[] = [];
  let base: Buffer | null = null;
  for (const row of rows.slice(0, rowsMax)) {
    const before = await committedAt(row.base);
    if (before !== null) committed.set(hashOf(before), before);
    // The file was as committed then: all that came before is in that commit, or was taken back.
    base = committed.get(row.hash) ?? null;
    if (base !== null) break;
    versions.push({ row, base: before ?? nothing });
  }
  const events: FileEvent<VersionRow["by"]>[] = [];
  for (const { row, base: before } of versions.toReversed()) {
    const content = await contentOf(row);
    if (content === null || isBinary(content)) continue;
    events.push({ is: "committed", content: before }, { is: "written", by: row.by, content });
  }
  events.push({ is: "committed", content: head ?? nothing });
  return {
    base: base ?? versions.at(-1)?.base ?? head ?? nothing,
    events,
    versions: versions.map(({ row }) => row),
  };
}

function hashOf(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

// What of a file differs, by writer.

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

/** Returns the history of a file, also of the time before it was renamed. */
export async function historyAt(
  asker: Asker,
  { worktree, file, was, before }: Pick<Candidate, "worktree" | "file" | "was" | "before">,
  contentIn: (commit: string | null, file: string) => Promise<Buffer | null>,
): Promise<History> {
  const names = was === null ? [file] : [was, file];
  const rows: VersionRow[] = [];
  for (const name of names) rows.push(...(await versionsOf(asker, join(worktree, name))));
  rows.sort((a, b) => numberOf(b) - numberOf(a));
  return historyOf(rows, before, async commit => {
    for (const name of names) {
      const content = await contentIn(commit, name);
      if (content !== null) return content;
    }
    return null;
  });
}

/** Returns the parts of a file that differs, by writer; as one with `isOne`. Throws `ProgramFailed`. */
export async function changesOf(
  asker: Asker,
  { commits, texts }: { readonly commits: Commits; readonly texts: Texts },
  one: Candidate,
  isOne: boolean,
): Promise<readonly Change[]> {
  const { worktree, before, after, known } = one;
  const { known: _, ...place } = one;
  const all = { ...place, isWhole: false };
  if (isOne) return [{ ...all, writers: null }];
  const history = await historyAt(asker, one, (commit, file) => commits.content(commit, { worktree, file }));
  const { versions } = history;
  const [latest] = known;
  // Who removed a file wrote it last: no version has that.
  if (after === null && latest?.by === "shell") return [{ ...all, writers: [latest] }];
  if (versions.length === 0) return [{ ...all, writers: known.length === 0 ? [null] : known, isWhole: true }];
  const [base, now] = [before ?? Buffer.alloc(0), after ?? Buffer.alloc(0)];
  const [last] = versions;
  if (isBinary(base) || isBinary(now)) return [{ ...all, writers: [last?.by ?? null] }];
  const events = [...history.events, { by: null, content: now }];
  const parts = await partsOf((from, to) => texts.hunks(from, to), history.base, events);
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
