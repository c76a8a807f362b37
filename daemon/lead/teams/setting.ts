/** The setting `teams`. */
import { type TeamMode, teamModes } from "../../../protocol/lead/team.ts";
import { oneOf, type SettingTable, setting } from "../../config/setting.ts";

export const teamSettings = {
  /** What the rules of a client's own teams do with a call that breaks one. A project may only make it stricter. */
  teams: setting<TeamMode>({
    says: "calls that break the rules of Claude Code's own teams: enforce, warn or off",
    schema: oneOf(teamModes),
    initial: "enforce",
    variable: "KITE_TEAMS",
    tighten: (user, project) => {
      if (project === user) return null;
      if (teamModes.indexOf(project) > teamModes.indexOf(user)) return { value: project };
      return { ignored: `teams ${project} is ignored: a project may only make it stricter (${user})` };
    },
  }),
} satisfies SettingTable;
