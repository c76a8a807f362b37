/** Every event of the client that Kite asks for; the installed entries follow from it. `rows.ts` says what each asks of the daemon. */
import { tableOf, times } from "../plans/event-row.ts";

const written = "^(?:Edit|Write|Bash)$";

/**
 * Under these names the client writes its events in the form of Claude Code's. The start of a subagent is left out: it
 * names neither itself nor, in a nested one, its session.
 */
export const eventTable = tableOf(
  { event: "SessionStart", ...times.start },
  { event: "UserPromptSubmit", ...times.turn },
  { event: "PreToolUse", matcher: "^(?:Edit|Write|Bash|kite-.*)$", ...times.shortWrite },
  { event: "PostToolUse", matcher: written, ...times.callEnd },
  { event: "PostToolUseFailure", matcher: written, ...times.callEnd },
  { event: "SubagentStop", ...times.turn },
  { event: "Stop", ...times.turn },
  { event: "SessionEnd", ...times.turn },
);

export type EventName = (typeof eventTable)[number]["event"];
