/** What an agent has committed since it began, as the kept versions of its files and the commits tell. */

import { existsSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { refuse } from "../../protocol/codes.ts";
import type { VersionRow } from "../../protocol/schemas/rescue.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { WriteRow } from "../../protocol/work.ts";
import { agentCalled, agentsOf, type NamedAgent, noAgent } from "../context/caller.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { fileTyped, realPath, scopeProject } from "../context/project.ts";
import { Refused, rowsOf } from "../context/with-daemon.ts";
import { isBinary, type Texts } from "../rescue/texts.ts";
import {
  type Asker,
  type Commits,
  type CommittedFile,
  contentOf,
  onDisk,
  readerOf,
  versionsOf,
} from "../rescue/versions.ts";
import {
  type Candidate,
  type Change,
  changesOf,
  differs,
  modeOf,
  numberOf,
  partsOf,
  repositoryAt,
  type Written,
} from "./changes.ts";

// What the argument of `kite diff` means: an agent, else an existing file.

/** An agent, a file or directory, or (null) all of the project. */
type Meant =
  | { readonly is: "agent"; readonly agent: NamedAgent; readonly worktree: string | null }
  | { readonly is: "path"; readonly path: string }
  | null;

/**
 * Returns what is meant. A live agent's whole name comes before a file, a file before the name of an agent that ended or the
 * beginning of a name. `isFile`: it is a file, whatever else is called so. Throws `Refused` if nothing is called so, and
 * `WrongName` if a resource is.
 */
export async function meant(
  world: Pick<ProcessContext, "cwd">,
  asker: Asker,
  what: string | undefined,
  isFile: boolean,
  commits: Commits,
): Promise<Meant> {
  if (what === undefined) return null;
  const path = await realPath(world.cwd, fileTyped(what));
  if (isFile || what.startsWith("./") || what.startsWith("/")) return { is: "path", path };
  const sessions = await sessionsSeen(asker);
  const live = agentsOf(sessions);
  const isThere = existsSync(path);
  const known = isThere ? live.filter(one => isWhole(one, what)) : [...live, ...(await endedOf(asker, live))];
  const agent = await agentCalled(world, known, what);
  if (agent === null && isThere) return { is: "path", path };
  const rows = await rowsOf(asker.client, "writes");
  // A file that was deleted is one as well.
  const isWritten = rows.some(row => row.path === path || row.path.startsWith(`${path}/`));
  if (agent === null && (isWritten || (await isCommitted(commits, path)))) return { is: "path", path };
  if (agent === null) throw await unknown(asker, known, what);
  const session = sessions.find(({ id }) => id === agent.id);
  return { is: "agent", agent, worktree: session?.worktree ?? null };
}

/** Whether the commit that is checked out has a file or a directory there. */
async function isCommitted(commits: Commits, path: string): Promise<boolean> {
  const { worktree, file } = await repositoryAt(path);
  const head = await commits.head(worktree);
  if (head === null) return false;
  const listed = await commits.read(worktree, ["ls-tree", "-z", "--name-only", head, "--", file]);
  return listed !== null && listed.length > 0;
}

/** Returns the agent that `--by` names. Throws `Refused` if nobody is called so. */
export async function agentNamed(
  world: Pick<ProcessContext, "cwd">,
  asker: Asker,
  name: string,
): Promise<NamedAgent> {
  const live = agentsOf(await sessionsSeen(asker));
  const known = [...live, ...(await endedOf(asker, live))];
  const agent = await agentCalled(world, known, name);
  if (agent === null) throw await noAgent(asker.client, known, name);
  return agent;
}

/** The live sessions whose work the asker may see: an agent's own project alone. */
async function sessionsSeen({ client, acting }: Asker): Promise<readonly SessionRow[]> {
  const all = await rowsOf(client, "sessions");
  const own = acting === null ? undefined : all.find(({ id }) => id === acting.id);
  return own === undefined ? all : all.filter(({ project }) => project === own.project);
}

async function unknown({ client }: Asker, known: readonly NamedAgent[], what: string): Promise<Refused> {
  const none = await noAgent(client, known, what);
  if (none.refusal.code === "elsewhere") return none;
  const { message } = none;
  return new Refused(refuse("recipient_gone", `${message}; and no file ${what} is here`, { to: what }));
}

function isWhole({ id, agent, name }: NamedAgent, what: string): boolean {
  return name === what || (agent === null ? id === what : agent === what || name.endsWith(`/${what}`));
}

/** Agents that have ended, and have work that is not committed or that Kite keeps. */
async function endedOf(asker: Asker, live: readonly NamedAgent[]): Promise<NamedAgent[]> {
  const own = asker.acting === null ? {} : { reader: asker.acting.id };
  const [writes, versions] = await Promise.all([
    rowsOf(asker.client, "writes"),
    rowsOf(asker.client, "versions", own),
  ]);
  const authors = [
    ...writes.flatMap((row: WriteRow) => row.writers.map(by => ({ by, project: row.project }))),
    ...versions.flatMap(({ by, project }) => (by === null ? [] : [{ by, project }])),
  ];
  const found = new Map(live.map(one => [keyOf(one), one]));
  // Those that an agent sees are all of its own project.
  const [seen] = asker.acting === null ? [] : live;
  for (const { by, project } of authors) {
    const { id, agent, name } = by;
    if (seen !== undefined && project !== seen.project) continue;
    if (!found.has(keyOf(by))) found.set(keyOf(by), { id, agent, name, project });
  }
  return [...found.values()].filter(one => !live.includes(one));
}

function keyOf({ id, agent }: { readonly id: string; readonly agent: string | null }): string {
  return `${id}\n${agent ?? ""}`;
}

/** Whether it is this agent's. */
function isOf(by: { readonly id: string; readonly agent: string | null } | null, who: NamedAgent): boolean {
  return by !== null && by.id === who.id && by.agent === who.agent;
}

// Which new file is a file that is gone, under another name. Pure.

/** A file that came or went, with its content; a file that went may have several, one at a time. */
interface Moved {
  readonly file: string;
  readonly content: Buffer;
}

/** Pairs that are compared line by line at most. */
const pairsMax = 2_500;
/** The part of the longer file that both must have, as git asks by default. */
const alikeMin = 0.5;

/** Returns for each new file the one that it was: first those of the same content, then those most alike. */
function renamesOf(gone: readonly Moved[], come: readonly Moved[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const left = new Set(gone.filter(({ content }) => content.length > 0));
  const open = new Set(come.filter(({ content }) => content.length > 0));
  const pair = (from: Moved, to: Moved) => {
    found.set(to.file, from.file);
    for (const one of left) if (one.file === from.file) left.delete(one);
    open.delete(to);
  };
  for (const to of [...open]) {
    const same = [...left].find(({ content }) => content.equals(to.content));
    if (same !== undefined) pair(same, to);
  }
  if (left.size * open.size > pairsMax) return found;
  const pairs = [...open].flatMap(to =>
    [...left].map(from => ({ from, to, part: sharedPart(from.content, to.content) })),
  );
  for (const { from, to, part } of pairs.sort((a, b) => b.part - a.part))
    if (part >= alikeMin && left.has(from) && open.has(to)) pair(from, to);
  return found;
}

/** The part of the longer text, in bytes, whose lines are in both. */
function sharedPart(a: Buffer, b: Buffer): number {
  const counts = new Map<string, number>();
  const lines = (text: Buffer) => text.toString("latin1").split(/(?<=\n)/);
  for (const line of lines(a)) counts.set(line, (counts.get(line) ?? 0) + 1);
  let shared = 0;
  for (const line of lines(b)) {
    const count = counts.get(line) ?? 0;
    if (count === 0) continue;
    counts.set(line, count - 1);
    shared += line.length;
  }
  return shared / Math.max(a.length, b.length);
}

// Which files of a worktree differ from its commit. Git's plumbing lists them: no filter, no monitor and no hook runs.

const lists: readonly (readonly string[])[] = [
  ["diff-files", "--name-only", "-z", "--ignore-submodules=all"],
  ["ls-files", "--others", "--exclude-standard", "-z"],
];

/** Returns the paths from the top, in order; a file of the list may have the content of its commit. Null: git cannot tell. */
export async function changedFiles(
  commits: Commits,
  worktree: string,
  head: string | null,
): Promise<readonly string[] | null> {
  const staged =
    head === null
      ? ["ls-files", "--cached", "-z"]
      : ["diff-index", "--cached", "--name-only", "-z", "--no-renames", "--ignore-submodules=all", head];
  const found = await Promise.all([staged, ...lists].map(words => commits.read(worktree, words)));
  const names = new Set<string>();
  for (const out of found) {
    if (out === null) return null;
    for (const name of out.toString().split("\0")) if (name !== "") names.add(name);
  }
  return [...names].sort();
}

// What is not committed: of a project, an agent, a file or a directory.

export interface Uncommitted {
  readonly changes: readonly Change[];
  /** Files that differ in the agent's worktrees, of which Kite saw nobody write anything. */
  readonly unseen: readonly string[];
  /** Files that cannot be compared, and what they are: `a link`. */
  readonly odd: readonly { readonly file: string; readonly what: string }[];
  /** Files beyond those that one diff shows. */
  readonly more: number;
}

interface Wanted {
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
export async function renamed(asker: Asker, found: readonly Candidate[]): Promise<readonly Candidate[]> {
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

function isPartOf(writers: Change["writers"], who: NamedAgent): boolean {
  return writers?.some(one => isOf(one, who)) === true;
}

interface CommittedReaders {
  readonly commits: Commits;
  readonly texts: Texts;
}

/**
 * Returns what of the agent's writes is in the commit that is checked out. For each file it compares that commit with
 * the one on which the agent's first write was based. `path`: only this file, or what is below this directory. Throws
 * `ProgramFailed`.
 */
export async function committedBy(
  asker: Asker,
  tools: CommittedReaders,
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
  { commits, texts }: CommittedReaders,
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
