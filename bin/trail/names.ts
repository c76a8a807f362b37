/** How the trail names what a command's argument means. */
import { isOfMachine, isResource, lockKey } from "../../protocol/names.ts";
import { actingSession } from "../actor.ts";
import { resourceTyped } from "../lockable.ts";
import { connected } from "../named-session.ts";
import type { ProcessContext } from "../process-context.ts";
import { projectOf } from "../project.ts";
import { namesOf } from "../real-path.ts";
import { rowsOf } from "../with-daemon.ts";
import { withHostNames } from "./host-names.ts";

/** Returns all absolute names of a file that was typed; of a resource its key. Throws `WrongName`, and `Refused` of a query. */
export async function trailNames(world: ProcessContext, typed: string): Promise<readonly string[]> {
  if (!isResource(typed)) return withHostNames(world, await namesOf(world.cwd, typed));
  const path = resourceTyped(typed);
  return [lockKey({ path, project: isOfMachine(path) ? "" : await resourceProject(world) })];
}

/** An agent's resources are those of its session's project, wherever its shell is; without a daemon, the directory's. */
async function resourceProject(world: ProcessContext): Promise<string> {
  const acting = actingSession(world.env);
  const client = acting === null ? null : await connected(world);
  try {
    const sessions = client === null ? [] : await rowsOf(client, "sessions", { id: acting?.id ?? "" });
    return sessions[0]?.project ?? (await projectOf(world.cwd));
  } finally {
    client?.close();
  }
}
