/** What events, and the words of a session's process, say of a client's own teams. */
import { needsTeammate } from "../../core/lead/teams.ts";
import type { ActionHandler } from "../../hooks/action.ts";
import type { HookPart } from "../../hooks/points.ts";
import type { LeadServices } from "../services.ts";
import { gateTeam, teamCallOpen } from "./gate.ts";
import { withOrphans } from "./orphans.ts";

type TeamActions = { readonly [D in "gate_team" | "team_call_open"]: ActionHandler<D> };

export const teamActions: TeamActions = { gate_team: gateTeam, team_call_open: teamCallOpen };

export const teamPart: HookPart<LeadServices> = {
  homeTold: ({ teams }, session, home) => teams.saw(session, home),
  introduction: ({ facts, teams }, session, pid) => {
    const anchor = facts.anchor(pid);
    const teammate = anchor === null ? null : teams.processAt(anchor).teammate;
    if (teammate === null) return null;
    return {
      name: teammate.name,
      command: { type: "teammate_named", session, agent: null, ...teammate },
    };
  },
  teammate: ({ engine }, { whose, active, teammate }) => {
    const { session, agent } = whose;
    const live = engine.state.sessions.live.get(session);
    if (live === undefined) return;
    // The daemon may not have applied the agent's beginning yet; the core decides then.
    const isNew = active === true && agent !== null && !live.agents.has(agent);
    if (isNew || needsTeammate(engine.state, live, agent, teammate))
      engine.submitWithRetry({ type: "teammate_named", session, agent, ...teammate });
  },
  turnOver: ({ teams }, session) => teams.turnEnded(session),
  teamIdle: ({ teams }, team) => teams.idleNoticed(team),
  completed: withOrphans,
};
