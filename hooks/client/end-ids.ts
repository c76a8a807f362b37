/** What the Node hook client keeps of an event that no daemon took; hook.pl does the same. */
import type { limits } from "../../protocol/limits.ts";

const idBytes: typeof limits.idBytes = 200;

/** Returns the ids at the event's own top level; null if it ends no call, turn or session, or one cannot be an id. */
export function idsOfEnd(event: string): Record<string, string> | null {
  const parsed = JSON.parse(event);
  const ids: Record<string, string> = {};
  for (const name of ["hook_event_name", "session_id", "agent_id", "tool_name", "tool_use_id", "reason"]) {
    const id: unknown = parsed[name] ?? null;
    if (id === null) continue;
    if (typeof id !== "string" || id.length > idBytes || !/^[\w.:@-]+$/.test(id)) return null;
    ids[name] = id;
  }
  const { hook_event_name: kind = "", session_id: session } = ids;
  return session && /^(?:PostToolUse(?:Failure)?|(?:Subagent)?Stop|StopFailure|SessionEnd)$/.test(kind)
    ? ids
    : null;
}
