import { clientWaitsMaxMs } from "../../protocol/client-waits.ts";
import type { AgentClient } from "../seam/client.ts";

/**
 * What is known of Copilot. Esc does not end a held hook, and the next prompt waits for it: waits are short. A hook that
 * fails denies the call, one that is too slow lets it through.
 */
export const copilotClient: AgentClient = {
  name: "copilot",
  title: "Copilot",
  limits: {
    lockWaitMaxMs: clientWaitsMaxMs.copilot,
    namesCalls: false,
    // A person may be asked about the call meanwhile, and nothing says so.
    untoldWriteMs: 600_000,
    untoldPatchMs: null,
    promptsEndTurns: true,
    idleEndMs: null,
    clearGoesOnUnless: null,
    tellsSubagents: true,
    refusesStaleWrites: false,
    asksAllFirst: true,
  },
  words: { shellTool: "Bash", placeVariables: ["HOME"], agentVariables: ["KITE_SESSION"] },
};
