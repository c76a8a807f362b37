/**
 * The files of a commit with the caller's own part alone: as a tree of git, and as files of a worktree that nobody else writes.
 */

import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { isSystemError } from "../../protocol/errors.ts";
import type { CallerGit } from "./caller-git.ts";
import { type Entry, entryOf, treeWith } from "./index-commit.ts";
import type { FileState, OwnFile } from "./part.ts";

/**
 * Returns what the files are with the caller's own part alone, by path; null: no file. A file of which nothing is the caller's, or
 * that Kite saw nobody write, is not among them.
 */
export function ownStates(files: readonly OwnFile[]): ReadonlyMap<string, FileState | null> {
  const states = new Map<string, FileState | null>();
  for (const { file, was, own, isSeen } of files) {
    if (own === null || !isSeen) continue;
    if (was !== null) states.set(was, null);
    states.set(file, own.mode === null ? null : own);
  }
  return states;
}

/** Makes the tree that the commit has with these files, and returns its id. `index`: a file that nobody else uses. */
export async function ownTree(
  git: CallerGit,
  index: string,
  commit: string,
  states: ReadonlyMap<string, FileState | null>,
): Promise<string> {
  const entries: Entry[] = [];
  for (const [file, state] of states) entries.push(await entryOf(git, file, state ?? noFile));
  const tree = await treeWith(git, index, commit, entries);
  rmSync(index, { force: true });
  return tree;
}

/** The state of a path at which there is nothing. */
export const noFile: FileState = { content: null, mode: null };

/** Whether a path has this already. */
export function hasState(path: string, state: FileState | null): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (state === null || state.mode === null) return stat === undefined || stat.isDirectory();
  const { content, mode } = state;
  if (stat === undefined || content === null) return false;
  if (mode === "120000") return stat.isSymbolicLink() && readlinkSync(path, "buffer").equals(content);
  const isRun = (stat.mode & 0o100) !== 0;
  return stat.isFile() && isRun === (mode === "100755") && readFileSync(path).equals(content);
}

/** Writes a file of a worktree that nobody else writes, unless it is so already. `root` is real; nothing outside of it is written. */
export function placeState(root: string, file: string, state: FileState | null): void {
  const path = join(root, file);
  const isInside = isBelow(root, dirname(path));
  if (isInside && hasState(path, state)) return;
  if (state === null || state.mode === null) {
    if (!isInside) return;
    rmSync(path, { force: true });
    removeEmptyFolders(root, dirname(path));
    return;
  }
  if (state.content === null) return;
  makeFolders(root, dirname(file));
  rmSync(path, { force: true, recursive: true });
  if (state.mode === "120000") symlinkSync(state.content, path);
  else {
    writeFileSync(path, state.content);
    chmodSync(path, state.mode === "100755" ? 0o755 : 0o644);
  }
}

/** Whether the folder is the root or in it, and no link leads out. */
function isBelow(root: string, folder: string): boolean {
  try {
    const real = realpathSync(folder);
    return real === root || real.startsWith(`${root}/`);
  } catch (error) {
    if (isSystemError(error)) return false;
    throw error;
  }
}

/** Makes the folders, each a real one: a file or a link in the place of one goes. */
export function makeFolders(root: string, folder: string): void {
  let at = root;
  for (const name of folder === "." ? [] : folder.split("/")) {
    at = join(at, name);
    const stat = lstatSync(at, { throwIfNoEntry: false });
    if (stat?.isDirectory() === true) continue;
    if (stat !== undefined) rmSync(at);
    mkdirSync(at);
  }
}

/** Removes a folder, and those above it, as long as they are empty; never the root. */
export function removeEmptyFolders(root: string, folder: string): void {
  for (let at = folder; at.startsWith(`${root}/`); at = dirname(at)) {
    try {
      rmdirSync(at);
    } catch (error) {
      if (isSystemError(error)) return;
      throw error;
    }
  }
}
