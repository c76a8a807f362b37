/** What the Node hook client keeps of an event that no daemon took; hook.pl does the same. */
import { appendFileSync, lstatSync, renameSync } from "node:fs";
import type { limits } from "../../protocol/limits.ts";

const idBytes: typeof limits.idBytes = 200;
const endsBytes: typeof limits.unheardEndsBytes = 256 * 1024;

/**
 * Leaves a line for the next daemon if the event ends something. At the bound the older half goes. Throws if the event
 * or the file cannot be read. `pid` is the client's process, as far as no variable names it.
 */
export function leaveEnd(home: string, event: string, client: string, pid: number): void {
  const ids = idsOfEnd(event);
  if (ids === null) return;
  // Another client may have been started in a shell of Claude Code.
  const named = client === "" ? (process.env["CLAUDE_PID"] ?? "") : "";
  const of = Number(/^[1-9]\d{0,9}$/.exec(named)?.[0] ?? pid);
  const from = client === "" ? {} : { client };
  const line = `${JSON.stringify({ at: Date.now(), pid: of, event: ids, ...from })}\n`;
  const path = `${home}/unheard-ends`;
  const stat = () => lstatSync(path, { throwIfNoEntry: false });
  if ((stat()?.size ?? 0) + line.length > endsBytes / 2) renameSync(path, `${path}.old`);
  // Opens only a regular file: a pipe would block the hook.
  if (stat()?.isFile() ?? true) appendFileSync(path, line);
}

/** Returns the ids at the event's own top level; null if it ends no call, turn or session, or one cannot be an id. */
function idsOfEnd(event: string): Record<string, string> | null {
  const parsed = JSON.parse(event);
  const ids: Record<string, string> = {};
  for (const name of [
    "hook_event_name",
    "session_id",
    "agent_id",
    "parent_agent_id",
    "tool_name",
    "tool_use_id",
    "reason",
  ]) {
    const id: unknown = parsed[name] ?? null;
    if (id === null) continue;
    if (typeof id !== "string" || id.length > idBytes || !/^[\w.:@-]+$/.test(id)) return null;
    ids[name] = id;
  }
  const { hook_event_name: kind = "", session_id: session } = ids;
  return session &&
    /^(?:PostToolUse(?:Failure)?|(?:Subagent)?Stop|StopFailure|Interrupt|SessionEnd|After(?:Tool|Agent))$/.test(
      kind,
    )
    ? ids
    : null;
}
