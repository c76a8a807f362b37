/** The clients that Kite can start in a window by their adapters' own words. */
import { codexSpawn, copilotSpawn, geminiSpawn, opencodeSpawn } from "../../../hooks/clients/clients.ts";
import type { TerminalClient } from "../../../hooks/seam/plan.ts";

export const terminalClients: readonly TerminalClient[] = [
  codexSpawn,
  opencodeSpawn,
  copilotSpawn,
  geminiSpawn,
];
