import { type Acting, actingSession } from "../actor.ts";
import type { ProcessContext } from "../process-context.ts";
import { projectOf } from "../project.ts";

export type Who = Partial<Acting> & { readonly project: string };

/**
 * In whose name a command speaks, and where: the session whose agent typed it, else a person at a terminal; in the
 * project of the working directory, or in the one given.
 */
export async function who(world: ProcessContext, project?: string): Promise<Who> {
  return { ...actingSession(world.env), project: project ?? (await projectOf(world.cwd)) };
}
