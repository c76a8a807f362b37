/** The project around a directory, as the daemon would find it. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { LocalError } from "../client/errors.ts";
import { BudgetedFs, type Unreachable } from "../daemon/facts/filesystem.ts";
import { GitFacts, type Repository } from "../daemon/facts/repositories.ts";
import { limits } from "../protocol/limits.ts";

/** Kite could not read the directory in time, so the command's project is unknown. */
export class ProjectUnknown extends LocalError {
  override readonly name = "ProjectUnknown";
}

/** A command names a directory that is not there. */
export class NoDirectory extends LocalError {
  override readonly name = "NoDirectory";
}

/** Returns the absolute path of a directory that a command names. Throws `NoDirectory` if none is there. */
export function namedDirectory(cwd: string, directory: string): string {
  const path = resolve(cwd, directory);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return path;
  throw new NoDirectory(`there is no directory ${path}; name one of the project`);
}

export type FindRepository = (directory: string) => Promise<Repository | Unreachable>;

/** Finds the repository under a longer time bound than a lock's, because a person can wait longer. */
export const findRepository: FindRepository = directory => {
  const outside = new BudgetedFs(undefined, undefined, { factMs: limits.commandFactMs });
  return new GitFacts({ outside }).repositoryOf(directory);
};

/** Returns the project of directory `cwd`. Throws `ProjectUnknown` instead of guessing a wrong one. */
export async function projectOf(cwd: string, find: FindRepository = findRepository): Promise<string> {
  const found = await find(cwd);
  if ("unreachable" in found) throw projectUnknown(cwd, found.unreachable);
  return found.project;
}

/** Returns the error for a directory that could not be read. */
export function projectUnknown(cwd: string, why: string): ProjectUnknown {
  return new ProjectUnknown(
    `could not determine the project of ${cwd}: ${why}. Try again, or name it: --project`,
  );
}
