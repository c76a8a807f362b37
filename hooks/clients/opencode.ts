/** The adapter of OpenCode: what its events ask of the daemon, and how it is answered. */

import type { Answer } from "../plans/answers/answer.ts";
import { type Event, errorOf, inputPath, inputText } from "../plans/event.ts";
import { ownTool, typed, withNews } from "../plans/kite-calls.ts";
import { namedAdapter } from "../plans/named-adapter.ts";
import { heartbeat, idle, otherEvent, type Row } from "../plans/plan-parts.ts";
import { editEnd, patchEnd, preEdit, prePatch, preShell, shellEnd } from "../plans/tool-events.ts";
import {
  awaitWake,
  promptOf,
  sessionEnd,
  sessionStart,
  subagentStart,
  turnEnds,
} from "../plans/turn-events.ts";
import type { HookPlan } from "../seam/plan.ts";
import { type OpencodeEvent, opencodeClient, type Words } from "./clients.ts";

/**
 * The client's tools that write one file: `write` replaces it, and neither checks whether the agent has seen it. The
 * plugin is in the client's process, so it remembers when each file was read. It says so with the next write: a read
 * sends nothing.
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
const wakingRow: Row = (event, actor) => awaitWake(event, actor, true);

const rows: Readonly<Record<OpencodeEvent, Row>> = {
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

// Writes an answer as the JSON that the plugin reads.

/** The plugin gives shell commands their variables itself. */
function writeAnswer({ denial, block, context, forPerson, wakes }: Answer): ReturnType<HookPlan["answer"]> {
  const goOn = block ?? wakes;
  const words: Words = {
    ...(denial === undefined ? {} : { deny: denial }),
    ...(context === undefined ? {} : { context }),
    ...(forPerson === undefined ? {} : { person: forPerson }),
    ...(goOn === undefined ? {} : { goOn }),
  };
  return { output: Object.keys(words).length === 0 ? "" : JSON.stringify(words) };
}

/**
 * The adapter for OpenCode: what the plugin (`plugin/plugin.ts`) sends. The plugin names the session that a person began, and a
 * subagent's own session as the agent.
 */
export const opencode = namedAdapter({
  client: opencodeClient,
  steps: { PreToolUse: "before", PostToolUse: "after", PostToolUseFailure: "failed" },
  rows,
  wakingRow,
  write: (_event, answer) => writeAnswer(answer),
});
