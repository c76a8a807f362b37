/** What an agent has committed since it began, as the kept versions of its files and the commits tell. */
import { join } from "node:path";
import type { VersionRow } from "../../protocol/rescue.ts";
import type { NamedAgent } from "../agent/named.ts";
import { type Asker, readerOf } from "../rescue/asker.ts";
import type { Commits, CommittedFile } from "../rescue/committed.ts";
import { isBinary, type Texts } from "../rescue/texts.ts";
import { contentOf, versionsOf } from "../rescue/versions.ts";
import { rowsOf } from "../with-daemon.ts";
import { partsOf, type Written } from "./by-writer.ts";
import type { Change } from "./changes.ts";
import { isOf } from "./meant.ts";
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
  for (const row of rows) {
    const isBelow = path === null || row.path === path || row.path.startsWith(`${path}/`);
    if (isOf(row.by, who) && isBelow) files.set(row.path, row);
  }
  const changes: Change[] = [];
  for (const first of [...files.values()].sort((a, b) => (a.path < b.path ? -1 : 1)))
    changes.push(...(await committedOf(asker, tools, who, first)));
  return changes;
}

/** `first` is the agent's first kept version of the file. */
async function committedOf(
  asker: Asker,
  { commits, texts }: Tools,
  who: NamedAgent,
  first: VersionRow,
): Promise<readonly Change[]> {
  const { worktree, file, base, mode } = first;
  const place: CommittedFile = { worktree, file };
  const [before, now] = [
    await commits.content(base, place),
    await commits.content(await commits.head(worktree), place),
  ];
  const [old, fresh] = [before ?? Buffer.alloc(0), now ?? Buffer.alloc(0)];
  if (old.equals(fresh) && (before === null) === (now === null)) return [];
  const path = join(worktree, file);
  const shown = { ...place, path, was: null, mode, before, isWhole: false };
  const rows = (await versionsOf(asker, path)).toReversed();
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
