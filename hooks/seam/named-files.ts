/** The files that plain commands of a shell line name: between an adapter and the daemon. */

/** A path that a command names. It is absolute, perhaps with a `topFolder`, and may be a pattern of the shell's. */
export interface NamedPath {
  /** The command in short form: `rm`, `sed -i`. */
  readonly name: string;
  readonly path: string;
}

/** A command leaves none of what is in the file. */
export interface WipedPath extends NamedPath {
  /** Files below the path, too. */
  readonly isDeep: boolean;
  /** The file at the path is removed; a symbolic link there, and not what it leads to. */
  readonly isRemoved: boolean;
  /** Only files are wiped that are below `from` as they are below `to`. */
  readonly copied?: { readonly from: string; readonly to: string };
}

/** A command changes a part of the file, or moves it. A folder is changed only if it is moved. */
export interface EditedPath extends NamedPath {
  readonly isMoved: boolean;
}

export interface NamedFiles {
  readonly wiped: readonly WipedPath[];
  readonly edited: readonly EditedPath[];
  /** Files that the line writes anew, by `tee` or a redirection: the guard of its git commands looks at these. */
  readonly rewritten: readonly NamedPath[];
}
