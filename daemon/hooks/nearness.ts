/**
 * How near the work of other sessions is to one's own: the same files first, then the same directory, then the same branch.
 * Files are compared by their paths within their worktrees, because what two worktrees change has to be merged.
 */
import { limits } from "../../protocol/limits.ts";
import { declarationsOf } from "../core/declarations/table.ts";
import { pathOfWork } from "../core/files/dirty-files.ts";
import { rowsOfSession } from "../core/locks/by-actor.ts";
import { pathOf } from "../core/locks/replies.ts";
import type { Hold, Session } from "../core/state.ts";
import type { RowSource } from "../views/sessions-and-locks.ts";

/** 0: the same file; 1: the same directory; 2: neither. */
type Distance = 0 | 1 | 2;

/** Returns the latest locks of a session and its agents, the latest first; at most `limits.glanceLocksMax`. */
export function latestHolds({ engine: { state } }: Pick<RowSource, "engine">, session: string): Hold[] {
  const latest: Hold[] = [];
  for (const { holds } of rowsOfSession(state.locks.actors, session, null)) {
    let passed = holds.size - limits.glanceLocksMax;
    for (const key of holds) {
      const hold = passed > 0 ? undefined : state.locks.holds.get(key);
      passed -= 1;
      if (hold !== undefined) latest.push(hold);
    }
  }
  return latest.sort((a, b) => b.first.grant - a.first.grant).slice(0, limits.glanceLocksMax);
}

/** The files and directories of one session's work, by which others are compared. */
export class Nearness {
  readonly #self: Session;
  readonly #source: RowSource;
  readonly #files: ReadonlySet<string>;
  /** Directories that are part of the work as a whole. */
  readonly #whole: ReadonlySet<string>;
  /** The directories of the files. */
  readonly #folders: ReadonlySet<string>;
  /** Where a session without files will work: there and below; null: it has files. */
  readonly #start: string | null;
  /** Every directory above a file. */
  readonly #above: ReadonlySet<string>;

  constructor(source: RowSource, self: Session) {
    this.#self = self;
    this.#source = source;
    const work = workOf(source, self);
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

  /** Sorts files of another session, the nearest first; the order of equally near ones stays. */
  sortFiles<File extends { readonly path: string }>(files: readonly File[], of: Session): File[] {
    const distances = new Map(files.map(file => [file, this.#ofPath(within(of, file.path))]));
    return [...files].sort((a, b) => (distances.get(a) ?? 2) - (distances.get(b) ?? 2));
  }

  #ofSession(session: Session): Distance {
    const work = workOf(this.#source, session);
    let nearest: Distance = work.length === 0 ? this.#ofFolder(startOf(session)) : 2;
    for (const path of work) {
      const distance = this.#ofPath(path);
      if (distance < nearest) nearest = distance;
    }
    return nearest;
  }

  #ofPath(path: string): Distance {
    if (this.#files.has(path) || this.#whole.has(path)) return 0;
    if (path.endsWith("/") && this.#above.has(path)) return 0;
    for (const folder of foldersAbove(path)) if (this.#whole.has(folder)) return 0;
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

/** The files that the session holds, declared, changed or touched, within its worktree; directories end with a slash. */
function workOf(source: RowSource, session: Session): string[] {
  const { state } = source.engine;
  const max = limits.nearFilesMax;
  const held = latestHolds(source, session.id).map(hold => withSlash(pathOf(hold), hold.dir));
  const declared = declarationsOf(state.declarations, session.id).flatMap(({ files }) =>
    files.slice(0, max).map(({ path, dir }) => withSlash(path, dir)),
  );
  const dirty = [...(state.writes.byWriter.get(session.id) ?? [])].slice(-max).flatMap(key => {
    const work = state.writes.files.get(key);
    return work === undefined ? [] : [pathOfWork(work)];
  });
  const touched = [...source.presence.of(session.id).files.values()].slice(-max);
  return [...held, ...declared, ...dirty, ...touched].map(path => within(session, path));
}

/** The session's own directory. */
function startOf(session: Session): string {
  return within(session, withSlash(session.cwd, true));
}

function withSlash(path: string, isDirectory: boolean): string {
  return isDirectory && !path.endsWith("/") ? `${path}/` : path;
}

/** The path within the session's worktree, if it is in it. */
function within({ worktree }: Session, path: string): string {
  const top = withSlash(worktree, true);
  return path.startsWith(top) ? path.slice(top.length) : path;
}

/** The directory of a file, or the directory itself; empty: the top of the worktree. */
function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}

function* foldersAbove(path: string): Generator<string, void> {
  for (let end = path.indexOf("/"); end !== -1; end = path.indexOf("/", end + 1))
    yield path.slice(0, end + 1);
}
