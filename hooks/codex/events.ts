/** Every event of the client that Kite asks for; the installed entries follow from it. `rows.ts` says what each asks of the daemon. */
import { tableOf, times } from "../plans/event-row.ts";

/**
 * One entry an event: the client has a person trust each by its place, its command and its times. It waits for all of them;
 * a deny before a tool holds in every mode.
 */
export const eventTable = tableOf(
  { event: "SessionStart", ...times.start },
  { event: "UserPromptSubmit", ...times.turn },
  { event: "PreToolUse", matcher: "^(?:apply_patch|Bash|mcp__kite__.*)$", ...times.write },
  { event: "PermissionRequest", ...times.turn },
  { event: "PostToolUse", matcher: "^(?:apply_patch|Bash)$", ...times.callEnd },
  { event: "SubagentStart", ...times.turn },
  { event: "SubagentStop", ...times.turn },
  { event: "Stop", ...times.turn },
  { event: "Interrupt", ...times.turn },
  { event: "SessionEnd", ...times.turn },
);

export type EventName = (typeof eventTable)[number]["event"];
