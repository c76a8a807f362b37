/** What spawned agents have to do with events of hooks. */
import { isFinal, spawnAt } from "../../core/lead/tables/spawns.ts";
import type { HookPart } from "../../hooks/points.ts";
import type { LeadServices } from "../services.ts";
import { beginningIn, isBackInWorktree, spawnPrompted, spawnSeen, spawnTurnOver } from "./session.ts";

export const spawnPart: HookPart<LeadServices> = {
  isElsewhere: isBackInWorktree,
  beginsIn: beginningIn,
  alive: (services, { whose, active, attention }) => {
    if (active === true || attention !== undefined) spawnSeen(services, whose.session);
  },
  turnOver: spawnTurnOver,
  prompted: spawnPrompted,
  waitsFor: ({ engine }, session) => {
    const spawn = spawnAt(engine.state.spawns, session);
    return { isAlone: spawn !== undefined && !isFinal(spawn.state) };
  },
};
