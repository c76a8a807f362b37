/** How the trail names what a command's argument means. */
import { isOfMachine, isResource, lockKey } from "../../protocol/resource.ts";
import { resourceTyped } from "../lockable.ts";
import type { ProcessContext } from "../process-context.ts";
import { projectOf } from "../project.ts";
import { namesOf } from "../real-path.ts";

/** Returns all absolute names of a file that was typed; of a resource its key. Throws `WrongName`. */
export async function trailNames({ cwd }: ProcessContext, typed: string): Promise<readonly string[]> {
  if (!isResource(typed)) return namesOf(cwd, typed);
  const path = resourceTyped(typed);
  return [lockKey({ path, project: isOfMachine(path) ? "" : await projectOf(cwd) })];
}
