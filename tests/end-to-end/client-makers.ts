/** What each agent client's hooks send, made of its recorded events: one row a client. */
import { readFileSync } from "node:fs";
import type { Message } from "./daemon.ts";

/** What an answer says, whatever its form. */
export interface Said {
  readonly denial: string | null;
  /** What the model reads besides. */
  readonly context: string;
}

export interface ClientMaker {
  /** What its entries name it; null: they name none. */
  readonly client: string | null;
  start(): Message;
  prompt(turn: string): Message;
  /** Before and after an edit of a file that is there; `file` is absolute. */
  beforeEdit(file: string, call: string): Message;
  afterEdit(file: string, call: string): Message;
  /** Before and after a call that replaces the whole file, or where the client has none, deletes it. */
  beforeWhole(file: string, call: string): Message;
  afterWhole(file: string, call: string): Message;
  beforeLine(line: string, call: string): Message;
  /** The event as an agent within the session sends it; null: the client tells of none by such an event. */
  subagentStart(session: string, agent: string): Message | null;
  inSubagent(event: Message, session: string, agent: string): Message;
  /** What it sends of an agent that another agent began. */
  inNested(event: Message, session: string, parent: string, agent: string): Message;
  stop(): Message;
  end(): Message;
  said(output: string): Said;
}

const fixtures = new URL("../fixtures/", import.meta.url);

function recorded(name: string): Message {
  return JSON.parse(readFileSync(new URL(`${name}.json`, fixtures), "utf8"));
}

const withInput = (name: string, input: Message, more: Message = {}): Message => {
  const event = recorded(name);
  return { ...event, ...more, tool_input: { ...(event["tool_input"] as Message), ...input } };
};

const inSubagent = (event: Message, session_id: string, agent_id: string): Message => ({
  ...event,
  ...{ session_id, agent_id, agent_type: "worker" },
});

/** Its ids are those of the session and the new agent, whoever began it. */
const inNested: ClientMaker["inNested"] = (event, session, _parent, agent) =>
  inSubagent(event, session, agent);

/** An agent has a session's id of its own, and names who began it. */
const inCopilots = (event: Message, parent_agent_id: string, agent: string): Message => ({
  ...event,
  ...{ session_id: agent, agent_id: agent, parent_agent_id },
});

const nothing: Said = { denial: null, context: "" };

/** Claude Code's form, which Codex shares. */
function nested(output: string): Said {
  if (output === "") return nothing;
  const own = JSON.parse(output).hookSpecificOutput ?? {};
  return { denial: own.permissionDecisionReason ?? null, context: own.additionalContext ?? "" };
}

const patchOf = (file: string) =>
  ["*** Begin Patch", `*** Update File: ${file}`, "@@", "-old", "+new", "*** End Patch"].join("\n");

const deletes = (file: string) => ["*** Begin Patch", `*** Delete File: ${file}`, "*** End Patch"].join("\n");

/** In the form in which the plugin sends its events; the client's own are calls within its process. */
const plugin = (hook_event_name: string, more: Message = {}): Message => ({ hook_event_name, ...more });

