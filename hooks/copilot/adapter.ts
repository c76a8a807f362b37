import type { Event } from "../plans/event.ts";
import { namedAdapter } from "../plans/named-adapter.ts";
import { copilotClient } from "./client.ts";
import { rows } from "./rows.ts";
import { writeAnswer } from "./write-answer.ts";

/** The adapter for Copilot, which names no turns and no calls. */
export const copilot = namedAdapter({
  client: copilotClient,
  steps: { PreToolUse: "before", PostToolUse: "after", PostToolUseFailure: "failed" },
  rows,
  prepare: ofSession,
  write: (_event, answer) => writeAnswer(answer),
});

/** An agent's event is of its parent's session; a nested agent's parent is an agent, and counts as a session of its own. */
function ofSession(payload: Event["raw"]): Event["raw"] {
  const { agent_id: agent = null, parent_agent_id: parent = null } = payload;
  return agent === null || parent === null ? payload : { ...payload, session_id: parent };
}
