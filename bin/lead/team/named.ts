import type { TeamRow } from "../../../protocol/lead/team.ts";
import type { Client } from "../../process-context.ts";
import { rowsOf } from "../../with-daemon.ts";

/** The teams that a word means: a team's name or the beginning of it, its lead, or one of its members; without it all. */
export async function teamsNamed(
  client: Client,
  name: string | undefined,
  scope: { readonly project?: string },
): Promise<readonly TeamRow[]> {
  const teams = await rowsOf(client, "teams", scope);
  if (name === undefined) return teams;
  const exact = teams.filter(({ team, lead, leadName }) => [team, lead, leadName].includes(name));
  if (exact.length > 0) return exact;
  return teams.filter(
    ({ team, lead, members }) =>
      team.startsWith(name) ||
      lead?.startsWith(name) === true ||
      members.some(member => member.name === name || member.shownAs === name),
  );
}
