import { withCall } from "../plans/call-words.ts";
import { type Event, type EventForm, readEvent, type Worker } from "../plans/event.ts";
import { hookPlan, idle, otherEvent, type Row } from "../plans/plan-parts.ts";
import type { HookAdapter, HookContext, HookPlan } from "../seam/plan.ts";
import { copilotClient } from "./client.ts";
import { eventTable } from "./rows.ts";
import { writeAnswer } from "./write-answer.ts";

/**
 * Copilot's events as actions of the daemon, one row an event.
 *
 * Invariants: pure, no payload makes it throw, and it never grants a tool's permission. `(session_id, no agent)` is the main
 * agent. An agent within the session has its own id in both fields, and names its parent.
 */
const rows: ReadonlyMap<string, Row> = new Map(eventTable.map(({ event, row }) => [event, row]));

/** The client's names of an event's fields. It names no turns and no calls. */
const form: EventForm = {
  client: copilotClient,
  steps: { PreToolUse: "before", PostToolUse: "after", PostToolUseFailure: "failed" },
  names: {
    name: "hook_event_name",
    session: "session_id",
    agent: "agent_id",
    prompt: "turn_id",
    toolUseId: "tool_use_id",
    tool: "tool_name",
    reason: "reason",
    cwd: "cwd",
    transcript: "transcript_path",
  },
};

const subagent: Worker = { isSubagent: true, isTeammate: false, teammate: null, parentFile: null };

/** The adapter for Copilot. */
export const copilot: HookAdapter = { ...copilotClient, plan, agentFile: null, teams: null, lifeFiles: null };

function plan(payload: Event["raw"], { env: all, ppid, ...context }: HookContext): HookPlan {
  // Other variables may be those of another client, in whose shell this one was started.
  const env: HookContext["env"] = all["HOME"] === undefined ? {} : { HOME: all["HOME"] };
  const event = withCall(
    readEvent(ofSession(payload), form, () => subagent),
    context,
  );
  const { name, session, agent } = event;
  const row = name === null ? undefined : (rows.get(name) ?? otherEvent);
  const actor = {
    ...(agent === null ? {} : { agent }),
    ...(ppid === null ? {} : { pid: ppid }),
  };
  const plan =
    row === undefined || session === null
      ? idle
      : row(event, { session, ...actor }, { env, ppid, ...context });
  return hookPlan(event, plan, { env, home: null, write: writeAnswer });
}

/** An agent's event is of its parent's session; a nested agent's parent is an agent, and counts as a session of its own. */
function ofSession(payload: Event["raw"]): Event["raw"] {
  const { agent_id: agent = null, parent_agent_id: parent = null } = payload;
  return agent === null || parent === null ? payload : { ...payload, session_id: parent };
}
