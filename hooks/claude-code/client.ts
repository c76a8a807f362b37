import { clientWaitsMaxMs } from "../../protocol/client-waits.ts";
import type { AgentClient } from "../seam/client.ts";

/** What is known of Claude Code. */
export const claudeCodeClient: AgentClient = {
  name: "claude-code",
  title: "Claude Code",
  limits: {
    lockWaitMaxMs: clientWaitsMaxMs["claude-code"],
    namesCalls: true,
    untoldWriteMs: null,
    untoldPatchMs: null,
    promptsEndTurns: false,
    idleEndMs: null,
    clearGoesOnUnless: null,
    tellsSubagents: true,
    refusesStaleWrites: true,
    asksAllFirst: false,
  },
  words: {
    shellTool: "Bash",
    placeVariables: ["HOME", "CLAUDE_PROJECT_DIR"],
    agentVariables: ["KITE_SESSION", "CLAUDECODE", "CLAUDE_CODE_SESSION_ID"],
  },
};
