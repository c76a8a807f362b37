/** Calls of Kite itself: the client does not tell them which of its agents makes them, so the event before does. */

import { limits } from "../../../protocol/limits.ts";
import type { HookAction } from "../../seam/plan.ts";
import type { Actor } from "../agents.ts";
import { type Event, field, within } from "../payload.ts";
import { atWork, begin, type Plan, type Row } from "../plan-parts.ts";
import { otherEvent } from "./session.ts";

/** A tool of Kite's server, named `kite`, added by hand or by a plugin. */
export function isOwnTool(tool: string): boolean {
  return /^mcp__(?:plugin_.+_)?kite__/.test(tool);
}

/** The call follows with the same tool use. */
export const ownTool: Row = (event, actor, context) => {
  const toolUseId = field(event, "tool_use_id");
  const cwd = field(event, "cwd");
  if (toolUseId === null || cwd === null) return otherEvent(event, actor, context);
  const { session, agent } = actor;
  const acts: HookAction = { do: "acts", session, ...(agent === undefined ? {} : { agent }), toolUseId, cwd };
  return { actions: [...begin(event, actor), atWork(event, actor), acts] };
};

/**
 * A `kite` command in a shell line is told which agent types it: by what it was typed with, when it asks. (A variable in
 * front of the line would say it as well, but then the person's own rule `Bash(kite *)` would not fit the line any more.)
 */
export function typed(event: Event, { session, agent }: Actor, plan: Plan): Plan {
  const command = within(event["tool_input"], "command");
  const toolUseId = field(event, "tool_use_id");
  const cwd = field(event, "cwd");
  if (typeof command !== "string" || !mentionsKite.test(command) || toolUseId === null || cwd === null)
    return plan;
  const who = { session, ...(agent === undefined ? {} : { agent }) };
  const acts: HookAction = {
    do: "acts",
    ...who,
    toolUseId,
    cwd,
    command: command.slice(0, limits.typedChars),
  };
  return { ...plan, actions: [acts, ...plan.actions] };
}

/** Rather once too often: what is noted does no harm. */
const mentionsKite = /(?:^|[\s;&|({"'`/])kite\s/;
