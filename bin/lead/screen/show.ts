/** `kite status --lead`. */
import { limits } from "../../../protocol/limits.ts";
import { actingSession } from "../../actor.ts";
import type { ProcessContext } from "../../process-context.ts";
import { projectOf } from "../../project.ts";
import { printShown, withDaemon } from "../../with-daemon.ts";
import { leadView } from "../view/lead.ts";
import { leadData } from "./look.ts";

/** Shows one screen for the lead of the working directory's project. Returns the exit code. */
export async function showLead(world: ProcessContext, json: boolean): Promise<number> {
  const project = await projectOf(world.cwd);
  const acting = actingSession(world.env);
  const reader = acting === null ? null : { id: acting.id, agent: acting.agent ?? null };
  return withDaemon(world, json, async client => {
    const data = await leadData(client, project, reader, world.now() - limits.leadNewsMs);
    return printShown(world, json, data, screen => leadView(data, screen));
  });
}
