import { namedAdapter } from "../plans/named-adapter.ts";
import { opencodeClient } from "./client.ts";
import { rows, wakingRow } from "./rows.ts";
import { writeAnswer } from "./write-answer.ts";

/**
 * The adapter for OpenCode: what the plugin (`plugin/plugin.ts`) sends. The plugin names the session that a person began, and a
 * subagent's own session as the agent.
 */
export const opencode = namedAdapter({
  client: opencodeClient,
  steps: { PreToolUse: "before", PostToolUse: "after", PostToolUseFailure: "failed" },
  rows,
  wakingRow,
  write: (_event, answer) => writeAnswer(answer),
});
