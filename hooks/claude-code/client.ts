import { limits } from "../../protocol/limits.ts";
import type { AgentClient } from "../seam/client.ts";

/** What is known of Claude Code. */
export const claudeCodeClient: AgentClient = {
  name: "claude-code",
  title: "Claude Code",
  limits: {
    lockWaitMaxMs: limits.hookWriteBudgetMs - limits.firstByteMs,
    namesCalls: true,
    untoldWriteMs: null,
    untoldPatchMs: null,
    promptsEndTurns: false,
    idleEndMs: null,
    tellsSubagents: true,
    asksAllFirst: false,
  },
  words: {
    shellTool: "Bash",
    placeVariables: ["HOME", "CLAUDE_PROJECT_DIR"],
    agentVariables: ["KITE_SESSION", "CLAUDECODE", "CLAUDE_CODE_SESSION_ID"],
  },
};
