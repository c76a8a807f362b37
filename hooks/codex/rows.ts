/** What each event of the client asks of the daemon. */
import { inputText } from "../plans/event.ts";
import { isOwnTool, ownTool, typed, withNews } from "../plans/kite-calls.ts";
import { patchEnd, prePatch } from "../plans/patch.ts";
import {
  atWork,
  begin,
  heartbeat,
  otherEvent,
  type Row,
  turnOver,
  waitingEvent,
} from "../plans/plan-parts.ts";
import { promptOf, sessionEnd, sessionStart } from "../plans/session.ts";
import { preShell, shellEnd } from "../plans/shell-line.ts";
import { subagentStart, turnEnds } from "../plans/turn.ts";
import type { EventName } from "./events.ts";

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

export const rows: Readonly<Record<EventName, Row>> = {
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
