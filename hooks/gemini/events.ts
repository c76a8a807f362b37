/** Every event of the client that Kite asks for; the installed entries follow from it. `rows.ts` says what each asks of the daemon. */
import { tableOf, times } from "../plans/event-row.ts";

/** Left out: `PreCompress`, which comes before each request to the model, and what comes with each piece of its answer. */
export const eventTable = tableOf(
  { event: "SessionStart", ...times.start },
  { event: "BeforeAgent", ...times.turn },
  {
    event: "BeforeTool",
    matcher: "^(?:write_file|replace|run_shell_command|mcp_kite_.*)$",
    ...times.shortWrite,
  },
  {
    event: "AfterTool",
    matcher: "^(?:write_file|replace|run_shell_command)$",
    ...times.callEnd,
  },
  { event: "Notification", ...times.turn },
  { event: "AfterAgent", ...times.turn },
  { event: "SessionEnd", ...times.turn },
);

export type EventName = (typeof eventTable)[number]["event"];
