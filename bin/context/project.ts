/** The project around a directory, as the daemon would find it. */

import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { LocalError } from "../../client/errors.ts";
import { BudgetedFs, type Unreachable } from "../../daemon/facts/filesystem.ts";
import { GitFacts, type Repository } from "../../daemon/facts/repositories.ts";
import { limits } from "../../protocol/limits.ts";
import { isResource, lockKey, resourceName, wrongResource } from "../../protocol/names.ts";
import { searchPath } from "../../protocol/paths.ts";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import { quote } from "../../protocol/text.ts";
import { absolute } from "./actor.ts";
import type { ProcessContext } from "./process-context.ts";

// The error for a directory whose project Kite could not determine.

/** Kite could not read the directory in time, so the command's project is unknown. */
export class ProjectUnknown extends LocalError {
  override readonly name = "ProjectUnknown";
}

/** Returns the error for a directory that could not be read. */
export function projectUnknown(cwd: string, why: string): ProjectUnknown {
  return new ProjectUnknown(
    `could not determine the project of ${cwd}: ${why}. Try again, or name it: --project`,
  );
}

export type FindRepository = (directory: string) => Promise<Repository | Unreachable>;

/** Finds the repository under a longer time bound than a lock's, because a person can wait longer. */
export const findRepository: FindRepository = directory => {
  const outside = new BudgetedFs(undefined, undefined, { factMs: limits.commandFactMs });
  return new GitFacts({ outside }).repositoryOf(directory);
};

/** Returns the project of the command's directory, for the words that it prints; null: it cannot be found. */
export async function ownProject({ cwd }: { readonly cwd: string }): Promise<string | null> {
  const found = await findRepository(cwd);
  return "unreachable" in found ? null : found.project;
}

/** Returns the project of directory `cwd`. Throws `ProjectUnknown` instead of guessing a wrong one. */
export async function projectOf(cwd: string, find: FindRepository = findRepository): Promise<string> {
  const found = await find(cwd);
  if ("unreachable" in found) throw projectUnknown(cwd, found.unreachable);
  return found.project;
}

// A directory that a command names.

/** A command names a directory that is not there. */
class NoDirectory extends LocalError {
  override readonly name = "NoDirectory";
}

/** Returns the absolute path of a directory that a command names. Throws `NoDirectory` if none is there. */
export function namedDirectory(cwd: string, directory: string): string {
  const path = resolve(absolute(cwd, directory));
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return path;
  throw new NoDirectory(`there is no directory ${path}; name one of the project`);
}

// Which project a command that shows things shows first.

export interface ScopeFlags {
  readonly all?: boolean;
}

/**
 * Returns the project of `directory`, else of the working directory; null with `--all`, or if the working directory
 * cannot be read. Throws `ProjectUnknown` if a directory that was named cannot.
 */
export async function scopeProject(
  { cwd }: Pick<ProcessContext, "cwd">,
  directory: string | undefined,
  { all }: ScopeFlags,
): Promise<string | null> {
  if (all === true) return null;
  if (directory !== undefined) return projectOf(namedDirectory(cwd, directory));
  try {
    return await projectOf(cwd);
  } catch (error) {
    if (error instanceof ProjectUnknown) return null;
    throw error;
  }
}

/** Returns a file typed in directory `cwd` as the daemon names it; for a deleted file, resolves its directory. */
export async function realPath(cwd: string, file: string): Promise<string> {
  const path = resolve(absolute(cwd, file));
  try {
    return await realpath(path);
  } catch {
    // A deleted file has locks and uncommitted work, too.
    const folder = await realpath(dirname(path)).catch(() => dirname(path));
    return join(folder, basename(path));
  }
}

/** Returns the absolute names of a file typed in `cwd`: as it is typed, and without symbolic links. */
export async function namesOf(cwd: string, file: string): Promise<readonly string[]> {
  return [...new Set([resolve(cwd, file), await realPath(cwd, file)])];
}

/** Returns the same, the real one first, and between them the file itself, also if it is a link now. */
export async function namesBefore(cwd: string, file: string): Promise<readonly string[]> {
  const path = resolve(absolute(cwd, file));
  const beside = join(await realPath(cwd, dirname(path)), basename(path));
  return [...new Set([await realPath(cwd, file), beside, path])];
}

/** Returns true if git does not ignore the file; false if git cannot run. */
export function isUnignored(file: string): boolean {
  const env = { ...process.env, PATH: searchPath(process.env["PATH"]) };
  const args = ["-C", dirname(file), "check-ignore", "-q", file];
  return spawnSync("git", args, { stdio: "ignore", env }).status === 1;
}

// What a command that locks and releases may name: files, and resources (`@db`).

/** A word that begins with @ is no name of a resource, or a file is meant. */
class WrongName extends LocalError {
  override readonly name = "WrongName";
}

/** The fields of a request for locks. */
export interface Lockable {
  readonly file?: string;
  readonly files?: string[];
  readonly resource?: string | string[];
}

/**
 * Returns the words, typed in directory `cwd`, as a request names them. A word that begins with @ is a resource, and
 * the file of that name is `./@name`. Throws `WrongName` and `EmptyName`.
 */
export function lockable(cwd: string, words: readonly string[]): Lockable {
  const resources = words.filter(isResource);
  for (const word of resources) resourceTyped(word);
  const files = words.filter(word => !isResource(word)).map(word => absolute(cwd, word));
  const [[file], [resource]] = [files, resources];
  if (words.length === 1) return file === undefined ? { resource: resource ?? "" } : { file };
  return {
    ...(files.length === 0 ? {} : { files }),
    ...(resources.length === 0 ? {} : { resource: resources }),
  };
}

/** Returns the resource's name. Throws `WrongName` if the word is none. */
export function resourceTyped(word: string): string {
  const wrong = wrongResource(word);
  if (wrong !== null) throw new WrongName(wrong);
  return resourceName(word);
}

/** Returns a word that names a file or a directory. Throws `WrongName` if it begins with @, and so names a resource. */
export function fileTyped(word: string): string {
  if (!isResource(word)) return word;
  throw new WrongName(`${quote(word)} names a resource, not a file; the file is ${quote(`./${word}`)}`);
}

/** Returns a test for the locks on what the word names; `project`: that of the directory. */
export function isOn(cwd: string, word: string, project: string | null) {
  const path = isResource(word) ? word : absolute(cwd, word);
  const key = lockKey({ path, project: project ?? "" });
  return (row: Pick<LockRow, "path" | "project">) => lockKey(row) === key;
}
