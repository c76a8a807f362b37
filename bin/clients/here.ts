/**
 * The agents' clients that Kite can connect, as far as commands need them that are run often: `list.ts` knows the rest, and
 * loads what writes their files.
 */
import { claudeCodeHere } from "./claude-code-here.ts";
import type { ClientHere } from "./client.ts";
import { codexHere } from "./codex-here.ts";
import { copilotHere } from "./copilot-here.ts";
import { geminiHere } from "./gemini-here.ts";
import { opencodeHere } from "./opencode-here.ts";

export const knownClients: readonly ClientHere[] = [
  claudeCodeHere,
  codexHere,
  opencodeHere,
  copilotHere,
  geminiHere,
];
