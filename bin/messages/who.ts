import { type Acting, actingSession } from "../actor.ts";
import type { ProcessContext } from "../process-context.ts";
import { projectOf } from "../project.ts";

export type Who = Partial<Acting> & { readonly project: string };

/**
 * Returns the sender of a command and its project: the session whose agent runs it, else a person at a terminal; the
 * project of the working directory, or the one given.
 */
export async function who(world: ProcessContext, project?: string): Promise<Who> {
  return { ...actingSession(world.env), project: project ?? (await projectOf(world.cwd)) };
}
