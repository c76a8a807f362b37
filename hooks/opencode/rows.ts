import { editEnd, preEdit } from "../plans/edit.ts";
import { type Event, errorOf, inputPath, inputText } from "../plans/event.ts";
import { ownTool, typed, withNews } from "../plans/kite-calls.ts";
import { patchEnd, prePatch } from "../plans/patch.ts";
import { heartbeat, idle, otherEvent, type Row } from "../plans/plan-parts.ts";
import { promptOf, sessionEnd, sessionStart } from "../plans/session.ts";
import { preShell, shellEnd } from "../plans/shell-line.ts";
import { subagentStart, turnEnds } from "../plans/turn.ts";
import { awaitWake } from "../plans/wake.ts";
import type { EventName } from "./events.ts";

/**
 * The client's tools that write one file: `write` replaces it, and neither checks whether the agent has seen it. The plugin is in
 * the client's process, so it remembers when each file was read, and says it with the next write: a read sends nothing.
 */
const writes: ReadonlySet<string> = new Set(["edit", "write"]);

const beforeTool: Row = (event, actor, context) => {
  const tool = event.tool ?? "";
  if (writes.has(tool)) {
    const file = inputPath(event, "filePath");
    const readAtMs = readAt(event);
    const edit = { file: file ?? "", overwrites: tool === "write", readAtMs, isOwn: false };
    return file === null ? idle : preEdit(event, actor, context, edit);
  }
  if (tool === "apply_patch") return prePatch(event, actor, context, inputText(event, "patchText"));
  if (tool.startsWith("kite_")) return withNews(event, actor, ownTool(event, actor, context));
  if (tool === "bash") return withNews(event, actor, typed(event, actor, preShell(event, actor, context)));
  return otherEvent(event, actor, context);
};

function readAt({ raw }: Event): number | undefined {
  const atMs = raw["read_at_ms"];
  return typeof atMs === "number" ? atMs : undefined;
}

/** The end of a call; one that failed wrote nothing. */
function callEnd(hasRun: boolean): Row {
  return (event, actor) => {
    const tool = event.tool ?? "";
    const result = {
      do: "record_result",
      ...actor,
      tool,
      error: hasRun ? null : errorOf(event),
    } as const;
    const file = writes.has(tool) ? inputPath(event, "filePath") : null;
    const plan = writes.has(tool)
      ? { ...(file === null ? {} : { file }), actions: editEnd(event, actor, file, hasRun) }
      : tool !== "apply_patch"
        ? { actions: shellEnd(event, actor) }
        : hasRun
          ? patchEnd(event, actor, inputText(event, "patchText"))
          : { actions: editEnd(event, actor, null, false) };
    return { ...plan, actions: [result, ...plan.actions, heartbeat(actor, { attention: null })] };
  };
}

/** The plugin says of its own prompts that nobody typed them. */
const userPromptSubmit: Row = (event, actor) => promptOf(event, actor, event.raw["by_client"] !== true);

const turnEnd: Row = (event, actor) => turnEnds(event, actor);

/** The plugin asks for it when the session is idle; a run in a script ends with its turn, and asks for none. */
export const wakingRow: Row = (event, actor) => awaitWake(event, actor, true);

export const rows: Readonly<Record<EventName, Row>> = {
  SessionStart: sessionStart,
  UserPromptSubmit: userPromptSubmit,
  PreToolUse: beforeTool,
  PostToolUse: callEnd(true),
  PostToolUseFailure: callEnd(false),
  SubagentStart: subagentStart,
  SubagentStop: turnEnd,
  Stop: turnEnd,
  SessionEnd: sessionEnd,
};
