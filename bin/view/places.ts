/** Names of projects, worktrees and files as people see them. */
import { basename, dirname } from "node:path";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import { clean } from "./text.ts";

/** `path` with the home directory as `~`. */
export function tilde(path: string, home: string): string {
  if (home !== "" && path === home) return "~";
  return home !== "" && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

/** Returns the main worktree's directory, which people know a project by, else the project itself. */
export function projectRoot(project: string): string {
  return basename(project) === ".git" ? dirname(project) : project;
}

/** A project's short name. */
export function projectName(project: string): string {
  return clean(basename(projectRoot(project)) || project);
}

/** Returns a session's branch, and its worktree if that is not the project's main one. */
export function whereabouts(session: SessionRow): string {
  const branch = clean(session.head ?? session.branch ?? "");
  if (session.worktree === projectRoot(session.project)) return branch;
  const worktree = clean(basename(session.worktree));
  return branch === "" || branch === worktree ? `${worktree}/` : `${worktree}/ ${branch}`;
}

/** The worktrees of projects, to name a path by the worktree that contains it. */
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
   * Returns `path` relative to its worktree, with the worktree's name in front (`pay:src/a.ts`) if that is not the
   * project's main one. Returns the path itself if it is relative or in no known worktree.
   */
  file(path: string): string {
    if (!path.startsWith("/")) return clean(path);
    const root = this.#roots.find(r => path === r || path.startsWith(r.endsWith("/") ? r : `${r}/`));
    if (root === undefined) return clean(tilde(path, this.#home));
    const inside = path.slice(root.length).replace(/^\//, "") || "./";
    return clean(this.#mainRoots.has(root) ? inside : `${basename(root)}:${inside}`);
  }

  /** Returns a lock's file; a locked directory ends in a slash. */
  lock(row: Pick<LockRow, "file" | "path">): string {
    const file = this.file(row.path);
    return row.file.endsWith("/") && !file.endsWith("/") ? `${file}/` : file;
  }
}
