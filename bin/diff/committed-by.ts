/** What an agent has committed since it began, as the kept versions of its files and the commits tell. */
import { join } from "node:path";
import type { VersionRow } from "../../protocol/schemas/rescue.ts";
import type { NamedAgent } from "../agent/named.ts";
import { type Asker, readerOf } from "../rescue/asker.ts";
import type { Commits, CommittedFile } from "../rescue/committed.ts";
import { isBinary, type Texts } from "../rescue/texts.ts";
import { contentOf, versionsOf } from "../rescue/versions.ts";
import { rowsOf } from "../with-daemon.ts";
import { partsOf, type Written } from "./by-writer.ts";
import { type Change, numberOf } from "./changes.ts";
import { isOf } from "./meant.ts";
import { type Moved, renamesOf } from "./renames.ts";
import { isPartOf } from "./uncommitted.ts";

interface Tools {
  readonly commits: Commits;
  readonly texts: Texts;
}

/**
 * Returns what of the agent's writes is in the commit that is checked out, against the commit on which its first write of each
 * file was based. `path`: only this file, or what is below this directory. Throws `ProgramFailed`.
 */
export async function committedBy(
  asker: Asker,
  tools: Tools,
  who: NamedAgent,
  path: string | null,
): Promise<readonly Change[]> {
  const rows = await rowsOf(asker.client, "versions", { id: who.id, ...readerOf(asker) });
  const files = new Map<string, VersionRow>();
  for (const row of rows) if (isOf(row.by, who)) files.set(row.path, row);
  const isMeant = (at: string) => path === null || at === path || at.startsWith(`${path}/`);
  const changes: Change[] = [];
  for (const one of await followed(asker, tools.commits, [...files.values()])) {
    const now = join(one.first.worktree, one.file);
    if (isMeant(one.first.path) || isMeant(now)) changes.push(...(await committedOf(asker, tools, who, one)));
  }
  return changes;
}

/** A file that the agent wrote. */
interface Followed {
  /** The agent's first kept version of it. */
  readonly first: VersionRow;
  /** The commit that is checked out; null: none, or nobody can tell. */
  readonly head: string | null;
  /** The name that the file has there: another one if it was renamed since. */
  readonly file: string;
}

/** New files of a commit in which one is looked for that had another name. */
const comeMax = 500;

/** Returns the files by their names now, in order. One that the agent wrote under two names is one, from the first on. */
async function followed(
  asker: Asker,
  commits: Commits,
  firsts: readonly VersionRow[],
): Promise<readonly Followed[]> {
  const gone = new Map<
    string,
    { readonly at: Pick<VersionRow, "worktree" | "base">; readonly files: Moved[] }
  >();
  const heads = new Map<string, string | null>();
  for (const { worktree, file, base, path } of firsts) {
    if (!heads.has(worktree)) heads.set(worktree, await commits.head(worktree));
    const before = await commits.content(base, { worktree, file });
    const now = await commits.content(heads.get(worktree) ?? null, { worktree, file });
    if (before === null || now !== null) continue;
    const key = `${worktree}\n${base}`;
    const group = gone.get(key) ?? { at: { worktree, base }, files: [] };
    gone.set(key, group);
    group.files.push({ file, content: before });
    // It may have been edited before it was renamed.
    const [latest] = await versionsOf(asker, path);
    const content = latest === undefined ? null : await contentOf(latest);
    if (content !== null) group.files.push({ file, content });
  }
  const names = new Map<string, string>();
  for (const { at, files } of gone.values())
    for (const [now, was] of renamesOf(files, await comeSince(commits, at, heads.get(at.worktree) ?? null)))
      names.set(join(at.worktree, was), now);
  const taken = new Set(
    firsts.flatMap(({ worktree, path }) => {
      const now = names.get(path);
      return now === undefined ? [] : [join(worktree, now)];
    }),
  );
  return firsts
    .filter(({ path }) => !taken.has(path))
    .map(first => ({
      first,
      head: heads.get(first.worktree) ?? null,
      file: names.get(first.path) ?? first.file,
    }))
    .sort((a, b) => (join(a.first.worktree, a.file) < join(b.first.worktree, b.file) ? -1 : 1));
}

/** Returns the files that `head` has and `base` has not. */
async function comeSince(
  commits: Commits,
  { worktree, base }: Pick<VersionRow, "worktree" | "base">,
  head: string | null,
): Promise<readonly Moved[]> {
  if (head === null || base === null) return [];
  const words = ["diff-tree", "-r", "-z", "--no-renames", "--diff-filter=A", "--name-only", base, head];
  const listed = (await commits.read(worktree, words))?.toString().split("\0") ?? [];
  const come: Moved[] = [];
  for (const file of listed.filter(name => name !== "").slice(0, comeMax)) {
    const content = await commits.content(head, { worktree, file });
    if (content !== null) come.push({ file, content });
  }
  return come;
}

async function committedOf(
  asker: Asker,
  { commits, texts }: Tools,
  who: NamedAgent,
  { first, head, file }: Followed,
): Promise<readonly Change[]> {
  const { worktree, base, mode } = first;
  const place: CommittedFile = { worktree, file };
  const was = file === first.file ? null : first.file;
  const [before, now] = [
    await commits.content(base, { worktree, file: first.file }),
    await commits.content(head, place),
  ];
  const [old, fresh] = [before ?? Buffer.alloc(0), now ?? Buffer.alloc(0)];
  if (old.equals(fresh) && (before === null) === (now === null)) return [];
  const path = join(worktree, file);
  const shown = { ...place, path, was, mode, before, isWhole: false };
  const rows = await versionsOf(asker, path);
  if (was !== null) rows.push(...(await versionsOf(asker, first.path)));
  rows.sort((a, b) => numberOf(a) - numberOf(b));
  // What others wrote on the same commit before the agent's first write is in its first state.
  const start = rows.findIndex(row => row.base === base);
  const states: Written[] = [];
  for (const row of rows.slice(Math.max(0, start))) {
    const content = await contentOf(row);
    if (content !== null) states.push({ by: row.by, content });
  }
  if (isBinary(old) || isBinary(fresh)) {
    const last = states.findLast(({ content }) => content.equals(fresh));
    return last !== undefined && isPartOf([last.by], who)
      ? [{ ...shown, after: now, writers: [last.by] }]
      : [];
  }
  const texted = states.filter(({ content }) => !isBinary(content));
  const parts = await partsOf((from, to) => texts.hunks(from, to), old, [
    ...texted,
    { by: null, content: fresh },
  ]);
  const isGone = now === null && parts.length === 1;
  return parts
    .filter(({ writers }) => isPartOf(writers, who))
    .map(({ writers, content }) => ({ ...shown, writers, after: isGone ? null : content }));
}
