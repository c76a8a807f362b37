import type { HookAction, HookAdapter, HookContext, HookOutcome } from "../../protocol/adapter.ts";
import { lockAnswer } from "./lock-answer.ts";
import { nothing, type Output } from "./output.ts";
import { clientPid, type Event, field, inputPath, wellFormed } from "./payload.ts";
import { startAnswer } from "./start-answer.ts";

/**
 * Claude Code's events as actions of the daemon, one row an event.
 *
 * Invariants: pure; whatever the payload, nothing throws; what is not understood does nothing and says nothing;
 * the tool's permission is never granted here. `(session_id, agent_id or none)` is the actor.
 */
interface Actor {
  readonly session: string;
  readonly agent?: string;
  readonly pid?: number;
}

interface Plan {
  readonly actions: readonly HookAction[];
  readonly file?: string;
  readonly answer?: (outcomes: readonly HookOutcome[]) => Output;
}

type Row = (event: Event, actor: Actor, context: HookContext) => Plan;

const idle: Plan = { actions: [] };

const rows: ReadonlyMap<string, Row> = new Map<string, Row>([
  ["SessionStart", sessionStart],
  ["UserPromptSubmit", userPromptSubmit],
  ["PreToolUse", preToolUse],
  ["Stop", stop],
  ["SessionEnd", sessionEnd],
]);

/** Which field of a writing tool's input names the file. */
const writes: ReadonlyMap<string, string> = new Map([
  ["Edit", "file_path"],
  ["Write", "file_path"],
  ["NotebookEdit", "notebook_path"],
]);

/** The adapter for Claude Code. */
export const claudeCode: HookAdapter = (event, context) => {
  const usable = wellFormed(event);
  const name = usable ? field(event, "hook_event_name") : null;
  const session = usable ? field(event, "session_id") : null;
  const agent = usable ? field(event, "agent_id") : null;
  const plan =
    name === null || session === null
      ? idle
      : (rows.get(name) ?? otherEvent)(event, actorOf(session, agent, clientPid(context)), context);
  return {
    event: name ?? "unknown",
    session,
    agent,
    tool: usable ? field(event, "tool_name") : null,
    file: plan.file ?? null,
    actions: plan.actions,
    answer: plan.answer ?? (() => nothing),
  };
};

function sessionStart(event: Event, actor: Actor, context: HookContext): Plan {
  const { session } = actor;
  const begin = beginOf(event, actor, true);
  const cwd = field(event, "cwd");
  if (begin === null || cwd === null) return idle;
  return {
    actions: [begin, { do: "look", session }],
    answer: outcomes => startAnswer({ session, cwd }, context.socket, outcomes),
  };
}

/**
 * A new prompt shows that the turn before is over, even where an interruption left no event. A prompt typed into a
 * running turn carries that turn's id; one without id tells nothing about turns, so it ends none. Machine-made
 * prompts come with the session's id too: the holds of its agents stay.
 */
function userPromptSubmit(event: Event, { session, pid }: Actor): Plan {
  const main = actorOf(session, null, pid ?? null);
  const begin = beginOf(event, main, false);
  const prompt = field(event, "prompt_id");
  const ended: HookAction[] = prompt === null ? [] : [{ do: "turn_end", ...main, keepPrompt: prompt }];
  return {
    actions: [...(begin === null ? [] : [begin]), ...ended, { do: "seen", session, active: true }],
  };
}

function preToolUse(event: Event, actor: Actor, context: HookContext): Plan {
  const tool = field(event, "tool_name") ?? "";
  const pathField = writes.get(tool);
  if (pathField === undefined) return otherEvent(event, actor);
  const file = inputPath(event, pathField);
  const toolUseId = field(event, "tool_use_id");
  const cwd = field(event, "cwd");
  const begin = beginOf(event, actor, false);
  if (file === null || toolUseId === null || cwd === null || begin === null) return idle;
  const { waitMs } = context;
  const promptId = field(event, "prompt_id");
  return {
    file,
    actions: [
      begin,
      {
        do: "lock",
        ...actor,
        file,
        cwd,
        promptId,
        toolUseId,
        waitMs,
        ancestors: ancestorsOf(actor.agent),
        parentFile: parentFile(event, actor),
        overwrites: tool !== "Edit",
      },
    ],
    answer: outcomes => lockAnswer({ tool, file, cwd, waitMs }, outcomes),
  };
}

/** A subagent's holds come from the main agent; a teammate is nobody's descendant. Their ids differ in form. */
function ancestorsOf(agent: string | undefined): readonly null[] {
  return agent !== undefined && isSubagent(agent) ? [null] : [];
}

/** `a` and 16 hex digits; a teammate's id has its name in between. */
export function isSubagent(agent: string): boolean {
  return /^a[0-9a-f]{16}$/.test(agent);
}

/** Where the client keeps what it knows of a subagent, beside the session's transcript. */
function parentFile(event: Event, { session, agent }: Actor): string | null {
  const transcript = field(event, "transcript_path");
  if (agent === undefined || !isSubagent(agent) || transcript === null) return null;
  const folder = transcript.slice(0, transcript.lastIndexOf("/"));
  return `${folder}/${session}/subagents/agent-${agent}.meta.json`;
}

function stop(_event: Event, actor: Actor): Plan {
  const { session, agent } = actor;
  const seen = agent === undefined ? { session } : { session, agent };
  return {
    actions: [
      { do: "turn_end", ...actor },
      { do: "seen", ...seen, active: false },
    ],
  };
}

function sessionEnd(event: Event, { session, pid }: Actor): Plan {
  const cause = field(event, "reason") ?? "other";
  return { actions: [{ do: "end", session, ...(pid === undefined ? {} : { pid }), cause }] };
}

/** Every other event is a sign of life. */
function otherEvent(_event: Event, { session, agent }: Actor): Plan {
  return { actions: [{ do: "seen", session, ...(agent === undefined ? {} : { agent }) }] };
}

function beginOf(event: Event, { session, pid }: Actor, revive: boolean): HookAction | null {
  const cwd = field(event, "cwd");
  if (cwd === null) return null;
  return { do: "begin", session, cwd, ...(pid === undefined ? {} : { pid }), revive };
}

function actorOf(session: string, agent: string | null, pid: number | null): Actor {
  return { session, ...(agent === null ? {} : { agent }), ...(pid === null ? {} : { pid }) };
}
