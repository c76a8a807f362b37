/** `kite team`. */
import type { ProcessContext } from "../../process-context.ts";
import { fail, printShown, withDaemon } from "../../with-daemon.ts";
import { teamsView } from "../view/team.ts";
import { teamsNamed } from "./named.ts";

/** Shows the teams that `name` means, or all. */
export async function team(world: ProcessContext, name: string | undefined, json: boolean): Promise<number> {
  return withDaemon(world, json, async client => {
    const teams = await teamsNamed(client, name, {});
    if (name !== undefined && teams.length === 0) {
      const error = `no live team of Claude Code fits ${name}; kite team lists them`;
      return fail(world, json, "invalid_request", error);
    }
    return printShown(world, json, { teams }, screen => teamsView(teams, screen));
  });
}
