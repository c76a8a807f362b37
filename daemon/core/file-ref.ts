/** Files as commands name them. */

/**
 * A file as its request named it (`file`), as an absolute path in words alone (`lexical`), and as the key it
 * locks by. `dir`: the whole subtree. `path`: the key's path as it is spelled, where the key is folded; what people
 * are shown is `pathOf` of the whole.
 */
export interface FileRef {
  readonly file: string;
  readonly lexical: string;
  readonly key: string;
  readonly dir: boolean;
  readonly path?: string | undefined;
}

/** To give up, only `lexical` need be known; `key` is null where the path could not be looked at. */
export interface FileName {
  readonly file: string;
  readonly lexical: string;
  readonly key: string | null;
  readonly path?: string | undefined;
}

/** A file of a repository that was written: `file` is its path from the worktree's top, for people. */
export interface Written {
  readonly key: string;
  readonly file: string;
  /** Real path of the worktree's top. */
  readonly worktree: string;
  readonly project: string;
}
