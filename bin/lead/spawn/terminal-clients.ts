/** The clients that Kite can start in a window by their adapters' own words. */
import { codexSpawn } from "../../../hooks/codex/spawn.ts";
import { copilotSpawn } from "../../../hooks/copilot/spawn.ts";
import { geminiSpawn } from "../../../hooks/gemini/spawn.ts";
import { opencodeSpawn } from "../../../hooks/opencode/spawn.ts";
import type { TerminalClient } from "../../../hooks/seam/spawn.ts";

export const terminalClients: readonly TerminalClient[] = [
  codexSpawn,
  opencodeSpawn,
  copilotSpawn,
  geminiSpawn,
];
