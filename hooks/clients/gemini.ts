/** The adapter of Gemini CLI: what its events ask of the daemon, and how it is answered. */

import { limits } from "../../protocol/limits.ts";
import type { Answer } from "../plans/answers/answer.ts";
import { withInbox } from "../plans/answers/inbox.ts";
import { type Actor, type Event, inputPath, isShell, within } from "../plans/event.ts";
import { typed } from "../plans/kite-calls.ts";
import { namedAdapter } from "../plans/named-adapter.ts";
import { heartbeat, idle, otherEvent, type Plan, type Row, waitingEvent } from "../plans/plan-parts.ts";
import { type Edit, editEnd, preEdit, preShell, shellEnd } from "../plans/tool-events.ts";
import { promptOf, sessionEnd, sessionStart, turnEnds } from "../plans/turn-events.ts";
import type { HookPlan } from "../seam/plan.ts";
import { type GeminiEvent, geminiClient } from "./clients.ts";

// What each event of the client asks of the daemon.

const writes: ReadonlySet<string> = new Set(["write_file", "replace"]);

const beforeTool: Row = (event, actor, context) => withoutInbox(callBegin(event, actor, context));

const callBegin: Row = (event, actor, context) => {
  const tool = event.tool ?? "";
  if (writes.has(tool)) {
    const file = inputPath(event, "file_path");
    return file === null ? idle : preEdit(event, actor, context, editBy(tool, file));
  }
  if (isShell(event)) return typed(event, actor, preShell(event, actor, context));
  return waitingEvent(event, actor, context);
};

/**
 * The client checks with neither tool what its agent has seen. `write_file` replaces the file. `replace` works wherever
 * its old text stands, so it loses nobody's lines. Only a denial tells the agent in time that the file changed while
 * the call waited.
 *
 * Kite asks for no event of `read_file`, which would start a process for each read of a session. The event would spare
 * one denied `write_file` for each file that another session changed meanwhile. Most of the client's edits are a
 * `replace`, which needs none.
 */
function editBy(tool: string, file: string): Edit {
  return { file, overwrites: tool === "write_file", hearsDenialsAlone: true, isOwn: isOwnFile(file) };
}

/** What the agent is to read comes after the call: the client drops it before. */
function withoutInbox({ actions, ...plan }: Plan): Plan {
  return { ...plan, actions: actions.filter(({ do: act }) => act !== "inbox") };
}

/** Comes after a call that ran or failed, not after a denied one. */
const afterTool: Row = (event, actor) => {
  const tool = event.tool ?? "";
  const error = errorOf(event);
  const file = writes.has(tool) ? inputPath(event, "file_path") : null;
  const ends = writes.has(tool) ? editEnd(event, actor, file, error === null) : shellEnd(event, actor);
  const result = { do: "record_result", ...actor, tool, error } as const;
  const actions = [result, ...ends, heartbeat(actor, { attention: null })];
  return withInbox(event, actor, event.cwd ?? "/", { ...(file === null ? {} : { file }), actions });
};

function errorOf({ raw }: Event): string | null {
  const error = within(raw["tool_response"], "error");
  if (error === undefined || error === null) return null;
  const message = within(error, "message");
  return typeof message === "string" ? message.slice(0, limits.failureChars) : "";
}

/** The client's own plans and chats, which are nobody's code. */
function isOwnFile(file: string): boolean {
  return file.includes("/.gemini/tmp/") && !file.includes("/../");
}

/** A dialog waits for a person. Meanwhile the actor keeps the lock for its write. */
const notification: Row = (event, actor, context) => {
  if (event.raw["notification_type"] !== "ToolPermission") return otherEvent(event, actor, context);
  const isLine = within(event.raw["details"], "type") === "exec";
  const kept = isLine ? ([{ do: "release_index", ...actor }, renewOf(actor)] as const) : [renewOf(actor)];
  const what = isLine ? "a command line" : "a tool";
  return { actions: [...kept, heartbeat(actor, { attention: `permission for ${what}` })] };
};

function renewOf(actor: Actor) {
  return { do: "renew", ...actor } as const;
}

const rows: Readonly<Record<GeminiEvent, Row>> = {
  SessionStart: sessionStart,
  BeforeAgent: (event, actor) => promptOf(event, actor, true),
  BeforeTool: beforeTool,
  AfterTool: afterTool,
  Notification: notification,
  AfterAgent: (event, actor) => turnEnds(event, actor),
  SessionEnd: sessionEnd,
};

// Writes an answer as the JSON that the client reads.

/**
 * The client drops context before a tool: there it goes with a denial's reason, else to the person. Any exit code but 0 may
 * count as a denial, so there is none.
 */
function writeAnswer(
  event: string,
  { denial, block, context, forPerson }: Answer,
): ReturnType<HookPlan["answer"]> {
  const isBefore = event === "BeforeTool";
  const refusal = denial ?? block;
  const inReason = isBefore && refusal !== undefined && context !== undefined;
  const reason = inReason ? `${refusal}\n${context}` : refusal;
  const toPerson = isBefore && refusal === undefined ? context : undefined;
  const shown = [forPerson, toPerson].filter(text => text !== undefined);
  const own = isBefore || context === undefined ? {} : { hookEventName: event, additionalContext: context };
  const parts = {
    ...(reason === undefined ? {} : { decision: "deny", reason }),
    ...(shown.length === 0 ? {} : { systemMessage: shown.join("\n") }),
    ...(Object.keys(own).length === 0 ? {} : { hookSpecificOutput: own }),
  };
  return { output: Object.keys(parts).length === 0 ? "" : JSON.stringify(parts) };
}

/**
 * The adapter for Gemini CLI, which names no agents, no turns and no calls: all agents of a session are one owner.
 */
export const gemini = namedAdapter({
  client: geminiClient,
  steps: { BeforeTool: "before", AfterTool: "after" },
  rows,
  prepare: atItsPlace,
  write: writeAnswer,
});

/** A command's own directory stands in its input, absolute or relative to the session's. */
function atItsPlace(payload: Event["raw"]): Event["raw"] {
  const { cwd } = payload;
  const place = within(payload["tool_input"], "dir_path");
  if (payload["tool_name"] !== geminiClient.words.shellTool) return payload;
  if (typeof cwd !== "string" || typeof place !== "string" || place === "") return payload;
  return { ...payload, cwd: place.startsWith("/") ? place : `${cwd}/${place}` };
}
