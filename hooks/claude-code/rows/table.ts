/** What each event of the client asks of the daemon. */
import { otherEvent, type Row } from "../../plans/plan-parts.ts";
import { sessionStart } from "../../plans/session.ts";
import { subagentStart } from "../../plans/turn.ts";
import { awaitWake } from "../../plans/wake.ts";
import type { EventName } from "../events.ts";
import { sessionEnd, userPromptSubmit } from "./session.ts";
import * as tool from "./tool.ts";
import * as turn from "./turn.ts";

export const rows: Readonly<Record<EventName, Row>> = {
  SessionStart: sessionStart,
  UserPromptSubmit: userPromptSubmit,
  PreToolUse: tool.preToolUse,
  PostToolUse: tool.postToolUse,
  PostToolUseFailure: tool.postToolUseFailure,
  PermissionRequest: tool.permissionRequest,
  SubagentStart: subagentStart,
  SubagentStop: turn.subagentStop,
  Stop: turn.stop,
  StopFailure: turn.stopFailure,
  TeammateIdle: turn.teammateIdle,
  TaskCreated: turn.taskCreated,
  TaskCompleted: turn.taskCompleted,
  SessionEnd: sessionEnd,
  PermissionDenied: tool.permissionDenied,
  PostToolBatch: tool.postToolBatch,
  Setup: otherEvent,
  InstructionsLoaded: otherEvent,
  UserPromptExpansion: otherEvent,
  Notification: otherEvent,
  PreCompact: otherEvent,
  PostCompact: otherEvent,
  Elicitation: otherEvent,
  ElicitationResult: otherEvent,
  ConfigChange: otherEvent,
  CwdChanged: otherEvent,
  FileChanged: otherEvent,
  WorktreeRemove: otherEvent,
  MessageDisplay: otherEvent,
};

/** What the second hook of an event asks. It ends no turn: the hook beside it does. */
export const wakingRows: Readonly<Partial<Record<EventName, Row>>> = {
  Stop: (event, actor, { env }) => awaitWake(event, actor, env["CLAUDE_CODE_SESSION_ATTENDED"] === "1"),
};
