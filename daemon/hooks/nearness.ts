/**
 * How near the work of other sessions is to one's own: the same files first, then the same directory, then the same branch.
 * Files are compared by their paths within their worktrees, because what two worktrees change has to be merged.
 */
import { limits } from "../../protocol/limits.ts";
import type { Session } from "../core/tables/base-state.ts";
import { least } from "../least.ts";
import type { RowSource } from "../views/row.ts";
import { folderOf, type SessionWorks, within, withSlash } from "./session-work.ts";

/** What sessions' work is looked up in. */
export interface WorkSource extends RowSource {
  readonly sessionWorks: SessionWorks;
}

/** 0: the same file; 1: the same directory; 2: neither. */
type Distance = 0 | 1 | 2;

/** The files and directories of one session's work, by which others are compared. */
export class Nearness {
  readonly #self: Session;
  readonly #source: WorkSource;
  readonly #files: ReadonlySet<string>;
  /** Directories that are part of the work as a whole. */
  readonly #whole: ReadonlySet<string>;
  /** The directories of the files. */
  readonly #folders: ReadonlySet<string>;
  /** Where a session without files will work: there and below; null: it has files. */
  readonly #start: string | null;
  /** Every directory above a file. */
  readonly #above: ReadonlySet<string>;

  constructor(source: WorkSource, self: Session) {
    this.#self = self;
    this.#source = source;
    const work = source.sessionWorks.of(source, self).paths;
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
    const { folders } = this.#source.sessionWorks.of(this.#source, session);
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
