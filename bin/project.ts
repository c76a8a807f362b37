/** The project around a directory, as the daemon would find it. */
import { BudgetedFs, type Unreachable } from "../daemon/facts/filesystem.ts";
import { GitFacts, type Repository } from "../daemon/facts/repositories.ts";
import { limits } from "../protocol/limits.ts";
import { projectUnknown } from "./project-unknown.ts";

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
