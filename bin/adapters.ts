/** The agent clients that Kite knows; events whose entry names no client are of the first. */
import { claudeCode } from "../hooks/claude-code/adapter.ts";
import { codex } from "../hooks/codex/adapter.ts";
import { copilot } from "../hooks/copilot/adapter.ts";
import { gemini } from "../hooks/gemini/adapter.ts";
import { opencode } from "../hooks/opencode/adapter.ts";
import type { HookAdapter } from "../hooks/seam/plan.ts";

export const adapters: readonly HookAdapter[] = [claudeCode, codex, copilot, gemini, opencode];