export const clientMakers: readonly ClientMaker[] = [
  {
    client: null,
    start: () => recorded("payloads/SessionStart--startup-print"),
    prompt: turn => ({ ...recorded("payloads/UserPromptSubmit--print"), prompt_id: turn }),
    beforeEdit: (file_path, tool_use_id) =>
      withInput("payloads/PreToolUse--Edit", { file_path }, { tool_use_id }),
    afterEdit: (file_path, tool_use_id) =>
      withInput("payloads/PostToolUse--Edit", { file_path }, { tool_use_id }),
    beforeWhole: (file_path, tool_use_id) =>
      withInput("payloads/PreToolUse--Write", { file_path }, { tool_use_id }),
    afterWhole: (file_path, tool_use_id) =>
      withInput("payloads/PostToolUse--Write", { file_path }, { tool_use_id }),
    beforeLine: (command, tool_use_id) =>
      withInput("payloads/PreToolUse--Bash", { command }, { tool_use_id }),
    subagentStart: (session_id, agent_id) => ({
      ...recorded("payloads/SubagentStart--foreground"),
      ...{ session_id, agent_id },
    }),
    inSubagent,
    inNested,
    stop: () => recorded("payloads/Stop--plain"),
    end: () => recorded("payloads/SessionEnd--print-other"),
    said: nested,
  },
  {
    client: "codex",
    start: () => recorded("codex/SessionStart--startup"),
    prompt: turn_id => ({ ...recorded("codex/UserPromptSubmit--main"), turn_id }),
    beforeEdit: (file, tool_use_id) =>
      withInput("codex/PreToolUse--apply_patch-move", { command: patchOf(file) }, { tool_use_id }),
    afterEdit: (file, tool_use_id) =>
      withInput("codex/PostToolUse--apply_patch", { command: patchOf(file) }, { tool_use_id }),
    beforeWhole: (file, tool_use_id) =>
      withInput("codex/PreToolUse--apply_patch-move", { command: deletes(file) }, { tool_use_id }),
    afterWhole: (file, tool_use_id) =>
      withInput("codex/PostToolUse--apply_patch", { command: deletes(file) }, { tool_use_id }),
    beforeLine: (command, tool_use_id) => withInput("codex/PreToolUse--Bash", { command }, { tool_use_id }),
    subagentStart: (session_id, agent_id) => ({
      ...recorded("codex/SubagentStart--v1"),
      ...{ session_id, agent_id },
    }),
    inSubagent,
    inNested,
    stop: () => recorded("codex/Stop--plain"),
    end: () => recorded("codex/SessionEnd--other"),
    said: nested,
  },
  {
    client: "copilot",
    start: () => recorded("copilot/SessionStart--new"),
    prompt: () => recorded("copilot/UserPromptSubmit--main"),
    beforeEdit: path => withInput("copilot/PreToolUse--Edit", { path }),
    afterEdit: path => ({
      ...recorded("copilot/PostToolUse--Edit"),
      tool_input: withInput("copilot/PreToolUse--Edit", { path })["tool_input"],
    }),
    beforeWhole: file => ({
      ...recorded("copilot/PreToolUse--Edit-patch-two-files"),
      tool_input: deletes(file),
    }),
    afterWhole: file => ({
      ...recorded("copilot/PostToolUse--Edit-patch-two-files"),
      tool_input: deletes(file),
    }),
    beforeLine: command => withInput("copilot/PreToolUse--Bash", { command }),
    subagentStart: (parent_agent_id, agent) => ({
      ...recorded("copilot/UserPromptSubmit--subagent"),
      ...{ session_id: agent, agent_id: agent, parent_agent_id },
    }),
    inSubagent: inCopilots,
    inNested: (event, _session, parent, agent) => inCopilots(event, parent, agent),
    stop: () => recorded("copilot/Stop--main"),
    end: () => recorded("copilot/SessionEnd--complete"),
    said: output => {
      if (output === "") return nothing;
      const { permissionDecisionReason: denial = null, additionalContext: context = "" } = JSON.parse(output);
      return { denial, context };
    },
  },
  {
    client: "gemini",
    start: () => recorded("gemini/SessionStart--startup"),
    prompt: () => recorded("gemini/BeforeAgent--prompt"),
    beforeEdit: file_path => withInput("gemini/BeforeTool--replace", { file_path }),
    afterEdit: file_path => ({
      ...recorded("gemini/AfterTool--replace"),
      tool_input: withInput("gemini/BeforeTool--replace", { file_path })["tool_input"],
    }),
    beforeWhole: file_path => withInput("gemini/BeforeTool--write_file", { file_path }),
    afterWhole: file_path => ({
      ...recorded("gemini/AfterTool--write_file"),
      tool_input: withInput("gemini/BeforeTool--write_file", { file_path })["tool_input"],
    }),
    beforeLine: command => withInput("gemini/BeforeTool--run_shell_command", { command }),
    subagentStart: () => null,
    inSubagent,
    inNested,
    stop: () => recorded("gemini/AfterAgent--plain"),
    end: () => recorded("gemini/SessionEnd--exit"),
    said: output => {
      if (output === "") return nothing;
      const { decision, reason = "", hookSpecificOutput: own = {} } = JSON.parse(output);
      return { denial: decision === "deny" ? reason : null, context: own.additionalContext ?? "" };
    },
  },
  {
    client: "opencode",
    start: () => plugin("SessionStart", { source: "startup" }),
    prompt: turn_id => plugin("UserPromptSubmit", { prompt: "Change it.", turn_id }),
    beforeEdit: (filePath, tool_use_id) =>
      plugin("PreToolUse", { tool_name: "edit", tool_use_id, tool_input: { filePath } }),
    afterEdit: (filePath, tool_use_id) =>
      plugin("PostToolUse", { tool_name: "edit", tool_use_id, tool_input: { filePath } }),
    beforeWhole: (filePath, tool_use_id) =>
      plugin("PreToolUse", { tool_name: "write", tool_use_id, tool_input: { filePath } }),
    afterWhole: (filePath, tool_use_id) =>
      plugin("PostToolUse", { tool_name: "write", tool_use_id, tool_input: { filePath } }),
    beforeLine: (command, tool_use_id) =>
      plugin("PreToolUse", { tool_name: "bash", tool_use_id, tool_input: { command } }),
    subagentStart: (session_id, agent_id) =>
      plugin("SubagentStart", { session_id, agent_id, agent_type: "general" }),
    inSubagent,
    inNested,
    stop: () => plugin("Stop"),
    end: () => plugin("SessionEnd", { reason: "dispose" }),
    said: output => {
      if (output === "") return nothing;
      const { deny: denial = null, context = "" } = JSON.parse(output);
      return { denial, context };
    },
  },
];
