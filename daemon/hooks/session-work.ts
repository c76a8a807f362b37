/**
 * What each session works on, as it is compared with the work of others and told to them. It is made on demand, and
 * again only after it changed. A prompt and a start look at many sessions, of which few changed since the last look.
 */

import { createHash } from "node:crypto";
import { limits } from "../../protocol/limits.ts";
import { BoundedMap, least } from "../bounded-map.ts";
import { holdAt } from "../core/locks/blockers.ts";
import { presentIn } from "../core/sessions/room.ts";
import type { Hold, Session } from "../core/tables/base-state.ts";
import { declarationsOf } from "../core/tables/declarations.ts";
import { type ActorLocks, rowsOfSession } from "../core/tables/locks.ts";
import { pathOf } from "../core/tables/naming.ts";
import { pathOfWork } from "../core/work/dirty-files.ts";
import { type Logs, logOfSession } from "../engine/log-view.ts";
import type { RowSource } from "../views/paging.ts";
import { workedOn } from "../views/sessions.ts";
import { keptBy } from "./edits/edit-lock.ts";

export class SessionWorks {
  readonly #known = new WeakMap<Session, { readonly revision: string; readonly work: SessionWork }>();

  /** The session's work as it is now; to be read before the next entry. */
  of(source: RowSource, session: Session): SessionWork {
    const revision = revisionOf(source, session);
    const known = this.#known.get(session);
    if (known?.revision === revision) return known.work;
    const work = new SessionWork(source, session);
    this.#known.set(session, { revision, work });
    return work;
  }
}

/** Another text after each change of what `SessionWork` is made from. */
function revisionOf({ engine, presence }: RowSource, { id, worktree, branch }: Session): string {
  const touched = presence.rows.get(id)?.filesRevision ?? 0;
  const own = engine.state.sessions.revisions.of(id);
  return `${own} ${sharedTask(engine, id)} ${touched} ${branch ?? ""} ${worktree}`;
}

/** The task that the session claimed last, if a shared project has it: its own log does not count that as a change. */
function sharedTask(logs: Logs, id: string): string {
  return logOfSession(logs, id).state === logs.state ? "" : (workedOn(logs, id)[0]?.id ?? "");
}

class SessionWork {
  readonly #source: RowSource;
  readonly #session: Session;
  #holds: readonly Hold[] | null = null;
  #paths: readonly string[] | null = null;
  #folders: ReadonlyMap<string, readonly string[]> | null = null;
  #mark: string | null | undefined;

  constructor(source: RowSource, session: Session) {
    this.#source = source;
    this.#session = session;
  }

  /** The latest locks of the session and its agents, the latest first; at most `limits.glanceLocksMax`. */
  get holds(): readonly Hold[] {
    this.#holds ??= latestHolds(this.#source, this.#session.id);
    return this.#holds;
  }

  /** The files that it holds, declared, changed or touched, within its worktree; directories end with a slash. */
  get paths(): readonly string[] {
    this.#paths ??= pathsOf(this.#source, this.#session, this.holds);
    return this.#paths;
  }

  /** The paths by their folders, each path once. */
  get folders(): ReadonlyMap<string, readonly string[]> {
    this.#folders ??= byFolder(this.paths);
    return this.#folders;
  }

