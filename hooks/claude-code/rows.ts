/** What each event of the client asks of the daemon. */

import { limits } from "../../protocol/limits.ts";
import { nearPath, quote } from "../../protocol/text.ts";
import { nothing, readerOf } from "../plans/answers/answer.ts";
import { readSoFar, withInbox, withNotes } from "../plans/answers/inbox.ts";
import {
  type Actor,
  ancestorsOf,
  type Event,
  innerId,
  inputPath,
  isId,
  label,
  responseLabel,
  within,
} from "../plans/event.ts";
import { isOwnTool, ownTool, typed, withNews } from "../plans/kite-calls.ts";
import {
  agentOver,
  answerAround,
  asksBefore,
  asTeammate,
  begin,
  heartbeat,
  idle,
  mainOf,
  otherEvent,
  type Plan,
  type Row,
  turnOver,
  waitingEvent,
} from "../plans/plan-parts.ts";
import { before } from "../plans/slices.ts";
import { preEdit, preShell, shellEnd } from "../plans/tool-events.ts";
import {
  awaitWake,
  isWakeText,
  promptOf,
  sessionStart,
  stopAnswer,
  stopGate,
  subagentStart,
  turnEnds,
} from "../plans/turn-events.ts";
import type { SentText } from "../seam/actions.ts";
import type { HookContext } from "../seam/plan.ts";
import type { HookAction } from "../seam/slices.ts";
import { type EventName, writes } from "./events.ts";
import { toolSlices } from "./slices.ts";
import { goneAgents, isAgent, teamOf } from "./teams.ts";

// Events of a session's life: it begins, goes on and ends.

const userPromptSubmit: Row = (event, actor, context) =>
  actor.agent === undefined
    ? promptOf(event, actor, !isMachineMade(event))
    : waitingEvent(event, actor, context);

/** After `clear` and `resume` the same process goes on under another id. */
const sessionEnd: Row = (event, actor) => {
  const main = mainOf(actor);
  const cause = event.reason ?? "other";
  const goesOn = cause === "clear" || cause === "resume";
  return { actions: [goesOn ? { do: "suspend", ...main } : { do: "end", ...main, cause }] };
};

/**
 * Whether the client wrote the prompt itself: a wake-up, an agent's end, a teammate's message. A prompt from another
 * program looks like a person's.
 */
function isMachineMade(event: Event): boolean {
  const { prompt } = event.raw;
  if (typeof prompt !== "string") return false;
  return /^\s*<(?:task-notification|agent-message)[\s>]/.test(prompt) || isWakeText(prompt);
}

// Says which lines a tool changed.

/** Where a tool changed its file, in new line numbers: `line 2`, `lines 10-40, 52`; null if the event does not say. */
function changedLines(event: Event): string | null {
  const hunks = within(event.raw["tool_response"], "structuredPatch");
  if (!Array.isArray(hunks)) return null;
  const ranges: string[] = [];
  for (const hunk of hunks.slice(0, limits.changedRangesMax)) {
    const range = rangeOf(hunk);
    if (range === null) return null;
    ranges.push(range);
  }
  const [first] = ranges;
  if (first === undefined) return null;
  const more = hunks.length > ranges.length ? " and more" : "";
  const word = ranges.length === 1 && more === "" && !first.includes("-") ? "line" : "lines";
  return `${word} ${ranges.join(", ")}${more}`;
}

/** The changed lines of a hunk, without unchanged ones around them. If lines were only removed, their place. */
function rangeOf(hunk: unknown): string | null {
  const start = within(hunk, "newStart");
  const count = within(hunk, "newLines");
  const lines = within(hunk, "lines");
  if (!isLineNumber(start) || !isLineNumber(count) || !Array.isArray(lines)) return null;
  const isChange = (line: unknown) => typeof line === "string" && /^[+-]/.test(line);
  const first = lines.findIndex(isChange);
  if (first === -1) return null;
  const last = lines.findLastIndex(isChange);
  const after = lines.slice(last + 1).filter(line => typeof line === "string" && line.startsWith(" ")).length;
  const from = start + first;
  const to = start + count - 1 - after;
  return to > from ? `${from}-${to}` : String(from);
}

function isLineNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && typeof value === "number" && value >= 0;
}

// What a writing tool sent: the whole file, as far as the event has it or says how it was made.

/** Returns the text of a write that succeeded; null: the event does not have it. */
function sentText({ tool, raw }: Event): SentText | null {
  const [input, response] = [raw["tool_input"], raw["tool_response"]];
  if (within(response, "userModified") === true) return null;
  if (tool === "Write") return whole(within(input, "content"));
  if (tool === "NotebookEdit") return whole(within(response, "updated_file"));
  if (tool !== "Edit") return null;
  const before = within(response, "originalFile");
  const [old, next] = [within(response, "oldString"), within(response, "newString")];
  if (typeof before !== "string" || typeof old !== "string" || typeof next !== "string") return null;
  const isAll = within(response, "replaceAll") === true;
  return { chars: before.length + next.length, text: () => replaced(before, old, next, isAll) };
}

function whole(text: unknown): SentText | null {
  return typeof text === "string" ? { chars: text.length, text: () => text } : null;
}

/** Null: the tool found its text by another spelling than this one. */
function replaced(before: string, old: string, next: string, isAll: boolean): string | null {
  // The tool makes a file that way.
  if (old === "") return before === "" ? next : null;
  const at = before.indexOf(old);
  if (at === -1) return null;
  if (isAll) return replacedAll(before, old, next);
  return before.slice(0, at) + next + before.slice(at + old.length);
}

