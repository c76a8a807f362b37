/** Calls of the client's own tools that a team's rules are about. The client itself lets all of them through. */

import { teamTools } from "../claude-code/events.ts";
import { namesIn } from "../claude-code/teams.ts";
import { withInbox } from "../plans/answers/inbox.ts";
import { type Actor, ancestorsOf, type Event, inputText, isId, within } from "../plans/event.ts";
import { atWork, begin, type Row } from "../plans/plan-parts.ts";
import type { HookAction } from "../seam/slices.ts";
import type { TaskChange, TeamCall } from "../seam/teams.ts";
import { teamAnswer } from "./answers.ts";

/** Calls of the client's own tools that a slice has a row for. */
export interface ToolSlice {
  readonly tools: readonly string[];
  readonly row: Row;
  /** A person is asked about a call (`isAsked`), or it did not run. */
  open(event: Event, actor: Actor, isAsked: boolean): readonly HookAction[];
}

const teamTool: Row = (event, actor) => {
  const call = callOf(event, event.tool ?? "");
  const line = { ancestors: ancestorsOf(event), parentFile: event.worker.parentFile };
  const gate: HookAction[] =
    call === null
      ? []
      : [{ do: "gate_team", ...actor, name: event.worker.teammate?.name ?? null, call, ...line }];
  const actions = [...begin(event, actor), atWork(event, actor), ...gate];
  return withInbox(event, actor, event.cwd ?? "", { actions, answer: teamAnswer });
};

/** A person is asked about a call (`isAsked`), or it did not run: what the daemon took from it is not so yet. */
function teamCallOpen(event: Event, { session, agent }: Actor, isAsked: boolean): readonly HookAction[] {
  const call = callOf(event, event.tool ?? "");
  if (call?.what !== "task_update" && call?.what !== "begin") return [];
  return [{ do: "team_call_open", session, ...(agent === undefined ? {} : { agent }), call, isAsked }];
}

/** `Agent` breaks no rule: its name may be used at once, and a lead hears of its team before it begins another teammate. */
export const teamCalls: ToolSlice = {
  tools: teamTools,
  row: teamTool,
  open: teamCallOpen,
};

/** null: the call names nothing that the rules could be asked about, or would be refused by the client itself. */
function callOf(event: Event, tool: string): TeamCall | null {
  const input = event.raw["tool_input"];
  if (tool === "EnterWorktree" || tool === "ExitWorktree") return { what: "move", tool };
  if (tool === "SendMessage") {
    const to = within(input, "to");
    return isId(to) ? { what: "message", to } : null;
  }
  if (tool === "Agent") {
    const name = within(input, "name");
    // In a worktree or elsewhere it is an ordinary subagent.
    return isId(name) && within(input, "isolation") === undefined ? { what: "begin", name } : null;
  }
  const task = within(input, "taskId");
  if (tool !== "TaskUpdate" || !isId(task)) return null;
  return {
    what: "task_update",
    task,
    status: statusIn(within(input, "status")),
    owner: inputText(event, "owner"),
    addBlockedBy: namesIn(within(input, "addBlockedBy")),
    addBlocks: namesIn(within(input, "addBlocks")),
  };
}

function statusIn(value: unknown): TaskChange["status"] {
  return value === "pending" || value === "in_progress" || value === "completed" || value === "deleted"
    ? value
    : null;
}
