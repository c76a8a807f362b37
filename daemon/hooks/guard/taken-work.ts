/**
 * Others' uncommitted work that guarded shell lines took. The guard notes it before a line runs, checks it when the
 * line has ended, and tells the owners. What others write while the line runs, before its command wipes it, counts too.
 */

import type { GuardedCommand } from "../../../protocol/guard.ts";
import type { Actor, Written } from "../../core/frame/actors.ts";
import type { DirtyFile } from "../../core/tables/base-state.ts";
import { latestOf } from "../../core/work/dirty-files.ts";
import type { GitPlace } from "../../facts/git/process.ts";
import type { FileState } from "../../facts/git/status.ts";
import type { Services } from "../../options.ts";
import { nameOf } from "../../views/sessions.ts";
import { bringing } from "../../worktree/line-effects.ts";
import { isWithin } from "../../worktree/pathspec.ts";
import { bounded, worksIn } from "../../worktree/uncommitted.ts";
import type { EditMemory } from "../parts.ts";
import type { Placed } from "./findings.ts";
import type { Before, Reached, Repository, RunningLine, Settled, TakenBack } from "./memory.ts";

// Records the work that git brings back. A stash, or a commit taken back, makes settled work uncommitted again: it
// belongs to its writers. What other commands bring (a commit picked, a version checked out) belongs to their actor.
// The guard checks only files with work seen before; it never walks a directory.

/** Checks before the line runs: the latest `limits.guardPathsMax` files that settled in each worktree. */
async function settledBefore(services: Services, placed: readonly Placed[]): Promise<readonly Settled[]> {
  const found: Settled[] = [];
  for (const { command, place, base } of placed) {
    const brings = bringing(command);
    if (brings === null) continue;
    const { settled, settledIn } = services.engine.state.writes;
    const all = [...(settledIn.get(place.worktree) ?? [])].flatMap(key => settled.get(key) ?? []);
    const { paths } = command;
    const isReached = (file: string) => paths === null || isWithin(file, paths, base, place.worktree);
    const reached = all.filter(({ file }) => isReached(file)).reverse();
    const files = await filesThat(services, place, reached, isClean);
    if (files.length > 0) found.push({ place, isBack: brings === "back", files });
  }
  return found;
}

/**
 * The line has ended: files that are uncommitted now get an owner. Returns them. `back`: who made the commits that the line
 * took back.
 */
export async function noteReturned(
  services: Services,
  actor: Actor,
  ancestors: readonly (string | null)[],
  settled: readonly Settled[],
  back: TakenBack = new Map(),
): Promise<readonly Written[]> {
  const { engine, clock } = services;
  const all: Written[] = [];
  for (const { place, isBack, files } of settled) {
    const known = engine.state.writes.files;
    const returned = await filesThat(services, place, files, state => !isClean(state));
    const named = returned
      .filter(({ key }) => !known.has(key))
      .map(({ key, file, worktree, project }) => ({ key, file, worktree, project }));
    if (named.length === 0) continue;
    const noted = { files: named, by: "shell", ancestors, wallMs: clock.wall() } as const;
    const authors = named.flatMap(({ key, worktree, file }) => {
      const actors = back.get(`${worktree}/${file}`) ?? [];
      return actors.length === 0 ? [] : [{ key, actors }];
    });
    const more = authors.length === 0 ? {} : { authors };
    if (isBack)
      await engine.submitAndWait({ type: "work_returned", actor, noted, isWritersOnly: true, ...more });
    else await engine.submitAndWait({ type: "writes_noted", actor, noted });
    all.push(...named);
  }
  return all;
}

async function filesThat(
  { facts }: Services,
  place: GitPlace,
  files: readonly DirtyFile[],
  are: (state: FileState) => boolean,
): Promise<readonly DirtyFile[]> {
  if (files.length === 0) return [];
  const states = await facts.work(place, bounded(files.map(({ file }) => file)));
  // Unknown work would be anybody's to wipe: without a check all of it counts, and a later check settles the rest.
  if ("unreachable" in states) return files;
  return files.filter(({ file }) => {
    const state = states.get(file);
    return state !== undefined && are(state);
  });
}

function isClean({ staged, changed, untracked, ignored }: FileState): boolean {
  return !(staged || changed || untracked || ignored);
}

/** Notes what the line reaches, before it runs; `placed` are its commands whose places are known. */
export async function lineFor(
  services: Services,
  placed: readonly Placed[],
  reached: readonly Reached[],
): Promise<RunningLine> {
  const found = new Map<string, Map<string, Reached>>();
  for (const one of reached) {
    const files = found.get(placeKey(one.place)) ?? new Map<string, Reached>();
    const id = `${one.commits} ${one.key}`;
    if (!files.has(id)) files.set(id, one);
    found.set(placeKey(one.place), files);
  }
  const repositories = [...found.values()].map(files => before(services, [...files.values()]));
  const wiping = placed.filter(({ command }) => command.reach === "tree" && isForced(command));
  return {
    places: placed.map(({ place }) => place),
    repositories: await Promise.all(repositories),
    settled: await settledBefore(services, placed),
    wiping: wiping.map(({ command: { name, paths }, place, base }) => {
      const [latest] = worksIn(services, place.worktree);
      return { place, command: name, paths, base, seq: latest === undefined ? 0 : latestOf(latest).seq };
    }),
  };
}

