import { readPersonToken } from "../../daemon/instance/socket.ts";
import { personName } from "../../protocol/names.ts";
import { seemsAgents } from "../person.ts";
import type { ProcessContext } from "../process-context.ts";
import { scopeProject } from "../scope.ts";
import type { Viewer } from "./wire.ts";

/** Who looks. Null: an agent that is in no project. */
export async function viewerOf(world: ProcessContext, directory: string | undefined): Promise<Viewer | null> {
  const here = await scopeProject(world, undefined, {});
  const isPerson = !(await seemsAgents(world)) && readPersonToken(world.paths.personToken) !== null;
  const named = directory === undefined ? null : await scopeProject(world, directory, {});
  const project = isPerson ? named : here;
  if (project === null && !isPerson) return null;
  return { isPerson, project, here, home: world.env["HOME"] ?? "", user: personName() };
}
