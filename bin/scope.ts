/** Which project a command that shows things shows first. */
import { namedDirectory } from "./named-directory.ts";
import type { ProcessContext } from "./process-context.ts";
import { projectOf } from "./project.ts";
import { ProjectUnknown } from "./project-unknown.ts";

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
