/** Files as commands name them. */

/**
 * A file as its request named it (`file`), as an absolute path without resolved links (`lexical`), and as its lock
 * key. `dir`: the whole subtree. `path`: the unfolded path if the key is case-folded. To show a file to people,
 * use `pathOf`.
 */
export interface FileRef {
  readonly file: string;
  readonly lexical: string;
  readonly key: string;
  readonly dir: boolean;
  readonly path?: string | undefined;
}

/** A file to release: `lexical` is enough to find it; `key` is null if the daemon could not resolve the path. */
export interface FileName {
  readonly file: string;
  readonly lexical: string;
  readonly key: string | null;
  readonly path?: string | undefined;
}

/** A written file of a repository: `file` is its path from the worktree's top, for people. */
export interface Written {
  readonly key: string;
  readonly file: string;
  /** Real path of the worktree's top. */
  readonly worktree: string;
  readonly project: string;
}

/** Whether the path is within a worktree: it names no root, and leads nowhere out of it. */
export function isWithin(path: string): boolean {
  return path.split("/").every(part => part !== "" && part !== "." && part !== "..");
}
