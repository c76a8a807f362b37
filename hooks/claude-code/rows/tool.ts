/** Events of tools. The client waits only for PreToolUse; the others may come late, so they only end things. */

import { limits } from "../../../protocol/limits.ts";
import { nearPath, quote } from "../../../protocol/text.ts";
import { withInbox, withNotes } from "../../plans/answers/inbox.ts";
import { preEdit } from "../../plans/edit.ts";
import {
  type Actor,
  ancestorsOf,
  type Event,
  innerId,
  inputPath,
  isId,
  responseLabel,
  within,
} from "../../plans/event.ts";
import { isOwnTool, ownTool, typed, withNews } from "../../plans/kite-calls.ts";
import {
  agentOver,
  heartbeat,
  idle,
  mainOf,
  otherEvent,
  type Plan,
  type Row,
} from "../../plans/plan-parts.ts";
import { preShell, shellEnd } from "../../plans/shell-line.ts";
import type { HookAction } from "../../seam/slices.ts";
import { isAgent } from "../agents.ts";
import { toolSlices } from "../slices.ts";
import { writes } from "../tools.ts";
import { changedLines } from "./changed-lines.ts";
import { sentText } from "./sent-text.ts";

export const preToolUse: Row = (event, actor, context) => {
  const tool = event.tool ?? "";
  if (!writes.has(tool)) return preOtherTool(event, actor, context);
  const file = writtenFile(event);
  return file === null
    ? idle
    : preEdit(event, actor, context, { file, overwrites: tool !== "Edit", isOwn: isOwnFile(file) });
};

const preOtherTool: Row = (event, actor, context) => {
  const tool = event.tool ?? "";
  if (isOwnTool(tool)) return withNews(event, actor, ownTool(event, actor, context));
  if (tool === "Bash") return withNews(event, actor, typed(event, actor, preShell(event, actor, context)));
  const row = toolSlices.find(({ tools }) => tools.includes(tool))?.row ?? otherEvent;
  return row(event, actor, context);
};

/** A person is asked about a call (`isAsked`), or it did not run. */
function callOpen(event: Event, actor: Actor, isAsked: boolean): readonly HookAction[] {
  return toolSlices.flatMap(slice => slice.open(event, actor, isAsked));
}

export const postToolUse: Row = (event, actor) => {
  const tool = event.tool ?? "";
  const plan = writes.has(tool)
    ? written(event, actor, true)
    : { actions: [...shellEnd(event, actor), ...agentOf(event, tool, actor), wentOn(actor)] };
  const done = { ...plan, actions: [resultOf(event, actor, null), ...plan.actions] };
  return withNotes(event, actor, event.cwd ?? "", done);
};

/** A failed Agent call does not name the agent: the agent's StopFailure did. */
export const postToolUseFailure: Row = (event, actor) => {
  const plan = writes.has(event.tool ?? "")
    ? written(event, actor, false)
    : { actions: [...shellEnd(event, actor), ...callOpen(event, actor, false), wentOn(actor)] };
  const { error, is_interrupt: isInterrupt } = event.raw;
  // A person who interrupts a call knows of it.
  const isFailure = typeof error === "string" && isInterrupt !== true;
  const failed = isFailure ? [resultOf(event, actor, endOf(error, limits.failureChars))] : [];
  const done = { ...plan, actions: [...failed, ...plan.actions] };
  // The client was not seen to hand this answer to another agent than the main one.
  return actor.agent === undefined ? withInbox(event, actor, event.cwd ?? "/", done) : done;
};

/** The end of an error, where programs say what failed: whole lines if one fits into `max` UTF-16 units. */
function endOf(error: string, max: number): string {
  const text = error.trimEnd();
  if (text.length <= max) return text;
  const end = text.slice(1 - max);
  const line = end.indexOf("\n");
  return `…${line === -1 ? end : end.slice(line + 1)}`;
}

/** Comes after refused calls, too. It ends only the writes it names, because the next write may have begun. */
export const postToolBatch: Row = (event, actor) => {
  const calls: unknown = event.raw["tool_calls"];
  const { cwd } = event;
  const ends = (Array.isArray(calls) ? calls : []).flatMap((call): readonly HookAction[] => {
    const toolUseId = within(call, "tool_use_id");
    const isWrite = writes.has(String(within(call, "tool_name")));
    return isWrite && isId(toolUseId) && cwd !== null ? [flightEnd(event, actor, cwd, toolUseId)] : [];
  });
  return { actions: [...ends.slice(0, limits.batchWritesMax), wentOn(actor)] };
};

/** A dialog waits for a person. Meanwhile the actor keeps the lock for its write. */
export const permissionRequest: Row = (event, actor) => {
  const tool = event.tool ?? "";
  const file = writtenFile(event);
  const name = /^[\w-]+$/.test(tool) ? tool : quote(tool, limits.nameBytes);
  const of = file === null ? "" : ` of ${quote(nearPath(file, event.cwd ?? ""))}`;
  const kept: readonly HookAction[] = writes.has(tool)
    ? [{ do: "renew", ...actor }]
    : tool === "Bash"
      ? [
          { do: "release_index", ...actor },
          { do: "renew", ...actor },
        ]
      : [];
  const asks = heartbeat(actor, { attention: `permission for ${name}${of}` });
  return { actions: [...kept, ...callOpen(event, actor, true), asks] };
};

