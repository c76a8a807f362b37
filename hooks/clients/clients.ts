/** What Kite knows of each client but Claude Code: its limits, its events, and how it is started. */

import { clientWaitsMaxMs } from "../../protocol/client-waits.ts";
import { tableOf, times } from "../plans/event.ts";
import type { AgentClient, TerminalClient } from "../seam/plan.ts";

/**
 * What is known of Copilot. Esc does not end a held hook, and the next prompt waits for it: waits are short. A hook that
 * fails denies the call, one that is too slow lets it through.
 */
export const copilotClient: AgentClient = {
  name: "copilot",
  title: "Copilot",
  limits: {
    lockWaitMaxMs: clientWaitsMaxMs.copilot,
    namesCalls: false,
    // A person may be asked about the call meanwhile, and nothing says so.
    untoldWriteMs: 600_000,
    untoldPatchMs: null,
    promptsEndTurns: true,
    idleEndMs: null,
    clearGoesOnUnless: null,
    tellsSubagents: true,
    refusesStaleWrites: false,
    asksAllFirst: true,
  },
  words: { shellTool: "Bash", placeVariables: ["HOME"], agentVariables: ["KITE_SESSION"] },
};

export const copilotSpawn: TerminalClient = {
  name: copilotClient.name,
  program: "copilot",
  words: ({ name, prompt, model }) => [
    ...["--name", name],
    ...(model === null ? [] : ["--model", model]),
    ...["--interactive", prompt],
  ],
};

// Every event of the client that Kite asks for; the installed entries follow from it. `rows.ts` says what each asks of the daemon.

const written = "^(?:Edit|Write|Bash)$";

/**
 * Under these names the client writes its events in the form of Claude Code's. The start of a subagent is left out: it
 * names neither itself nor, in a nested one, its session.
 */
export const copilotEvents = tableOf(
  { event: "SessionStart", ...times.start },
  { event: "UserPromptSubmit", ...times.turn },
  { event: "PreToolUse", matcher: "^(?:Edit|Write|Bash|kite-.*)$", ...times.shortWrite },
  { event: "PostToolUse", matcher: written, ...times.callEnd },
  { event: "PostToolUseFailure", matcher: written, ...times.callEnd },
  { event: "SubagentStop", ...times.turn },
  { event: "Stop", ...times.turn },
  { event: "SessionEnd", ...times.turn },
);

export type CopilotEvent = (typeof copilotEvents)[number]["event"];

/**
 * What is known of Codex. A server in the background runs the sessions of all its windows and outlives them. So the
 * client may never tell that a session without a turn has ended.
 */
export const codexClient: AgentClient = {
  name: "codex",
  title: "Codex",
  limits: {
    lockWaitMaxMs: clientWaitsMaxMs.codex,
    namesCalls: true,
    untoldWriteMs: null,
    // It applies the patch itself, with no event after it. Before it may ask a person, and says so.
    untoldPatchMs: 5_000,
    promptsEndTurns: false,
    idleEndMs: 1_800_000,
    clearGoesOnUnless: ["app-server", "mcp-server"],
    tellsSubagents: true,
    refusesStaleWrites: false,
    asksAllFirst: false,
  },
  words: { shellTool: "Bash", placeVariables: ["HOME"], agentVariables: ["KITE_SESSION"] },
};

/**
 * The session stays in the window's own process. The client's server in the background has the environment of the
 * window that started it, and outlives this window.
 */
export const codexSpawn: TerminalClient = {
  name: codexClient.name,
  program: "codex",
  words: ({ prompt, model }) => [
    ...["--disable", "daemon_auto_start"],
    ...(model === null ? [] : ["--model", model]),
    prompt,
  ],
};

// Every event of the client that Kite asks for; the installed entries follow from it. `rows.ts` says what each asks of the daemon.

/**
 * One entry an event: the client has a person trust each by its place, its command and its times. It waits for all of them;
 * a deny before a tool holds in every mode.
 */
