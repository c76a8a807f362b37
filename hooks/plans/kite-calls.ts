/** Calls of Kite itself: the client does not say which of its agents makes a call, so the event before it does. */

import { limits } from "../../protocol/limits.ts";
import type { HookAction } from "../seam/slices.ts";
import { withInbox } from "./answers/inbox.ts";
import { type Actor, type Event, inputText, within } from "./event.ts";
import { atWork, begin, otherEvent, type Plan, type Row } from "./plan-parts.ts";

/** A tool of Kite's server, named `kite`, added by hand or by a plugin. */
export function isOwnTool(tool: string): boolean {
  return /^mcp__(?:plugin_.+_)?kite__/.test(tool);
}

/** Whether the call shows the agent's inbox. */
function readsInbox(event: Event): boolean {
  return /[_-]kite_inbox$/.test(event.tool ?? "") || (inputText(event, "command") ?? "").includes(" inbox");
}

/** An agent that only reads and runs has no other event to hear with. A call that shows the inbox itself shows it once. */
export function withNews(event: Event, actor: Actor, plan: Plan): Plan {
  const isTold = plan.actions.some(({ do: act }) => act === "inbox");
  return isTold || readsInbox(event) ? plan : withInbox(event, actor, event.cwd ?? "/", plan);
}

/** The call follows with the same tool use id. */
export const ownTool: Row = (event, actor, context) => {
  const { toolUseId, cwd } = event;
  if (toolUseId === null || cwd === null) return otherEvent(event, actor, context);
  const { session, agent } = actor;
  const use: HookAction = {
    do: "record_tool_use",
    session,
    ...(agent === undefined ? {} : { agent }),
    toolUseId,
    cwd,
    promptId: event.prompt,
    isBackground: false,
  };
  return { actions: [...begin(event, actor), atWork(event, actor), use] };
};

/**
 * Records the shell line of a `kite` command: when the command asks which agent typed it, its words tell. (A variable in
 * front of the line would tell, too, but then the person's own rule `Bash(kite *)` would not match the line any more.)
 */
export function typed(event: Event, { session, agent }: Actor, plan: Plan): Plan {
  const command = within(event.raw["tool_input"], "command");
  const { toolUseId, cwd } = event;
  if (typeof command !== "string" || !mentionsKite.test(command) || toolUseId === null || cwd === null)
    return plan;
  const who = { session, ...(agent === undefined ? {} : { agent }) };
  const use: HookAction = {
    do: "record_tool_use",
    ...who,
    toolUseId,
    cwd,
    command: command.slice(0, limits.typedChars),
    promptId: event.prompt,
    isBackground: within(event.raw["tool_input"], "run_in_background") === true,
  };
  return { ...plan, actions: [use, ...plan.actions] };
}

/** Matches too much rather than too little: a recorded line does no harm. */
const mentionsKite = /(?:^|[\s;&|({"'`/])kite\s/;
