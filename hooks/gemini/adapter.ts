import { withCall } from "../plans/call-words.ts";
import { type Event, type EventForm, readEvent, within } from "../plans/event.ts";
import { hookPlan, idle, otherEvent, type Row } from "../plans/plan-parts.ts";
import type { HookAdapter, HookContext, HookPlan } from "../seam/plan.ts";
import { geminiClient } from "./client.ts";
import { eventTable } from "./rows.ts";
import { writeAnswer } from "./write-answer.ts";

/**
 * Gemini CLI's events as actions of the daemon, one row an event.
 *
 * Invariants: pure, no payload makes it throw, and it never grants a tool's permission. `session_id` is the actor: the client
 * does not tell its subagents apart, so all agents of a session are one owner.
 */
const rows: ReadonlyMap<string, Row> = new Map(eventTable.map(({ event, row }) => [event, row]));

/** The client's names of an event's fields. It names no agents, no turns and no calls. */
const form: EventForm = {
  client: geminiClient,
  steps: { BeforeTool: "before", AfterTool: "after" },
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

const mainAgent = { isSubagent: false, isTeammate: false, teammate: null, parentFile: null };

/** The adapter for Gemini CLI. */
export const gemini: HookAdapter = { ...geminiClient, plan, agentFile: null, teams: null, lifeFiles: null };

function plan(payload: Event["raw"], { env: all, ppid, ...context }: HookContext): HookPlan {
  // Other variables may be those of another client, in whose shell this one was started.
  const env: HookContext["env"] = all["HOME"] === undefined ? {} : { HOME: all["HOME"] };
  const event = withCall(
    readEvent(atItsPlace(payload), form, () => mainAgent),
    context,
  );
  const { name, session } = event;
  const row = name === null ? undefined : (rows.get(name) ?? otherEvent);
  const plan =
    row === undefined || session === null
      ? idle
      : row(event, { session, ...(ppid === null ? {} : { pid: ppid }) }, { env, ppid, ...context });
  return hookPlan(event, plan, { env, home: null, write: answer => writeAnswer(name ?? "", answer) });
}

/** A command's own directory stands in its input, absolute or relative to the session's. */
function atItsPlace(payload: Event["raw"]): Event["raw"] {
  const { cwd } = payload;
  const place = within(payload["tool_input"], "dir_path");
  if (payload["tool_name"] !== geminiClient.words.shellTool) return payload;
  if (typeof cwd !== "string" || typeof place !== "string" || place === "") return payload;
  return { ...payload, cwd: place.startsWith("/") ? place : `${cwd}/${place}` };
}
