/** The agent clients that Kite knows; events whose entry names no client are of the first. */
import { claudeCode } from "../hooks/claude-code/adapter.ts";
import { codex } from "../hooks/clients/codex.ts";
import { copilot } from "../hooks/clients/copilot.ts";
import { gemini } from "../hooks/clients/gemini.ts";
import { opencode } from "../hooks/clients/opencode.ts";
import type { HookAdapter } from "../hooks/seam/plan.ts";

export const adapters: readonly HookAdapter[] = [claudeCode, codex, copilot, gemini, opencode];
