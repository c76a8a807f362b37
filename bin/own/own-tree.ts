/**
 * The files of a commit with the caller's own part alone: as a tree of git, and as files of a worktree that nobody else writes.
 */

import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { isSystemError } from "../../protocol/errors.ts";
import type { CallerGit } from "./caller-git.ts";
import type { FileState, OwnFile } from "./part.ts";

/** What git has of a path; null: nothing. */
export interface Entry {
  readonly mode: string;
  readonly blob: string;
}

/** Git without hooks: `post-index-change` and `post-checkout` are not the caller's commands. */
export const quiet = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"] as const;

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

/** Makes the tree that the commit has with these files, and returns its id. `worktree`: where a file too long to read is. */
export async function ownTree(
  git: CallerGit,
  commit: string,
  states: ReadonlyMap<string, FileState | null>,
  worktree: string,
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "kite-own-"));
  try {
    const index = join(folder, "index");
    await git.read([...quiet, "read-tree", commit], { index });
    const entries: (readonly [string, Entry | null])[] = [];
    for (const [file, state] of states) entries.push([file, await entryOf(git, file, state, worktree)]);
    await putEntries(git, entries, { index });
    return await git.line([...quiet, "write-tree"], { index });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Stores a content as `git add` would, and returns its entry; null: there is no file. */
export async function entryOf(
  git: CallerGit,
  file: string,
  state: FileState | null,
  worktree: string,
): Promise<Entry | null> {
  if (state === null || state.mode === null) return null;
  const { content, mode } = state;
  const how = mode === "120000" ? ["--no-filters"] : [`--path=${file}`];
  const blob =
    content === null
      ? await git.line(["hash-object", "-w", "--", join(worktree, file)])
      : await git.line(["hash-object", "-w", ...how, "--stdin"], { input: content });
  return { mode, blob };
}

/** Writes entries of an index; null removes one. Throws `ProgramFailed`, also if another program writes it. */
export async function putEntries(
  git: CallerGit,
  entries: readonly (readonly [string, Entry | null])[],
  options: { readonly index?: string } = {},
): Promise<void> {
  const gone = entries.flatMap(([file, entry]) => (entry === null ? [`${file}\0`] : [])).join("");
  const put = entries
    .flatMap(([file, entry]) => (entry === null ? [] : [`${entry.mode} ${entry.blob}\t${file}\0`]))
    .join("");
  const how = [...quiet, "update-index", "-z"];
  if (gone !== "") await git.read([...how, "--force-remove", "--stdin"], { input: gone, ...options });
  if (put !== "") await git.read([...how, "--index-info"], { input: put, ...options });
}

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
