import { limits } from "../../../protocol/limits.ts";

/** One program the client runs for an event. */
export interface HookEntry {
  readonly type: "command";
  /** A rule of the client's permissions: where it does not match, no program is started. */
  readonly if?: string;
  readonly command: string;
  readonly args: readonly string[];
  /** In seconds, as the client wants it. */
  readonly timeout: number;
  readonly statusMessage?: string;
  /** The client does not wait for it. */
  readonly async?: true;
  /** Nor for this one; but where it exits with 2, its standard error wakes the session. */
  readonly asyncRewake?: true;
}

/** A group of entries in the client's settings. */
export interface HookGroup {
  readonly matcher?: string;
  readonly hooks: readonly HookEntry[];
}

export type EventGroup = readonly [event: string, group: HookGroup];

export interface EntryOptions {
  /** The copied client; see program.ts. */
  readonly program: string;
  readonly node: string;
  /** `KITE_HOME`, where it was set when Kite was installed. */
  readonly home: string | null;
  /** Also the events that come with every message and every batch of calls. */
  readonly everyEvent?: boolean;
}

interface Wanted {
  readonly event: string;
  readonly budgetMs: number;
  readonly timeoutMs: number;
  readonly matcher?: string;
  /** A permission rule: only calls that fit it start a process. */
  readonly if?: string;
  readonly statusMessage?: string;
  readonly async?: true;
  readonly asyncRewake?: true;
}

const turn = { budgetMs: limits.hookTurnBudgetMs, timeoutMs: limits.hookTurnTimeoutMs };
const start = { budgetMs: limits.hookStartBudgetMs, timeoutMs: limits.hookStartTimeoutMs };
const write = { budgetMs: limits.hookWriteBudgetMs, timeoutMs: limits.hookWriteTimeoutMs };
const index = { ...write, statusMessage: "waiting for the git index (kite)" };
const observer = {
  budgetMs: limits.hookObserverBudgetMs,
  timeoutMs: limits.hookObserverTimeoutMs,
  async: true,
} as const;
const waking = {
  budgetMs: limits.hookWakeBudgetMs,
  timeoutMs: limits.hookWakeTimeoutMs,
  asyncRewake: true,
} as const;

const edits = "Edit|Write|NotebookEdit";
/** Tools whose end ends a write, a shell command or an agent. */
const ends = `${edits}|Bash|Agent|TaskStop|SendMessage`;

/**
 * The events Kite asks for: only ones that the oldest supported client (2.1.197) knows; it knows `asyncRewake`, too.
 * What must wait waits, other kinds are observed; those that come with every tool call, for the tools that matter.
 * WorktreeCreate is not among them: who registers it has to make the worktree.
 */
const wanted: readonly Wanted[] = [
  { event: "SessionStart", ...start },
  { event: "UserPromptSubmit", ...turn },
  { event: "PreToolUse", matcher: edits, ...write, statusMessage: "waiting for a file lock (kite)" },
  // Lines with git in them, by whatever name or path: it may wait for the repository's index as an edit does for its
  // file. Each rule that fits starts a process, and so does a line that the client cannot read, for every rule: few
  // rules that fit a little more cost less than many that fit exactly.
  { event: "PreToolUse", matcher: "Bash", if: "Bash(*git*)", ...index },
  // The client's rules do not see what a shell reads (`bash <<'E'`, `bash <<< '...'`): shells without a file to run.
  { event: "PreToolUse", matcher: "Bash", if: "Bash(*bash)", ...index },
  { event: "PreToolUse", matcher: "Bash", if: "Bash(bash -*)", ...index },
  { event: "PreToolUse", matcher: "Bash", if: "Bash(sh *)", ...index },
  { event: "PreToolUse", matcher: "Bash", if: "Bash(zsh *)", ...index },
  { event: "PreToolUse", matcher: "Bash", if: "Bash(kite *)", ...turn },
  { event: "PreToolUse", matcher: "mcp__(plugin_.+_)?kite__.*", ...turn },
  { event: "PostToolUse", matcher: ends, ...observer },
  { event: "PostToolUseFailure", matcher: ends, ...observer },
  { event: "PermissionRequest", ...observer },
  { event: "SubagentStart", ...turn },
  { event: "SubagentStop", ...turn },
  { event: "Stop", ...turn },
  { event: "Stop", ...waking },
  // Ends a turn as Stop does: it must not come after the next one began.
  { event: "StopFailure", ...turn },
  { event: "TeammateIdle", ...turn },
  { event: "TaskCreated", ...turn },
  { event: "TaskCompleted", ...turn },
  { event: "SessionEnd", ...turn },
  ...[
    "Setup",
    "InstructionsLoaded",
    "UserPromptExpansion",
    "PermissionDenied",
    "Notification",
    "PreCompact",
    "PostCompact",
    "Elicitation",
    "ElicitationResult",
    "ConfigChange",
    "CwdChanged",
    "FileChanged",
    "WorktreeRemove",
  ].map(event => ({ event, ...observer })),
];

/** Those that come with every message and every batch of calls. */
const frequent: readonly Wanted[] = ["PostToolBatch", "MessageDisplay"].map(event => ({
  event,
  ...observer,
}));

/**
 * What belongs into the client's settings. Without a shell between, the hook's parent is the client; `env` keeps
 * out of Node what would make every start slow or load foreign code.
 */
export function eventGroups(options: EntryOptions): readonly EventGroup[] {
  const { program, node, home, everyEvent = false } = options;
  const kiteHome = home === null ? [] : [`KITE_HOME=${home}`];
  const prefix = ["-u", "NODE_EXTRA_CA_CERTS", "-u", "NODE_OPTIONS", ...kiteHome, node, program];
  const all = everyEvent ? [...wanted, ...frequent] : wanted;
  return all.map(({ event, matcher, budgetMs, timeoutMs, if: rule, statusMessage, async, asyncRewake }) => {
    const entry: HookEntry = {
      type: "command",
      command: "/usr/bin/env",
      args: [...prefix, String(budgetMs), ...(asyncRewake === undefined ? [] : ["wake"])],
      timeout: timeoutMs / 1000,
      ...(rule === undefined ? {} : { if: rule }),
      ...(statusMessage === undefined ? {} : { statusMessage }),
      ...(async === undefined ? {} : { async }),
      ...(asyncRewake === undefined ? {} : { asyncRewake }),
    };
    return [event, { ...(matcher === undefined ? {} : { matcher }), hooks: [entry] }] as const;
  });
}

/** Whether an entry runs a hook client of this Kite, now or an older one: they all live in its `bin` folder. */
export function isOurs(entry: unknown, bin: string): boolean {
  if (typeof entry !== "object" || entry === null) return false;
  const { command, args }: { command?: unknown; args?: unknown } = entry;
  const words: unknown[] = [command, ...(Array.isArray(args) ? args : [])];
  return words.some(word => typeof word === "string" && word.startsWith(`${bin}/hook`));
}