/** The client's own check refused a call. The call will not run, and no other event says so. */
export const permissionDenied: Row = (event, actor, context) => {
  const tool = event.tool ?? "";
  if (writes.has(tool)) return written(event, actor, false);
  const rest = otherEvent(event, actor, context).actions;
  const over: readonly HookAction[] =
    tool === "Bash" ? lineOver(event, actor) : callOpen(event, actor, false);
  return { actions: [...over, ...rest] };
};

/** A shell line will not run. */
function lineOver({ toolUseId }: Event, actor: Actor): readonly HookAction[] {
  const files: readonly HookAction[] =
    toolUseId === null ? [] : [{ do: "release_line_files", ...actor, toolUseId }];
  return [{ do: "release_index", ...actor }, ...files];
}

/** A write ended; `wrote` says whether it changed the file. */
function written(event: Event, actor: Actor, wrote: boolean): Plan {
  const { toolUseId, cwd } = event;
  const file = writtenFile(event);
  if (toolUseId === null || cwd === null) return { actions: [wentOn(actor)] };
  const lines = wrote ? changedLines(event) : null;
  const sent = wrote ? sentText(event) : null;
  const end = {
    ...flightEnd(event, actor, cwd, toolUseId),
    wrote,
    file,
    lines,
    ...(sent === null ? {} : { sent }),
  };
  return { ...(file === null ? {} : { file }), actions: [end, wentOn(actor)] };
}

function flightEnd(event: Event, actor: Actor, cwd: string, toolUseId: string) {
  const ancestors = ancestorsOf(event);
  return {
    do: "flight_end",
    ...actor,
    toolUseId,
    wrote: false,
    file: null,
    cwd,
    lines: null,
    ancestors,
  } as const;
}

/** What the end of a call says of another agent: it is a teammate, or has ended. */
function agentOf(event: Event, tool: string, actor: Actor): readonly HookAction[] {
  return [...newTeammate(event, tool, actor), ...endOfAgent(event, tool, actor)];
}

/** A teammate of the same process has begun. One in a pane is a session of its own, which this event does not name. */
function newTeammate(event: Event, tool: string, { session }: Actor): readonly HookAction[] {
  if (tool !== "Agent" || within(event.raw["tool_response"], "status") !== "teammate_spawned") return [];
  const agent = innerId(event, "tool_response", "agentId");
  const [name, team] = [responseLabel(event, "name"), responseLabel(event, "team_name")];
  if (agent === null || !isAgent(agent) || name === null || team === null) return [];
  return [heartbeat({ session, agent }, { teammate: { name, team } })];
}

/** A subagent that gave its result, or was stopped, has ended, whether or not it reported that itself. */
function endOfAgent(event: Event, tool: string, actor: Actor): readonly HookAction[] {
  const response = event.raw["tool_response"];
  const agent =
    tool === "Agent" && within(response, "status") === "completed"
      ? innerId(event, "tool_response", "agentId")
      : tool === "TaskStop"
        ? (innerId(event, "tool_input", "task_id") ?? innerId(event, "tool_response", "task_id"))
        : null;
  if (agent !== null && isAgent(agent)) return agentOver({ ...mainOf(actor), agent });
  return endOfTeammate(event, tool, actor);
}

/**
 * A teammate of the same process was stopped by its name, or agreed to shut down. Another event ends its last turn,
 * before this one or after it. A teammate that is woken again begins anew.
 */
function endOfTeammate(event: Event, tool: string, actor: Actor): readonly HookAction[] {
  const response = event.raw["tool_response"];
  if (tool === "TaskStop" && within(response, "task_type") === "in_process_teammate") {
    const agentName = within(response, "command");
    return isId(agentName) ? [heartbeat(mainOf(actor), { agentName, ended: true, stopped: true })] : [];
  }
  const said = within(event.raw["tool_input"], "message");
  const agreed =
    tool === "SendMessage" &&
    within(said, "type") === "shutdown_response" &&
    within(said, "approve") === true &&
    within(response, "success") === true;
  return agreed && actor.agent !== undefined ? [heartbeat(actor, { ended: true, attention: null })] : [];
}

/** The person has answered what the actor was asking for. */
function wentOn(actor: Actor): HookAction {
  return heartbeat(actor, { attention: null });
}

function resultOf(event: Event, actor: Actor, error: string | null): HookAction {
  return { do: "record_result", ...actor, tool: event.tool ?? "", error };
}

/** The client's own plans and memories, which are nobody's code. */
function isOwnFile(file: string): boolean {
  return /\/\.claude\/(?:plans|projects|agent-memory|tasks|teams)\//.test(file) && !file.includes("/../");
}

function writtenFile(event: Event): string | null {
  const name = writes.get(event.tool ?? "");
  return name === undefined ? null : inputPath(event, name);
}
