/** The rules of sessions: see `core/rules.ts`. */
import { freeing, lasting, passing } from "../durability.ts";
import type { TimedRules } from "../rules.ts";
import { agentBegin } from "./agents.ts";
import { sessionBegin } from "./begin.ts";
import type { SessionCommands, SessionDues } from "./commands.ts";
import { sessionEnd, sessionFound, sessionLost, sessionSuspend } from "./end.ts";
import { sessionRename } from "./rename.ts";
import { sessionDues, sessionTimers } from "./timers.ts";

export const sessionRules: TimedRules<SessionCommands, SessionDues> = {
  commands: {
    session_begin: passing(sessionBegin),
    session_rename: lasting(sessionRename),
    session_end: freeing(sessionEnd),
    session_lost: freeing(sessionLost),
    session_found: passing(sessionFound),
    session_suspend: passing(sessionSuspend),
    agent_begin: passing(agentBegin),
  },
  timers: sessionTimers,
  dues: sessionDues,
};