/** Whether git runs the command over uncommitted work. It refuses the others. */
function isForced({ changes }: GuardedCommand): boolean {
  return changes === undefined || changes.loses === "tracked";
}

/**
 * What others wrote in the line's reach while it ran. A file counts for the first command that may wipe it. A file that its
 * writer put back as committed counts, too, if git writes it anew: its content before is not known.
 */
function writtenSince(
  services: Services,
  { baselines }: EditMemory,
  { wiping, repositories }: RunningLine,
): readonly Repository[] {
  const { engine } = services;
  const known = new Set(repositories.flatMap(({ files }) => files.map(({ key, seq }) => `${seq} ${key}`)));
  return wiping.map(({ place, command, paths, base, seq: since }) => {
    const files = worksIn(services, place.worktree).flatMap(work => {
      const { key, file } = work;
      const { seq } = latestOf(work);
      const stamp = baselines.seen(key);
      const isIn = paths === null || isWithin(file, paths, base, place.worktree);
      // A write in flight is reported when it ends.
      const isWritten = (engine.state.locks.holds.get(key)?.flights.length ?? 0) > 0;
      if (seq <= since || stamp === undefined || !isIn || isWritten || known.has(`${seq} ${key}`)) return [];
      known.add(`${seq} ${key}`);
      return [{ place, key, file, seq, command, commits: false, stamp }];
    });
    return { place, mark: null, files };
  });
}

async function before(services: Services, files: readonly Reached[]): Promise<Repository> {
  const [first] = files;
  if (first === undefined) throw new Error("a repository without files is looked at");
  const { place } = first;
  const mark = files.some(({ commits }) => commits) ? await services.facts.commitMark(place) : null;
  const stamped = files.map(async one => ({
    ...one,
    stamp: (await services.facts.stamped(pathIn(one)))?.stamp,
  }));
  const isTold = mark !== null && !("unreachable" in mark);
  return { place, mark: isTold ? mark : null, files: await Promise.all(stamped) };
}

/** What became of one file. */
interface Taken {
  readonly file: Before;
  readonly how: "committed" | "discarded";
  readonly commit: string | null;
  /** Git wrote the file, or removed it. */
  readonly isChanged: boolean;
}

/**
 * Tells the owners what an ended line took of their work. Returns the keys of files that git changed: no other part of
 * the line changed them.
 */
export async function tellTaken(
  services: Services,
  edits: EditMemory,
  actor: Actor,
  ancestors: readonly (string | null)[],
  line: RunningLine,
): Promise<ReadonlySet<string>> {
  const changed = new Set<string>();
  const late = writtenSince(services, edits, line).filter(({ files }) => files.length > 0);
  for (const repository of [...line.repositories, ...late]) {
    const groups = new Map<string, Taken[]>();
    for (const taken of await takenFrom(services, repository)) {
      const { how, commit, file, isChanged } = taken;
      const group = `${how} ${commit} ${file.command}`;
      groups.set(group, [...(groups.get(group) ?? []), taken]);
      if (isChanged) changed.add(file.key);
    }
    for (const group of groups.values()) await tell(services, actor, ancestors, group);
  }
  return changed;
}

async function tell(
  services: Services,
  actor: Actor,
  ancestors: readonly (string | null)[],
  group: readonly Taken[],
): Promise<void> {
  const [first] = group;
  if (first === undefined) return;
  const { how, commit, file } = first;
  const files = group.map(({ file: { key, seq } }) => ({ key, seq }));
  const what = { how, commit, command: file.command, files } as const;
  await services.engine.submitAndWait({
    type: "work_taken",
    actor,
    name: nameOf(services, actor),
    ancestors,
    ...what,
  });
}

/** Files of a repository that are in a commit now, or not in the working tree any more. */
async function takenFrom(services: Services, { place, mark, files }: Repository): Promise<readonly Taken[]> {
  const { facts } = services;
  const swept = files.filter(({ commits }) => commits).map(({ file }) => file);
  const [commits, states] = await Promise.all([
    swept.length === 0 || mark === null ? none : facts.commits(place, mark, swept),
    facts.work(place, [...new Set(files.map(({ file }) => file))]),
  ]);
  const ids = "unreachable" in commits ? none : commits;
  const found = new Map<string, Taken>();
  for (const file of files) {
    const state = "unreachable" in states ? undefined : states.get(file.file);
    const isClean =
      state !== undefined && !(state.staged || state.changed || state.untracked || state.ignored);
    const now = isClean && file.stamp !== undefined ? await facts.stamped(pathIn(file)) : null;
    const isChanged = now !== null && now.stamp !== file.stamp;
    const commit = (file.commits ? ids.get(file.file) : undefined) ?? null;
    if (commit !== null) found.set(file.key, { file, how: "committed", commit, isChanged });
    else if (!isClean || found.has(file.key)) continue;
    else if (isChanged && !file.commits) found.set(file.key, { file, how: "discarded", commit, isChanged });
    else if (!isChanged && file.commits) found.set(file.key, { file, how: "committed", commit, isChanged });
  }
  return [...found.values()];
}

const none: ReadonlyMap<string, string> = new Map();

function pathIn({ place, file }: Reached): string {
  return `${place.worktree}/${file}`;
}

function placeKey({ worktree, gitDir }: GitPlace): string {
  return `${worktree}\n${gitDir}`;
}
