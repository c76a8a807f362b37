import { clientWaitsMaxMs } from "../../protocol/client-waits.ts";
import type { AgentClient } from "../seam/client.ts";

/**
 * What is known of Codex. A server in the background runs the sessions of all its windows and outlives them, so a session
 * that has no turn any more may never be told to have ended.
 */
export const codexClient: AgentClient = {
  name: "codex",
  title: "Codex",
  limits: {
    lockWaitMaxMs: clientWaitsMaxMs.codex,
    namesCalls: true,
    untoldWriteMs: null,
    // It applies the patch itself, with no event after it. Before it may ask a person, and says so.
    untoldPatchMs: 5_000,
    promptsEndTurns: false,
    idleEndMs: 1_800_000,
    clearGoesOnUnless: ["app-server", "mcp-server"],
    tellsSubagents: true,
    refusesStaleWrites: false,
    asksAllFirst: false,
  },
  words: { shellTool: "Bash", placeVariables: ["HOME"], agentVariables: ["KITE_SESSION"] },
};
