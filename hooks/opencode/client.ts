import { clientWaitsMaxMs } from "../../protocol/client-waits.ts";
import type { AgentClient } from "../seam/client.ts";

/**
 * What is known of OpenCode. A plugin in the client's process sends the events. One process may run many sessions; a subagent
 * is a session of the client, and an agent within its session here.
 */
export const opencodeClient: AgentClient = {
  name: "opencode",
  title: "OpenCode",
  limits: {
    lockWaitMaxMs: clientWaitsMaxMs.opencode,
    namesCalls: true,
    untoldWriteMs: null,
    untoldPatchMs: null,
    promptsEndTurns: false,
    idleEndMs: null,
    clearGoesOnUnless: null,
    tellsSubagents: true,
    refusesStaleWrites: false,
    asksAllFirst: false,
  },
  words: { shellTool: "bash", placeVariables: ["HOME"], agentVariables: ["KITE_SESSION", "KITE_AGENT"] },
};
