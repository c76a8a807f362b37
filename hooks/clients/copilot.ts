/** The adapter of Copilot: what its events ask of the daemon, and how it is answered. */

import type { Answer } from "../plans/answers/answer.ts";
import { type Event, errorOf, inputPath } from "../plans/event.ts";
import { typed, withNews } from "../plans/kite-calls.ts";
import { namedAdapter } from "../plans/named-adapter.ts";
import {
  agentOver,
  heartbeat,
  idle,
  otherEvent,
  type Plan,
  type Row,
  waitingEvent,
} from "../plans/plan-parts.ts";
import { editEnd, patchEnd, preEdit, prePatch, preShell, shellEnd } from "../plans/tool-events.ts";
import { promptOf, sessionEnd, sessionStart, subagentStart, turnEnds } from "../plans/turn-events.ts";
import type { HookPlan } from "../seam/plan.ts";
import { type CopilotEvent, copilotClient } from "./clients.ts";

/** The client's names of its tools that write one file. A patch, which GPT models write, is an `Edit`, too. */
const writes: ReadonlySet<string> = new Set(["Edit", "Write"]);

/** A tool of Kite's server, named `kite`. */
function isOwnTool(tool: string): boolean {
  return tool.startsWith("kite-");
}

const beforeTool: Row = (event, actor, context) => {
  const tool = event.tool ?? "";
  const patch = patchIn(event);
  if (patch !== null) return prePatch(event, actor, context, patch);
  if (writes.has(tool)) {
    const file = inputPath(event, "path");
    // A new file replaces none, and a change fails where its old text is gone.
    const edit = { file: file ?? "", overwrites: false, isOwn: isOwnFile(file ?? "") };
    return file === null ? idle : preEdit(event, actor, context, edit);
  }
  // The server knows its session by a variable of its own.
  if (isOwnTool(tool)) return withNews(event, actor, waitingEvent(event, actor, context));
  if (tool === "Bash") return withNews(event, actor, typed(event, actor, preShell(event, actor, context)));
  return otherEvent(event, actor, context);
};

/** The end of a call; one that failed wrote nothing. A shell line ran, whatever its exit code. */
function callEnd(hasRun: boolean): Row {
  return (event, actor) => {
    const tool = event.tool ?? "";
    const error = hasRun ? null : errorOf(event);
    const { actions, ...about } = endOf(event, actor, hasRun);
    const result = { do: "record_result", ...actor, tool, error } as const;
    return { ...about, actions: [result, ...actions, heartbeat(actor, { attention: null })] };
  };
}

function endOf(event: Event, actor: Parameters<Row>[1], hasRun: boolean): Plan {
  const patch = patchIn(event);
  if (patch !== null && hasRun) return patchEnd(event, actor, patch);
  if (!writes.has(event.tool ?? "")) return { actions: shellEnd(event, actor) };
  const file = inputPath(event, "path");
  return { ...(file === null ? {} : { file }), actions: editEnd(event, actor, file, hasRun) };
}

/** The text of the patch that is the tool's whole input; null: the call applies none. */
function patchIn({ tool, raw }: Event): string | null {
  const input = raw["tool_input"];
  return tool === "Edit" && typeof input === "string" ? input : null;
}

/** The client's own plans, which are nobody's code. */
function isOwnFile(file: string): boolean {
  return file.includes("/.copilot/session-state/") && !file.includes("/../");
}

/** The prompt of a subagent is its task, and its first event that says whose it is. */
const userPromptSubmit: Row = (event, actor, context) =>
  actor.agent === undefined ? promptOf(event, actor, true) : subagentStart(event, actor, context);

const subagentStop: Row = (_event, { agent, ...main }) =>
  agent === undefined ? idle : { actions: agentOver({ ...main, agent }) };

const rows: Readonly<Record<CopilotEvent, Row>> = {
  SessionStart: sessionStart,
  UserPromptSubmit: userPromptSubmit,
  PreToolUse: beforeTool,
  PostToolUse: callEnd(true),
  PostToolUseFailure: callEnd(false),
  SubagentStop: subagentStop,
  Stop: (event, actor) => turnEnds(event, actor),
  SessionEnd: sessionEnd,
};

// Writes an answer as the JSON that the client reads.

/**
 * All fields stand at the top: the client reads its nested form at a call alone. The exit code is always 0, because any other
 * denies the call without a word. The client shows a person nothing of an answer, so such texts are left out.
 */
function writeAnswer({ denial, block, context }: Answer): ReturnType<HookPlan["answer"]> {
  const parts = {
    ...(denial === undefined ? {} : { permissionDecision: "deny", permissionDecisionReason: denial }),
    ...(block === undefined ? {} : { decision: "block", reason: block }),
    ...(context === undefined ? {} : { additionalContext: context }),
  };
  return { output: Object.keys(parts).length === 0 ? "" : JSON.stringify(parts) };
}

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
