import { type Event, type EventForm, readEvent } from "../plans/event.ts";
import { hookPlan, idle, otherEvent, type Plan, type Row } from "../plans/plan-parts.ts";
import type { HookAdapter, HookContext, HookPlan } from "../seam/plan.ts";
import { agentFile } from "./agent-file.ts";
import { workerOf } from "./agents.ts";
import { claudeCodeClient } from "./client.ts";
import { lifeFiles } from "./life-files.ts";
import { rows, wakingRows } from "./rows/table.ts";
import { statusLine } from "./status-line.ts";
import { homeOf, teamFiles } from "./team-files.ts";
import { writeAnswer } from "./write-answer.ts";

/**
 * Claude Code's events as actions of the daemon, one row an event.
 *
 * Invariants: pure. No payload makes it throw. An event that it does not understand does nothing and prints nothing. It
 * never grants the tool's permission. `(session_id, agent_id or none)` is the actor. Events for which the client does
 * not wait may come in any order: they begin nothing and lock nothing.
 */
const rowsByEvent: ReadonlyMap<string, Row> = new Map(Object.entries(rows));

/** Rows of the second hook of an event, which may wake its session. */
const wakingRowsByEvent: ReadonlyMap<string, Row> = new Map(Object.entries(wakingRows));

/** The client's names of an event's fields, and which of its events come around a call. */
const form: EventForm = {
  client: claudeCodeClient,
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

/** The adapter for Claude Code. */
export const claudeCode: HookAdapter = { ...claudeCodeClient, plan, agentFile, teams: teamFiles, lifeFiles };

function plan(payload: Event["raw"], context: HookContext): HookPlan {
  const event = readEvent(payload, form, workerOf);
  const { name, session, agent } = event;
  if (context.statusLine === true) return statusLinePlan(session);
  const pid = clientPid(context);
  const plan =
    name === null || session === null
      ? idle
      : rowOf(name, context)(
          event,
          { session, ...(agent === null ? {} : { agent }), ...(pid === null ? {} : { pid }) },
          context,
        );
  const made = hookPlan(event, plan, {
    env: context.env,
    home: homeOf(event),
    write: answer => writeAnswer(name ?? "", answer),
  });
  // Every supported client says which subagent begins or stops.
  const isUnnamed = agent === null && (name === "SubagentStart" || name === "SubagentStop");
  return isUnnamed ? { ...made, namesNoAgent: true } : made;
}

/** The client's status line names its session; it is no event, and shows no life of it. */
function statusLinePlan(session: string | null): HookPlan {
  return {
    ...{ event: "StatusLine", session, agent: null, tool: null, file: null, home: null, transcript: null },
    actions: session === null ? [] : [{ do: "glance", session }],
    answer: statusLine,
    doing: null,
  };
}

/** An event that is not in the table shows that its session lives. */
function rowOf(name: string, { wake }: HookContext): Row {
  return wake ? (wakingRowsByEvent.get(name) ?? idleRow) : (rowsByEvent.get(name) ?? otherEvent);
}

function idleRow(): Plan {
  return idle;
}

/** The client's process: the one that the client names, else the hook's parent. */
function clientPid(context: HookContext): number | null {
  const said = context.env["CLAUDE_PID"] ?? "";
  return /^[1-9]\d{0,9}$/.test(said) ? Number(said) : context.ppid;
}
