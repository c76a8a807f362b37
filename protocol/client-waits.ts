/**
 * The longest wait of an edit for its lock, by the name of its agent's client, in ms. The hook must answer before the
 * client gives up.
 */
import { limits } from "./limits.ts";

const longestWaitMs = limits.hookWriteBudgetMs - limits.firstByteMs;

export const clientWaitsMaxMs = {
  "claude-code": longestWaitMs,
  codex: longestWaitMs,
  // Esc does not end a held hook there, and the next prompt waits for it.
  copilot: limits.hookShortWaitMs,
  gemini: limits.hookShortWaitMs,
  opencode: longestWaitMs,
} as const;
