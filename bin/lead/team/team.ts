/** `kite team`. */
import { type ProcessContext, printFramed, printJson, screenOf } from "../../process-context.ts";
import { exitCodes, fail, withDaemon } from "../../with-daemon.ts";
import { teamsView } from "../view/team.ts";
import { teamsNamed } from "./named.ts";

/** Shows the teams that `name` means, or all. */
export async function team(world: ProcessContext, name: string | undefined, json: boolean): Promise<number> {
  return withDaemon(world, json, async client => {
    const teams = await teamsNamed(client, name, {});
    if (name !== undefined && teams.length === 0) {
      fail(world, json, "invalid_request", `no live team of Claude Code fits ${name}; kite team lists them`);
      return exitCodes.failed;
    }
    if (json) printJson(world, { teams });
    else printFramed(world, teamsView(teams, screenOf(world)));
    return exitCodes.done;
  });
}
