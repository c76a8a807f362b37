/** Reads the client's events. */
import { type Event, readEvent } from "../plans/event.ts";
import type { HookContext } from "../seam/plan.ts";
import { workerOf } from "./agents.ts";

const names = {
  name: "hook_event_name",
  session: "session_id",
  agent: "agent_id",
  prompt: "prompt_id",
  toolUseId: "tool_use_id",
  tool: "tool_name",
  reason: "reason",
  cwd: "cwd",
  transcript: "transcript_path",
} as const;

/** Reads an event, within bounds. */
export function read(raw: Event["raw"]): Event {
  return readEvent(raw, names, workerOf);
}

/** The client's process: the one that the client names, else the hook's parent. */
export function clientPid(context: HookContext): number | null {
  const said = context.env["CLAUDE_PID"] ?? "";
  return /^[1-9]\d{0,9}$/.test(said) ? Number(said) : context.ppid;
}
