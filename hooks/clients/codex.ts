/** The adapter of Codex: what its events ask of the daemon, and how it is answered. */

import type { Answer } from "../plans/answers/answer.ts";
import { inputText } from "../plans/event.ts";
import { isOwnTool, ownTool, typed, withNews } from "../plans/kite-calls.ts";
import { namedAdapter } from "../plans/named-adapter.ts";
import {
  atWork,
  begin,
  heartbeat,
  otherEvent,
  type Row,
  turnOver,
  waitingEvent,
} from "../plans/plan-parts.ts";
import { patchEnd, prePatch, preShell, shellEnd } from "../plans/tool-events.ts";
import { promptOf, sessionEnd, sessionStart, subagentStart, turnEnds } from "../plans/turn-events.ts";
import type { HookPlan } from "../seam/plan.ts";
import { type CodexEvent, codexClient } from "./clients.ts";

// What each event of the client asks of the daemon.

const beforeTool: Row = (event, actor, context) => {
  const tool = event.tool ?? "";
  if (tool === "apply_patch") return prePatch(event, actor, context, inputText(event, "command"));
  if (isOwnTool(tool)) return withNews(event, actor, ownTool(event, actor, context));
  if (tool === "Bash") return withNews(event, actor, typed(event, actor, preShell(event, actor, context)));
  return otherEvent(event, actor, context);
};

/** Comes after a call that ran, whatever its exit code; a patch in a shell line has none. */
const afterTool: Row = (event, actor) => {
  const tool = event.tool ?? "";
  const result = { do: "record_result", ...actor, tool, error: null } as const;
  const plan =
    tool === "apply_patch"
      ? patchEnd(event, actor, inputText(event, "command"))
      : { actions: shellEnd(event, actor) };
  return { ...plan, actions: [result, ...plan.actions, heartbeat(actor, { attention: null })] };
};

/** A dialog waits for a person. Meanwhile the actor keeps the locks for its write. */
const permissionRequest: Row = (event, actor) => {
  const tool = event.tool ?? "";
  const renew = { do: "renew", ...actor } as const;
  const index = { do: "release_index", ...actor } as const;
  const kept = tool === "apply_patch" ? [renew] : tool === "Bash" ? [index, renew] : [];
  const name = /^[\w-]+$/.test(tool) ? tool : "a tool";
  return { actions: [...kept, heartbeat(actor, { attention: `permission for ${name}` })] };
};

/** The prompt of a subagent is its task. */
const userPromptSubmit: Row = (event, actor, context) =>
  actor.agent === undefined
    ? promptOf(event, actor, true)
    : {
        actions: [
          ...begin(event, actor),
          atWork(event, actor),
          ...waitingEvent(event, actor, context).actions,
        ],
      };

/** A person ended the turn; a command that it ran may go on in the background. */
const interrupt: Row = (_event, actor) => ({ actions: turnOver(actor) });

const rows: Readonly<Record<CodexEvent, Row>> = {
  SessionStart: sessionStart,
  UserPromptSubmit: userPromptSubmit,
  PreToolUse: beforeTool,
  PermissionRequest: permissionRequest,
  PostToolUse: afterTool,
  SubagentStart: subagentStart,
  SubagentStop: (event, actor) => turnEnds(event, actor),
  Stop: (event, actor) => turnEnds(event, actor),
  Interrupt: interrupt,
  SessionEnd: sessionEnd,
};

// Writes an answer as the JSON that the client reads.

/** The client has no file for the environment of its shell commands, and no hook that wakes a session. */
function writeAnswer(
  event: string,
  { denial, block, context, forPerson }: Answer,
): ReturnType<HookPlan["answer"]> {
  const own = {
    ...(denial === undefined ? {} : { permissionDecision: "deny", permissionDecisionReason: denial }),
    ...(context === undefined ? {} : { additionalContext: context }),
  };
  const parts = {
    ...(forPerson === undefined ? {} : { systemMessage: forPerson }),
    ...(block === undefined ? {} : { decision: "block", reason: block }),
    ...(Object.keys(own).length === 0 ? {} : { hookSpecificOutput: { hookEventName: event, ...own } }),
  };
  return { output: Object.keys(parts).length === 0 ? "" : JSON.stringify(parts) };
}

/** The adapter for Codex. The hook's parent may run many sessions. */
export const codex = namedAdapter({
  client: codexClient,
  steps: { PreToolUse: "before", PostToolUse: "after" },
  rows,
  write: writeAnswer,
});
