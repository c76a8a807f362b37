import { clientWaitsMaxMs } from "../../protocol/client-waits.ts";
import type { AgentClient } from "../seam/client.ts";

/**
 * What is known of Gemini CLI. Esc does not end a held hook, and the next prompt waits for it: waits are short. A hook whose
 * program is missing blocks the call, one that is too slow lets it through.
 */
export const geminiClient: AgentClient = {
  name: "gemini",
  title: "Gemini CLI",
  limits: {
    lockWaitMaxMs: clientWaitsMaxMs.gemini,
    namesCalls: false,
    // A dialog for a person is told. After Esc the client tells no end of an edit.
    untoldWriteMs: 60_000,
    untoldPatchMs: null,
    promptsEndTurns: true,
    idleEndMs: null,
    clearGoesOnUnless: null,
    tellsSubagents: false,
    refusesStaleWrites: false,
    asksAllFirst: false,
  },
  words: { shellTool: "run_shell_command", placeVariables: ["HOME"], agentVariables: ["KITE_SESSION"] },
};
