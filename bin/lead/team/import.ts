/** `kite task import --from-team`. */
import type { ProcessContext } from "../../process-context.ts";
import { projectOf } from "../../project.ts";
import { store } from "../../tasks/import.ts";
import { clean, counted } from "../../view/text.ts";
import { fail, withDaemon } from "../../with-daemon.ts";
import { openTasksOf } from "./as-queue.ts";
import { teamsNamed } from "./named.ts";

/** Takes over the open tasks of a team's own list; those that were taken before stay as they are. */
export async function importTeam(
  world: ProcessContext,
  name: string | undefined,
  flags: { readonly project?: string; readonly json?: boolean },
): Promise<number> {
  const json = flags.json === true;
  const project = flags.project ?? (await projectOf(world.cwd));
  return withDaemon(world, json, async client => {
    const named = await teamsNamed(client, name, name === undefined ? { project } : {});
    const [team, ...others] = named;
    if (team === undefined || others.length > 0) {
      const which = named.map(row => row.team).join(", ");
      const error =
        team === undefined
          ? `no live team of Claude Code ${name === undefined ? "in this project" : `is called ${name}`}; kite team lists them`
          : `several teams fit: ${which}; name one of them`;
      return fail(world, json, "invalid_request", error);
    }
    if (team.moreTasks > 0)
      world.stderr.write(`kite: ${counted(team.moreTasks, "task")} of ${clean(team.team)} were not read\n`);
    return store(world, client, { project, json }, openTasksOf(team));
  });
}
