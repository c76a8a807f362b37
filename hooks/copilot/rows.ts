import { editEnd, preEdit } from "../plans/edit.ts";
import { type Event, errorOf, inputPath } from "../plans/event.ts";
import { typed, withNews } from "../plans/kite-calls.ts";
import { patchEnd, prePatch } from "../plans/patch.ts";
import {
  agentOver,
  heartbeat,
  idle,
  otherEvent,
  type Plan,
  type Row,
  waitingEvent,
} from "../plans/plan-parts.ts";
import { promptOf, sessionEnd, sessionStart } from "../plans/session.ts";
import { preShell, shellEnd } from "../plans/shell-line.ts";
import { subagentStart, turnEnds } from "../plans/turn.ts";
import type { EventName } from "./events.ts";

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

export const rows: Readonly<Record<EventName, Row>> = {
  SessionStart: sessionStart,
  UserPromptSubmit: userPromptSubmit,
  PreToolUse: beforeTool,
  PostToolUse: callEnd(true),
  PostToolUseFailure: callEnd(false),
  SubagentStop: subagentStop,
  Stop: (event, actor) => turnEnds(event, actor),
  SessionEnd: sessionEnd,
};
