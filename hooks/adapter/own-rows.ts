/** Calls of Kite itself: the client does not tell them which of its agents makes them, so the event before does. */
import type { HookAction } from "../../protocol/adapter.ts";
import { nothing, type Output, withInput } from "./output.ts";
import { type Event, field, within } from "./payload.ts";
import { type Actor, atWork, begin, type Plan, type Row } from "./row.ts";
import { otherEvent } from "./session-rows.ts";
import { shellWord } from "./words.ts";

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
 * Tells a `kite` command in the shell line which agent types it, by `KITE_AGENT`; the session is in its environment.
 * Main agents have no name to tell. The client holds its permission rules against the line as it is then, and a rule
 * such as `Bash(kite *)` does not fit one that sets a variable: so only where no rule is asked.
 */
export function named(event: Event, { agent }: Actor, plan: Plan): Plan {
  const command = within(event["tool_input"], "command");
  if (agent === undefined || event["permission_mode"] !== "bypassPermissions") return plan;
  if (typeof command !== "string" || !mentionsKite.test(command)) return plan;
  const answer = (said: Output): Output => {
    const input = { ...inputOf(event), command: `export KITE_AGENT=${shellWord(agent)}; ${command}` };
    return withInput(said, input);
  };
  return { ...plan, answer: outcomes => answer(plan.answer?.(outcomes) ?? nothing) };
}

/** Rather once too often: the variable does no harm. */
const mentionsKite = /(?:^|[\s;&|({"'`/])kite\s/;

function inputOf(event: Event): object {
  const input = event["tool_input"];
  return typeof input === "object" && input !== null ? input : {};
}
