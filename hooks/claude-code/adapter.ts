/** The adapter of Claude Code: what Kite knows of the client, and how its answers are worded. */

import { clientWaitsMaxMs } from "../../protocol/client-waits.ts";
import { limits } from "../../protocol/limits.ts";
import type { HookReply } from "../../protocol/schemas/hook.ts";
import { plain } from "../../protocol/text.ts";
import { type Answer, outcomeOf } from "../plans/answers/answer.ts";
import { type Event, type EventForm, readEvent, within } from "../plans/event.ts";
import { hookPlan, idle, otherEvent, type Plan, type Row } from "../plans/plan-parts.ts";
import type { Glance } from "../seam/outcomes.ts";
import type { AgentClient, AgentFile, HookAdapter, HookContext, HookPlan } from "../seam/plan.ts";
import type { HookOutcome } from "../seam/slices.ts";
import { rows, wakingRows } from "./rows.ts";
import { homeOf, teamFiles, workerOf } from "./teams.ts";
import { lifeFiles } from "./transcripts.ts";

const pattern = /\/projects\/[^/]+\/[\w-]+\/subagents\/agent-[\w-]+\.meta\.json$/;

/** The client's own file on an agent of a session, beside the session's transcript. */
export const agentFile: AgentFile = {
  isOne: path => pattern.test(path) && !path.includes("/../"),
  parentIn: text => {
    try {
      const parent = within(JSON.parse(text), "parentAgentId");
      return typeof parent === "string" && parent.length <= limits.idBytes ? parent : null;
    } catch {
      // A half-written file, or one of another client: the agent counts as the main agent's own.
      return null;
    }
  },
};

/** What is known of Claude Code. */
export const claudeCodeClient: AgentClient = {
  name: "claude-code",
  title: "Claude Code",
  limits: {
    lockWaitMaxMs: clientWaitsMaxMs["claude-code"],
    namesCalls: true,
    untoldWriteMs: null,
    untoldPatchMs: null,
    promptsEndTurns: false,
    idleEndMs: null,
    clearGoesOnUnless: null,
    tellsSubagents: true,
    refusesStaleWrites: true,
    asksAllFirst: false,
  },
  words: {
    shellTool: "Bash",
    placeVariables: ["HOME", "CLAUDE_PROJECT_DIR"],
    agentVariables: ["KITE_SESSION", "CLAUDECODE", "CLAUDE_CODE_SESSION_ID"],
  },
};

// Words the status line of a session, for the person in front of it.

/** Longest name of a file or an agent, in UTF-16 units. */
const nameChars = 24;

/** One line: the name by which others call the session, then what concerns the person most; nothing if the daemon does not know the session. */
function statusLine(outcomes: readonly HookOutcome[]): Omit<HookReply, "ok"> {
  const looked = outcomeOf(outcomes, "glance");
  const glance = looked !== undefined && looked.did === "glance" && looked.ok ? looked.glance : null;
  return { output: glance === null ? "" : `kite: ${parts(glance).join(" · ")}\n` };
}

function parts({ name, holds, moreHolds, waiters, waitsFor, readyTasks, unread }: Glance): string[] {
  const [held] = holds;
  const [waiter] = waiters;
  const moreHeld = holds.length + moreHolds - 1;
  const behind = waitsFor === null || waitsFor.holder === null ? "" : ` (${short(waitsFor.holder)})`;
  return [
    short(name),
    ...(waitsFor === null ? [] : [`waits for ${fileName(waitsFor.file)}${behind}`]),
    ...(waiter === undefined ? [] : [`${short(waiter)}${more(waiters.length - 1)} waits for you`]),
    held === undefined ? "no locks" : `holds ${fileName(held)}${more(moreHeld)}`,
    ...(readyTasks === 0 ? [] : [`${readyTasks} ${readyTasks === 1 ? "task" : "tasks"} ready`]),
    ...(unread === 0 ? [] : [`${unread} unread`]),
  ];
}

function more(count: number): string {
  return count === 0 ? "" : ` +${count}`;
}

function fileName(file: string): string {
  return short(/[^/]+\/?$/.exec(file)?.[0] ?? file);
}

function short(name: string): string {
  return plain(name, nameChars);
}

// Writes an answer as the JSON that the client reads.

type Words = ReturnType<HookPlan["answer"]>;

/** The client gives the context of a `PostToolUse`, for which it does not wait, with the next message. */
function writeAnswer(event: string, answer: Answer): Words {
  const { denial, block, context, forPerson, wakes, env } = answer;
  // Only the one hook whose exit code 2 wakes and blocks nothing has such an answer.
  if (wakes !== undefined) return { output: "", exitCode: 2, stderr: `${wakes}\n` };
  const refusal =
    denial === undefined ? {} : { permissionDecision: "deny", permissionDecisionReason: denial };
  const own = { ...refusal, ...(context === undefined ? {} : { additionalContext: context }) };
  const parts = {
    ...(forPerson === undefined ? {} : { systemMessage: forPerson }),
    ...(block === undefined ? {} : { decision: "block", reason: block }),
    ...(Object.keys(own).length === 0 ? {} : { hookSpecificOutput: { hookEventName: event, ...own } }),
  };
  const output = Object.keys(parts).length === 0 ? "" : JSON.stringify(parts);
  return { output, ...(env === undefined ? {} : { env }) };
}

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
    home: event.transcript === null ? null : homeOf(event),
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
  const pidText = context.env["CLAUDE_PID"] ?? "";
  return /^[1-9]\d{0,9}$/.test(pidText) ? Number(pidText) : context.ppid;
}
