/**
 * Gives a try tree the folders of dependencies that git ignores: each as a copy that shares its blocks with the worktree's, where the
 * file system can do that, else as a link. A command that writes through such a link writes into the worktree's folder.
 */

import {
  constants,
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { isSystemError } from "../../protocol/errors.ts";
import type { CallerGit } from "./caller-git.ts";
import type { Entry } from "./index-commit.ts";
import { makeFolders } from "./own-tree.ts";

const names: ReadonlySet<string> = new Set(["node_modules", ".venv", "vendor", "target"]);

/** Whether it is a link to such a folder, which a hook that stages all would commit. */
export function isDependencyLink({ path, mode }: Entry): boolean {
  return mode === "120000" && names.has(basename(path));
}

/** Files that a package manager writes whenever it changes such a folder. */
const marks = [".package-lock.json", ".modules.yaml", ".yarn-state.yml", "pyvenv.cfg", "modules.txt"];

/** Such folders of one worktree. */
const foldersMax = 200;

interface Furnishing {
  /** Git in the worktree, which has the folders. */
  readonly git: CallerGit;
  readonly worktree: string;
  /** The top of the tree; real. */
  readonly tree: string;
  /** The beginning of the paths of what Kite keeps beside the tree. */
  readonly own: string;
}

/** Copies or links the folders; those that the worktree has changed since are replaced. */
export async function furnish({ git, worktree, tree, own }: Furnishing): Promise<void> {
  const known = stampsIn(`${own}.copied`);
  const copied: Record<string, string> = {};
  for (const folder of await foldersIn(git, worktree)) {
    const [source, place] = [realpathSync(join(worktree, folder)), join(tree, folder)];
    const stamp = stampOf(source);
    const there = lstatSync(place, { throwIfNoEntry: false });
    if (there?.isDirectory() === true && known[folder] === stamp) copied[folder] = stamp;
    else if (there?.isSymbolicLink() !== true || readlinkSync(place) !== source) {
      rmSync(place, { recursive: true, force: true });
      makeFolders(tree, dirname(folder));
      if (isCloned(source, place, `${own}.copy`)) copied[folder] = stamp;
      else symlinkSync(source, place);
    }
  }
  writeFileSync(`${own}.copied.new`, JSON.stringify(copied), { mode: 0o600 });
  renameSync(`${own}.copied.new`, `${own}.copied`);
}

async function foldersIn(git: CallerGit, worktree: string): Promise<readonly string[]> {
  const words = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"];
  const all = (await git.read(["-c", "core.fsmonitor=false", ...words])).toString().split("\0");
  return all
    .map(file => file.replace(/\/$/, ""))
    .filter(file => names.has(basename(file)) && isFolder(join(worktree, file)))
    .slice(0, foldersMax);
}

/** Whether it is a folder, or a link to one. */
function isFolder(path: string): boolean {
  return existsSync(path) && lstatSync(realpathSync(path)).isDirectory();
}

function stampsIn(file: string): Readonly<Record<string, string>> {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Record<string, string>;
  } catch (error) {
    if (isSystemError(error)) return {}; // The first time.
    throw error;
  }
}

/** What is another text when a package manager has changed the folder. */
function stampOf(folder: string): string {
  const times = ["", ...marks].map(name => lstatSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs);
  return JSON.stringify([folder, ...times]);
}

/** Copies a folder so that both share its blocks; false: the file system cannot. `next`: where the copy is made. */
function isCloned(source: string, place: string, next: string): boolean {
  const probe = firstFile(source);
  if (probe === null) return false;
  const mode = constants.COPYFILE_FICLONE_FORCE;
  try {
    rmSync(next, { recursive: true, force: true });
    copyFileSync(probe, next, mode);
    rmSync(next);
    cpSync(source, next, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true, mode });
    renameSync(next, place);
    return true;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    rmSync(next, { recursive: true, force: true });
    return false;
  }
}

/** A file is looked for at most so deep. */
const probeDepth = 4;

function firstFile(folder: string, depth = 0): string | null {
  const entries = readdirSync(folder, { withFileTypes: true });
  const file = entries.find(entry => entry.isFile());
  if (file !== undefined) return join(folder, file.name);
  if (depth === probeDepth) return null;
  for (const entry of entries) {
    const found = entry.isDirectory() ? firstFile(join(folder, entry.name), depth + 1) : null;
    if (found !== null) return found;
  }
  return null;
}
