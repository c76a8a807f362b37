import { type Event, type EventForm, readEvent, type Worker } from "../plans/event.ts";
import { hookPlan, idle, otherEvent, type Row } from "../plans/plan-parts.ts";
import type { HookAdapter, HookContext, HookPlan } from "../seam/plan.ts";
import { codexClient } from "./client.ts";
import { eventTable } from "./rows.ts";
import { writeAnswer } from "./write-answer.ts";

/**
 * Codex's events as actions of the daemon, one row an event.
 *
 * Invariants: as for Claude Code's, whose names and forms these events have: pure, no payload makes it throw, and it never
 * grants a tool's permission. `(session_id, agent_id or none)` is the actor. The hook's parent may run many sessions: it
 * tells how long they can live, and never which one an event is of.
 */
const rows: ReadonlyMap<string, Row> = new Map(eventTable.map(({ event, row }) => [event, row]));

/** The client's names of an event's fields, and which of its events come around a call. A prompt's turn has the id. */
const form: EventForm = {
  client: codexClient,
  steps: { PreToolUse: "before", PostToolUse: "after" },
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

/** Every agent within a session is one that the main agent began; nothing names a nested one's parent. */
const subagent: Worker = { isSubagent: true, isTeammate: false, teammate: null, parentFile: null };

/** The adapter for Codex. */
export const codex: HookAdapter = { ...codexClient, plan, agentFile: null, teams: null, lifeFiles: null };

function plan(payload: Event["raw"], { env: all, ppid, ...context }: HookContext): HookPlan {
  // Other variables may be those of another client, in whose shell this one was started. A spawned agent's record is tied to
  // the first session that names it.
  const env = Object.fromEntries(
    ["HOME", "KITE_SPAWN"].flatMap(name => (all[name] ? [[name, all[name]]] : [])),
  );
  const event = readEvent(payload, form, () => subagent);
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
  return hookPlan(event, plan, {
    env,
    home: null,
    write: answer => writeAnswer(name ?? "", answer),
  });
}