/** Null: the text would be longer than what is kept. */
function replacedAll(before: string, old: string, next: string): string | null {
  const pieces: string[] = [];
  let [from, chars] = [0, before.length];
  for (let at = before.indexOf(old); at !== -1; at = before.indexOf(old, from)) {
    chars += next.length - old.length;
    if (chars > limits.rescueFileBytes || pieces.length > limits.rescueReplacedMax) return null;
    pieces.push(before.slice(from, at), next);
    from = at + old.length;
  }
  return pieces.join("") + before.slice(from);
}

// Events of tools. The client waits only for PreToolUse; the others may come late, so they only end things.

const preToolUse: Row = (event, actor, context) => {
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

const postToolUse: Row = (event, actor) => {
  const tool = event.tool ?? "";
  const plan = writes.has(tool)
    ? written(event, actor, true)
    : { actions: [...shellEnd(event, actor), ...agentOf(event, tool, actor), wentOn(actor)] };
  const done = { ...plan, actions: [resultOf(event, actor, null), ...plan.actions] };
  return withNotes(event, actor, event.cwd ?? "", done);
};

/** A failed Agent call does not name the agent: the agent's StopFailure did. */
const postToolUseFailure: Row = (event, actor) => {
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
const postToolBatch: Row = (event, actor) => {
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
const permissionRequest: Row = (event, actor) => {
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
const permissionDenied: Row = (event, actor, context) => {
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
  const message = within(event.raw["tool_input"], "message");
  const agreed =
    tool === "SendMessage" &&
    within(message, "type") === "shutdown_response" &&
    within(message, "approve") === true &&
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

// Tasks of the client's own list, as its events report them.

type ClientTask = Extract<HookAction, { do: "client_task" }>;

/**
 * What the event says of a task; nothing if it names none. Events of the lead name no team; events of its teammates do.
 * All mean the list of the team that the lead's session has, or would have.
 */
function clientTask(
  event: Event,
  { session, agent }: Actor,
  state: ClientTask["state"],
): readonly ClientTask[] {
  const task = label(event, "task_id");
  if (task === null) return [];
  const own = teamOf(session);
  const list = label(event, "team_name") ?? own;
  return [
    {
      do: "client_task",
      session,
      ...(agent === undefined ? {} : { agent }),
      list,
      isOwnList: list === own,
      task,
      subject: subjectOf(event),
      owner: state === "completed" ? label(event, "teammate_name") : null,
      state,
    },
  ];
}

function subjectOf(event: Event): string {
  const subject = event.raw["task_subject"];
  return typeof subject === "string" ? subject.slice(0, limits.clientSubjectChars) : "";
}

// Events of turns: an agent begins one, or ends it. The client waits for all of these.

const stop: Row = (event, actor) => {
  const isGone = actor.agent === undefined ? goneAgents(event) : null;
  const reconcile: HookAction[] = isGone === null ? [] : [{ do: "reconcile", ...actor, isGone }];
  return turnEnds(event, actor, reconcile);
};

/** A subagent does not come back after an error; a teammate may be woken again. */
const stopFailure: Row = (event, actor) => {
  const { agent } = actor;
  if (agent === undefined || !event.worker.isSubagent) return { actions: turnOver(actor, true) };
  return { actions: agentOver({ ...actor, agent }) };
};

/** A turn has ended, not the agent: it may go on, and teammates come back. */
const subagentStop: Row = (event, actor, context) => {
  // The client's own helper for the summary of a compaction: no event reported its start.
  if (event.raw["agent_type"] === "") return idle;
  if (actor.agent === undefined) return waitingEvent(event, actor, context);
  return turnEnds(event, actor);
};

/** A teammate in a pane is a session of its own. */
const teammateIdle: Row = (event, actor) => ({
  actions: [
    ...begin(event, actor),
    ...asTeammate(event, actor),
    ...stopGate(event, actor),
    ...turnOver(actor),
    {
      do: "client_idle",
      session: actor.session,
      ...(actor.agent === undefined ? {} : { agent: actor.agent }),
      team: label(event, "team_name"),
    },
    readSoFar(actor),
  ],
  answer: stopAnswer,
});

/** A task of the client's own list: the event says which teammate adds it. A new task has no owner. */
const taskCreated: Row = (event, actor, context) => ({
  actions: [...byTeammate(event, actor, context), ...clientTask(event, actor, "created")],
});

/** The client calls a task of its own list completed. It says so at each idle of the task's owner, too. */
const taskCompleted: Row = (event, actor, context) => {
  const step = { ...readerOf(event, ""), cwd: event.cwd };
  return {
    actions: [
      ...byTeammate(event, actor, context),
      ...asksBefore(before.completion, step, actor),
      ...clientTask(event, actor, "completed"),
    ],
    answer: outcomes => answerAround(before.completion, step, outcomes, () => nothing),
  };
};

function byTeammate(event: Event, actor: Actor, context: HookContext): readonly HookAction[] {
  return [...waitingEvent(event, actor, context).actions, ...asTeammate(event, actor)];
}

export const rows: Readonly<Record<EventName, Row>> = {
  SessionStart: sessionStart,
  UserPromptSubmit: userPromptSubmit,
  PreToolUse: preToolUse,
  PostToolUse: postToolUse,
  PostToolUseFailure: postToolUseFailure,
  PermissionRequest: permissionRequest,
  SubagentStart: subagentStart,
  SubagentStop: subagentStop,
  Stop: stop,
  StopFailure: stopFailure,
  TeammateIdle: teammateIdle,
  TaskCreated: taskCreated,
  TaskCompleted: taskCompleted,
  SessionEnd: sessionEnd,
  PermissionDenied: permissionDenied,
  PostToolBatch: postToolBatch,
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
