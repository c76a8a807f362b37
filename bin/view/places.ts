/** How projects, worktrees and files are named to a person. */
import { basename, dirname } from "node:path";
import type { LockRow } from "../../protocol/lock.ts";
import type { SessionRow } from "../../protocol/session.ts";
import { clean } from "./text.ts";

/** `path` with the home directory as `~`. */
export function tilde(path: string, home: string): string {
  if (home !== "" && path === home) return "~";
  return home !== "" && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

/** The directory a project's people know: that of the main worktree, else the project itself. */
export function projectRoot(project: string): string {
  return basename(project) === ".git" ? dirname(project) : project;
}

/** A project's short name. */
export function projectName(project: string): string {
  return clean(basename(projectRoot(project)) || project);
}

/** Where a session works: its branch, and its worktree where that is not the project's main one. */
export function whereabouts(session: SessionRow): string {
  const branch = session.branch === null ? "" : clean(session.branch);
  if (session.worktree === projectRoot(session.project)) return branch;
  const worktree = clean(basename(session.worktree));
  return branch === "" || branch === worktree ? `${worktree}/` : `${worktree}/ ${branch}`;
}

/** Knows the worktrees of a project, so that a path can be told by the one it lies in. */
export class Places {
  readonly #roots: readonly string[];
  readonly #mainRoots: ReadonlySet<string>;
  readonly #home: string;

  constructor(sessions: readonly SessionRow[], locks: readonly LockRow[], home: string) {
    const main = [...sessions, ...locks].map(row => projectRoot(row.project)).filter(p => p.startsWith("/"));
    this.#mainRoots = new Set(main);
    const roots = new Set([...main, ...sessions.map(s => s.worktree)]);
    this.#roots = [...roots].sort((a, b) => b.length - a.length);
    this.#home = home;
  }

  /**
   * `path` relative to the worktree it lies in, with the worktree's name in front (`pay:src/a.ts`) where that is
   * not the project's main one; outside of all of them, or relative already, the path itself.
   */
  file(path: string): string {
    if (!path.startsWith("/")) return clean(path);
    const root = this.#roots.find(r => path === r || path.startsWith(r.endsWith("/") ? r : `${r}/`));
    if (root === undefined) return clean(tilde(path, this.#home));
    const inside = path.slice(root.length).replace(/^\//, "") || "./";
    return clean(this.#mainRoots.has(root) ? inside : `${basename(root)}:${inside}`);
  }

  /** A lock's file; a directory that was locked as one ends in a slash. */
  lock(row: Pick<LockRow, "file" | "path">): string {
    const file = this.file(row.path);
    return row.file.endsWith("/") && !file.endsWith("/") ? `${file}/` : file;
  }
}
