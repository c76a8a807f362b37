import type { HookAdapter, HookContext, HookPlan } from "../seam/plan.ts";
import { agentFile } from "./agent-file.ts";
import { nothing } from "./answers/output.ts";
import { clientPid, field, wellFormed } from "./payload.ts";
import { idle, type Row } from "./plan-parts.ts";
import { otherEvent, sessionEnd, sessionStart, userPromptSubmit, waitingEvent } from "./rows/session.ts";
import * as tool from "./rows/tool.ts";
import * as turn from "./rows/turn.ts";
import { wakingStop } from "./rows/wake.ts";

/**
 * Claude Code's events as actions of the daemon, one row an event.
 *
 * Invariants: pure; whatever the payload, nothing throws; what is not understood does nothing and says nothing;
 * the tool's permission is never granted here. `(session_id, agent_id or none)` is the actor. Events that the client
 * does not wait for may come in any order: they begin nothing and take nothing.
 */
const rows: ReadonlyMap<string, Row> = new Map<string, Row>([
  ["SessionStart", sessionStart],
  ["UserPromptSubmit", userPromptSubmit],
  ["SessionEnd", sessionEnd],
  ["PreToolUse", tool.preToolUse],
  ["PostToolUse", tool.postToolUse],
  ["PostToolUseFailure", tool.postToolUseFailure],
  ["PostToolBatch", tool.postToolBatch],
  ["PermissionRequest", tool.permissionRequest],
  ["PermissionDenied", tool.permissionDenied],
  ["SubagentStart", turn.subagentStart],
  ["SubagentStop", turn.subagentStop],
  ["Stop", turn.stop],
  ["StopFailure", turn.stopFailure],
  ["TeammateIdle", turn.teammateIdle],
  ["TaskCreated", waitingEvent],
  ["TaskCompleted", waitingEvent],
]);

/** The adapter for Claude Code. */
export const claudeCode: HookAdapter = { plan, agentFile };

function plan(event: Readonly<Record<string, unknown>>, context: HookContext): HookPlan {
  const usable = wellFormed(event);
  const name = usable ? field(event, "hook_event_name") : null;
  const session = usable ? field(event, "session_id") : null;
  const agent = usable ? field(event, "agent_id") : null;
  const pid = clientPid(context);
  const plan =
    name === null || session === null
      ? idle
      : rowOf(name, context)(
          event,
          { session, ...(agent === null ? {} : { agent }), ...(pid === null ? {} : { pid }) },
          context,
        );
  return {
    event: name ?? "unknown",
    session,
    agent,
    tool: usable ? field(event, "tool_name") : null,
    file: plan.file ?? null,
    actions: plan.actions,
    answer: plan.answer ?? (() => nothing),
  };
}

/** A hook that may wake its session comes beside one that does all the rest. */
function rowOf(name: string, { wake }: HookContext): Row {
  return wake ? wakingStop : (rows.get(name) ?? otherEvent);
}