  /** Differs after it declared, claimed, kept locked something else, or moved; null: it does nothing of that. */
  get mark(): string | null {
    if (this.#mark === undefined) this.#mark = markOf(this.#source, this.#session);
    return this.#mark;
  }
}

function latestHolds({ engine: { state } }: RowSource, session: string): Hold[] {
  const latest: Hold[] = [];
  for (const { holds } of rowsOfSession(state.locks.actors, session, null)) {
    for (const key of holds.latest(limits.glanceLocksMax)) latest.push(holdAt(state.locks, key));
  }
  return latest.sort((a, b) => b.first.grant - a.first.grant).slice(0, limits.glanceLocksMax);
}

/**
 * The keys of the latest locks that the session and its agents keep, sorted; at most `limits.glanceLocksMax`. Locks that
 * end with a turn do not push them out, and a lock that its keeper lent still counts.
 */
function keptKeys({ engine: { state } }: RowSource, session: string): string[] {
  const kept = new Map<string, number>();
  for (const row of rowsOfSession(state.locks.actors, session, null)) {
    for (const key of lastingKeys(row)) {
      const keeper = keptBy(holdAt(state.locks, key));
      if (keeper !== null) kept.set(key, keeper.first.grant);
    }
  }
  // Locks of one request have one grant: the key tells them apart, so that the same ones are chosen each time.
  const latest = least(kept, limits.glanceLocksMax, (a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  return latest.map(([key]) => key).sort();
}

/** The keys of an agent's locks that the end of its turn does not end, and of those that it lent. */
function* lastingKeys({ holds, turnHolds, lent }: ActorLocks): Generator<string, void> {
  if (holds.size > turnHolds.size)
    for (const key of holds.latest(limits.keptLooksMax)) if (!turnHolds.has(key)) yield key;
  let left: number = limits.keptLooksMax;
  for (const key of lent) {
    if (left === 0) return;
    left -= 1;
    yield key;
  }
}

function pathsOf({ engine, presence }: RowSource, session: Session, holds: readonly Hold[]): string[] {
  const { state } = engine;
  const max = limits.nearFilesMax;
  const held = holds.map(hold => withSlash(pathOf(hold), hold.dir));
  const declared = declarationsOf(state.declarations, session.id).flatMap(({ files }) =>
    files.slice(0, max).map(({ path, dir }) => withSlash(path, dir)),
  );
  const dirty = [...(state.writes.byWriter.get(session.id) ?? [])].slice(-max).flatMap(key => {
    const work = state.writes.files.get(key);
    return work === undefined ? [] : [pathOfWork(work)];
  });
  const touched = [...(presence.rows.get(session.id)?.files.values() ?? [])].slice(-max);
  return [...held, ...declared, ...dirty, ...touched].map(path => within(session, path));
}

function markOf(source: RowSource, session: Session): string | null {
  const { id, branch, worktree } = session;
  const { state } = source.engine;
  const declared = declarationsOf(state.declarations, id).map(({ agent, role, task, files }) => [
    agent,
    role,
    task,
    files.map(({ path }) => path),
  ]);
  const kept = keptKeys(source, id);
  const [claimed] = workedOn(source.engine, id);
  if (declared.length === 0 && kept.length === 0 && claimed === undefined) return null;
  const all = [branch, worktree, declared, claimed?.id ?? null, kept];
  return createHash("sha1").update(JSON.stringify(all)).digest("base64").slice(0, 12);
}

function byFolder(paths: readonly string[]): Map<string, string[]> {
  const folders = new Map<string, string[]>();
  for (const path of new Set(paths)) {
    const folder = folderOf(path);
    const known = folders.get(folder);
    if (known === undefined) folders.set(folder, [path]);
    else known.push(path);
  }
  return folders;
}

/** The directory of a file, or the directory itself; empty: the top of the worktree. */
function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}

/** The path within the session's worktree, if it is in it. */
function within({ worktree }: Session, path: string): string {
  const top = withSlash(worktree, true);
  return path.startsWith(top) ? path.slice(top.length) : path;
}

export function withSlash(path: string, isDirectory: boolean): string {
  return isDirectory && !path.endsWith("/") ? `${path}/` : path;
}

// How near the work of other sessions is to one's own: the same files first, then the same directory, then the same branch.
// Files are compared by their paths within their worktrees, because what two worktrees change has to be merged.

/** 0: the same file; 1: the same directory; 2: neither. */
type Distance = 0 | 1 | 2;

/** The files and directories of one session's work, by which others are compared. */
export class Nearness {
  readonly #self: Session;
  readonly #source: RowSource;
  readonly #works: SessionWorks;
  readonly #files: ReadonlySet<string>;
  /** Directories that are part of the work as a whole. */
  readonly #whole: ReadonlySet<string>;
  /** The directories of the files. */
  readonly #folders: ReadonlySet<string>;
  /** Where a session without files will work: there and below; null: it has files. */
  readonly #start: string | null;
  /** Every directory above a file. */
  readonly #above: ReadonlySet<string>;

  constructor(source: RowSource, works: SessionWorks, self: Session) {
    this.#self = self;
    this.#source = source;
    this.#works = works;
    const work = works.of(source, self).paths;
    this.#files = new Set(work.filter(path => !path.endsWith("/")));
    this.#whole = new Set(work.filter(path => path.endsWith("/")));
    this.#folders = new Set(work.map(folderOf));
    this.#start = work.length === 0 ? startOf(self) : null;
    this.#above = new Set(work.flatMap(path => [...foldersAbove(path)]));
  }

  /** Sorts the first `limits.nearSessionsMax` sessions, the nearest first; the order of equally near ones stays. */
  sort(sessions: readonly Session[]): Session[] {
    const sorted = sessions
      .slice(0, limits.nearSessionsMax)
      .map(session => ({
        session,
        distance: this.#ofSession(session),
        isFar: Number(!this.#isSameBranch(session)),
      }))
      .sort((a, b) => a.distance - b.distance || a.isFar - b.isFar)
      .map(({ session }) => session);
    return [...sorted, ...sessions.slice(limits.nearSessionsMax)];
  }

  /** The nearest files of a session's work, at most `max`; equally near ones stay in their order. */
  nearestFiles<File>(
    files: readonly File[],
    of: Session,
    { max, pathOf }: { readonly max: number; readonly pathOf: (file: File) => string },
  ): File[] {
    if (this.#ofSession(of) === 2) return files.slice(0, max);
    const near = files.map(file => ({ file, distance: this.#ofPath(within(of, pathOf(file))) }));
    return least(near, max, (a, b) => a.distance - b.distance).map(({ file }) => file);
  }

  #ofSession(session: Session): Distance {
    const { folders } = this.#works.of(this.#source, session);
    if (folders.size === 0) return this.#ofFolder(startOf(session));
    let nearest: Distance = 2;
    for (const [folder, paths] of folders) {
      const distance = this.#inFolder(folder, paths);
      if (distance < nearest) nearest = distance;
      if (nearest === 0) break;
    }
    return nearest;
  }

  /** The distance of the nearest of the paths, which are in that folder, or are it. */
  #inFolder(folder: string, paths: readonly string[]): Distance {
    const distance = this.#ofFolder(folder);
    const mayBeOne = distance === 1 || this.#whole.size > 0 || this.#above.has(folder);
    return this.#start === null && mayBeOne && paths.some(path => this.#ofPath(path) === 0) ? 0 : distance;
  }

  #ofPath(path: string): Distance {
    if (this.#files.has(path) || this.#whole.has(path)) return 0;
    if (path.endsWith("/") && this.#above.has(path)) return 0;
    if (this.#whole.size > 0) for (const folder of foldersAbove(path)) if (this.#whole.has(folder)) return 0;
    return this.#ofFolder(folderOf(path));
  }

  #ofFolder(folder: string): Distance {
    if (this.#start !== null) return folder.startsWith(this.#start) ? 1 : 2;
    return this.#folders.has(folder) ? 1 : 2;
  }

  #isSameBranch({ worktree, branch }: Session): boolean {
    return worktree === this.#self.worktree || (branch !== null && branch === this.#self.branch);
  }
}

/** The session's own directory. */
function startOf(session: Session): string {
  return within(session, withSlash(session.cwd, true));
}

function* foldersAbove(path: string): Generator<string, void> {
  for (let end = path.indexOf("/"); end !== -1; end = path.indexOf("/", end + 1))
    yield path.slice(0, end + 1);
}

// What each session was told of the others, so that a prompt tells only what changed since. In memory only: after a restart a
// session is told in full once more.
//
// Invariant: a change counts as told when an answer with it was delivered.

/** What a session is told of the others at one time. */
export interface PeerMarks {
  /** Sessions whose work is known, by id: the name, and a mark of the work. */
  readonly sessions: ReadonlyMap<string, Marked>;
  /** Wall time of the latest finished task and of the latest shared value, in milliseconds; 0: there was none. */
  readonly finishedAt: number;
  readonly sharedAt: number;
}

interface Marked {
  readonly name: string;
  readonly mark: string;
}

interface PeerChanges {
  /** Ids of sessions whose work began, changed or is over. */
  readonly changed: ReadonlySet<string>;
  /** Names of sessions that have ended. */
  readonly gone: readonly string[];
  /** What the session was told before; null: nothing. */
  readonly before: PeerMarks | null;
}

export class PeerMemory {
  readonly #told = new BoundedMap<string, PeerMarks>({ entriesMax: limits.notedActorsMax });

  /** Compares with what the session was told before; `isLive` says of an id whether it is a session still. */
  changes(session: string, now: PeerMarks, isLive: (id: string) => boolean): PeerChanges {
    const before = this.#told.get(session) ?? null;
    const left = new Map([...(before?.sessions ?? [])].filter(([id]) => !now.sessions.has(id)));
    const changed = new Set<string>();
    for (const [id, { name, mark }] of now.sessions) {
      const known = before?.sessions.get(id) ?? takeNamed(left, name);
      if (known?.mark !== mark) changed.add(id);
    }
    const gone: string[] = [];
    for (const [id, { name }] of left) {
      if (isLive(id)) changed.add(id);
      else gone.push(name);
    }
    return { changed, gone, before };
  }

  told(session: string, now: PeerMarks): void {
    this.#told.set(session, now);
  }

  forget(session: string): void {
    this.#told.delete(session);
  }
}

/** A session that goes on under another id keeps its name. */
function takeNamed(left: Map<string, Marked>, name: string): Marked | undefined {
  for (const [id, one] of left) {
    if (one.name !== name) continue;
    left.delete(id);
    return one;
  }
  return undefined;
}

/**
 * Returns the other sessions of the project that declared, claimed or keep locked something. What passes by itself does not
 * count.
 */
export function marksOf(source: RowSource, works: SessionWorks, self: Session): PeerMarks["sessions"] {
  const marks = new Map<string, Marked>();
  let left: number = limits.nearSessionsMax;
  // Those that came first, so that the same ones are compared each time.
  for (const one of presentIn(source.engine.state.sessions, self.project)) {
    if (one === self) continue;
    if (left === 0) break;
    left -= 1;
    const { mark } = works.of(source, one);
    if (mark !== null) marks.set(one.id, { name: one.name, mark });
  }
  return marks;
}
