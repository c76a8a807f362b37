import { type EventForm, readEvent, type Worker } from "../plans/event.ts";
import { hookPlan, idle, otherEvent } from "../plans/plan-parts.ts";
import type { HookAdapter, HookContext, HookPlan } from "../seam/plan.ts";
import { opencodeClient } from "./client.ts";
import { rows, wakingRow } from "./rows.ts";
import { writeAnswer } from "./write-answer.ts";

/**
 * What the plugin (`plugin/plugin.ts`) sends, as actions of the daemon, one row an event.
 *
 * Invariants: pure, no payload makes it throw, and it never grants a tool's permission. `(session_id, agent_id or none)` is
 * the actor: the plugin names the session that a person began, and the subagent's own session as the agent.
 */
const form: EventForm = {
  client: opencodeClient,
  steps: { PreToolUse: "before", PostToolUse: "after", PostToolUseFailure: "failed" },
  names: {
    name: "hook_event_name",
    session: "session_id",
    agent: "agent_id",
    prompt: "prompt_id",
    toolUseId: "tool_use_id",
    tool: "tool_name",
    reason: "reason",
    cwd: "cwd",
    transcript: "transcript_path",
  },
};

const subagent: Worker = { isSubagent: true, isTeammate: false, teammate: null, parentFile: null };

/** The adapter for OpenCode. */
export const opencode: HookAdapter = {
  ...opencodeClient,
  plan,
  agentFile: null,
  teams: null,
  lifeFiles: null,
};

function plan(payload: Readonly<Record<string, unknown>>, context: HookContext): HookPlan {
  const event = readEvent(payload, form, () => subagent);
  const { name, session, agent } = event;
  const { ppid, env, wake } = context;
  const row = name === null ? undefined : wake ? wakingRow : (rows.get(name) ?? otherEvent);
  const who = {
    ...(agent === null ? {} : { agent }),
    ...(ppid === null ? {} : { pid: ppid }),
  };
  const plan = row === undefined || session === null ? idle : row(event, { session, ...who }, context);
  return hookPlan(event, plan, { env, home: null, write: writeAnswer });
}
