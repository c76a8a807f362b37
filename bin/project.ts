/** The project around a directory, as the daemon would find it. */
import { LocalError } from "../client/errors.ts";
import { BudgetedFs, type Unreachable } from "../daemon/facts/filesystem.ts";
import { GitFacts, type Repository } from "../daemon/facts/repositories.ts";
import { limits } from "../protocol/limits.ts";

/** The directory could not be looked at in time: where a command would act is not known. */
export class ProjectUnknown extends LocalError {
  override readonly name = "ProjectUnknown";
}

export type FindRepository = (directory: string) => Promise<Repository | Unreachable>;

/** A person who waits waits longer than a lock may. */
export const findRepository: FindRepository = directory => {
  const outside = new BudgetedFs(undefined, undefined, { factMs: limits.commandFactMs });
  return new GitFacts({ outside }).repositoryOf(directory);
};

/** The project of directory `cwd`. Throws `ProjectUnknown`: in another one the command would do something else. */
export async function projectOf(cwd: string, find: FindRepository = findRepository): Promise<string> {
  const found = await find(cwd);
  if ("unreachable" in found) {
    throw new ProjectUnknown(
      `the project of ${cwd} is not known: ${found.unreachable}. Try again, or name it: --project`,
    );
  }
  return found.project;
}