export const codexEvents = tableOf(
  { event: "SessionStart", ...times.start },
  { event: "UserPromptSubmit", ...times.turn },
  { event: "PreToolUse", matcher: "^(?:apply_patch|Bash|mcp__kite__.*)$", ...times.write },
  { event: "PermissionRequest", ...times.turn },
  { event: "PostToolUse", matcher: "^(?:apply_patch|Bash)$", ...times.callEnd },
  { event: "SubagentStart", ...times.turn },
  { event: "SubagentStop", ...times.turn },
  { event: "Stop", ...times.turn },
  { event: "Interrupt", ...times.turn },
  { event: "SessionEnd", ...times.turn },
);

export type CodexEvent = (typeof codexEvents)[number]["event"];

/**
 * What is known of Gemini CLI. Esc does not end a held hook, and the next prompt waits for it: waits are short. A hook whose
 * program is missing blocks the call, one that is too slow lets it through.
 */
export const geminiClient: AgentClient = {
  name: "gemini",
  title: "Gemini CLI",
  limits: {
    lockWaitMaxMs: clientWaitsMaxMs.gemini,
    namesCalls: false,
    // A dialog for a person is told. After Esc the client tells no end of an edit.
    untoldWriteMs: 60_000,
    untoldPatchMs: null,
    promptsEndTurns: true,
    idleEndMs: null,
    clearGoesOnUnless: null,
    tellsSubagents: false,
    refusesStaleWrites: false,
    asksAllFirst: false,
  },
  words: { shellTool: "run_shell_command", placeVariables: ["HOME"], agentVariables: ["KITE_SESSION"] },
};

export const geminiSpawn: TerminalClient = {
  name: geminiClient.name,
  program: "gemini",
  words: ({ prompt, model }) => [
    ...(model === null ? [] : ["--model", model]),
    "--prompt-interactive",
    prompt,
  ],
};

// Every event of the client that Kite asks for; the installed entries follow from it. `rows.ts` says what each asks of the daemon.

/** Left out: `PreCompress`, which comes before each request to the model, and what comes with each piece of its answer. */
export const geminiEvents = tableOf(
  { event: "SessionStart", ...times.start },
  { event: "BeforeAgent", ...times.turn },
  {
    event: "BeforeTool",
    matcher: "^(?:write_file|replace|run_shell_command|mcp_kite_.*)$",
    ...times.shortWrite,
  },
  {
    event: "AfterTool",
    matcher: "^(?:write_file|replace|run_shell_command)$",
    ...times.callEnd,
  },
  { event: "Notification", ...times.turn },
  { event: "AfterAgent", ...times.turn },
  { event: "SessionEnd", ...times.turn },
);

export type GeminiEvent = (typeof geminiEvents)[number]["event"];

/**
 * What is known of OpenCode. A plugin in the client's process sends the events. One process may run many sessions; a subagent
 * is a session of the client, and an agent within its session here.
 */
export const opencodeClient: AgentClient = {
  name: "opencode",
  title: "OpenCode",
  limits: {
    lockWaitMaxMs: clientWaitsMaxMs.opencode,
    namesCalls: true,
    untoldWriteMs: null,
    untoldPatchMs: null,
    promptsEndTurns: false,
    idleEndMs: null,
    clearGoesOnUnless: null,
    tellsSubagents: true,
    refusesStaleWrites: false,
    asksAllFirst: false,
  },
  words: { shellTool: "bash", placeVariables: ["HOME"], agentVariables: ["KITE_SESSION", "KITE_AGENT"] },
};

export const opencodeSpawn: TerminalClient = {
  name: opencodeClient.name,
  program: "opencode",
  words: ({ prompt, model }) => [...(model === null ? [] : ["--model", model]), "--prompt", prompt],
};

/** Every event that the plugin sends. `rows.ts` says what each asks of the daemon. */
export const events = [
  "SessionStart",
  "UserPromptSubmit",
  "PreToolUse",
  "PostToolUse",
  "PostToolUseFailure",
  "SubagentStart",
  "SubagentStop",
  "Stop",
  "SessionEnd",
] as const;

export type OpencodeEvent = (typeof events)[number];

/** What the plugin is told of an event: the form in which this client's answers are written. */
export interface Words {
  /** The call does not run; its model reads this as the call's result. */
  readonly deny?: string;
  /** The agent's model reads this beside what happened. */
  readonly context?: string;
  /** The person reads this, the model does not. */
  readonly person?: string;
  /** The session goes on with this as its next prompt. */
  readonly goOn?: string;
}
