/**
 * Every event of the client that Kite asks for. Its registrations say for which calls the client starts a hook, and how
 * long that may take: the installed entries follow from this table. `rows.ts` says what each asks of the daemon.
 */

import { limits } from "../../protocol/limits.ts";

// The client's own tools, by the names that its events and its settings use.

/** The field of a writing tool's input that names the file. */
export const writes: ReadonlyMap<string, string> = new Map([
  ["Edit", "file_path"],
  ["Write", "file_path"],
  ["NotebookEdit", "notebook_path"],
]);

/** Tools whose calls a team's rules are about. */
export const teamTools = ["TaskUpdate", "SendMessage", "Agent", "EnterWorktree", "ExitWorktree"] as const;

export interface EventRow<Name extends string = string> {
  readonly event: Name;
  /**
   * `waits`: the client goes on when the hook has answered. `async`: it goes on at once. `waking`: it goes on at once.
   * If the hook exits with 2, its standard error wakes the session. The event has another hook beside it.
   */
  readonly how: "waits" | "async" | "waking";
  readonly registrations: readonly Registration[];
  /** It comes with every message or every batch of calls, so it is installed only on request. */
  readonly isFrequent?: true;
}

/** A rule by which the client starts a process for an event. */
export interface Registration {
  /** The tools, as the client matches them; if left out, all tools. */
  readonly matcher?: string;
  /** A rule of the client's permissions: only matching calls start a process. */
  readonly if?: string;
  /** How long the hook waits for the daemon, in milliseconds. */
  readonly budgetMs: number;
  /** How long the client waits for the hook, in milliseconds: more than the hook's own budget. */
  readonly timeoutMs: number;
  readonly statusMessage?: string;
}

const brief = { budgetMs: limits.hookTurnBudgetMs, timeoutMs: limits.hookTurnTimeoutMs };
const start = { budgetMs: limits.hookStartBudgetMs, timeoutMs: limits.hookStartTimeoutMs };
const write = { budgetMs: limits.hookWriteBudgetMs, timeoutMs: limits.hookWriteTimeoutMs };
const index = { ...write, statusMessage: "waiting for the git index (kite)" };
const files = { ...write, statusMessage: "waiting for a file lock (kite)" };
const observer = { budgetMs: limits.hookObserverBudgetMs, timeoutMs: limits.hookObserverTimeoutMs };
const waking = { budgetMs: limits.hookWakeBudgetMs, timeoutMs: limits.hookWakeTimeoutMs };

const edits = [...writes.keys()].join("|");
/** Tools whose end ends a write, a shell command or an agent. */
const ends = `${edits}|Bash|Agent|TaskStop|SendMessage`;

/** An event that the client waits for. */
function waits<Name extends string>(event: Name, ...registrations: readonly Registration[]): EventRow<Name> {
  return { event, how: "waits", registrations: registrations.length === 0 ? [brief] : registrations };
}

/** An event that shows that the session lives, and may end something. */
function observed<Name extends string>(
  event: Name,
  registration: Partial<Registration> = {},
): EventRow<Name> {
  return { event, how: "async", registrations: [{ ...observer, ...registration }] };
}

/** The second hook of an event. */
function wakes<Name extends string>(event: Name): EventRow<Name> {
  return { event, how: "waking", registrations: [waking] };
}

/**
 * The events in the order of their installation. The oldest supported client (`client-versions.json`) knows
 * all of them, and `asyncRewake`. The client waits for events that must wait; the others are observed. Those of every tool call start a
 * hook only for the tools that matter. WorktreeCreate is missing: a hook registered for it must make the worktree.
 */
export const eventTable = [
  waits("SessionStart", start),
  waits("UserPromptSubmit"),
  waits(
    "PreToolUse",
    { matcher: edits, ...files },
    // Lines with git in them, by any name or path: the hook may wait for the index as an edit waits for its file.
    // Each matching rule starts a process. A line that the client cannot read starts one for every rule. So a few
    // broad rules cost less than many exact ones.
    { matcher: "Bash", if: "Bash(*git*)", ...index },
    // The client's rules do not see a shell's input (`bash <<'E'`, `bash <<< '...'`): shells without a file to run.
    { matcher: "Bash", if: "Bash(*bash)", ...index },
    { matcher: "Bash", if: "Bash(bash -*)", ...index },
    { matcher: "Bash", if: "Bash(sh *)", ...index },
    { matcher: "Bash", if: "Bash(zsh *)", ...index },
    // Plain commands that wipe or change the files they name. A rule of one word and `*` costs least. A line with a
    // variable or a substitution starts a process for each other rule. It starts one for these only if the client can
    // read nothing of it.
    { matcher: "Bash", if: "Bash(rm *)", ...files },
    { matcher: "Bash", if: "Bash(mv *)", ...files },
    { matcher: "Bash", if: "Bash(sed -i*)", ...files },
    { matcher: "Bash", if: "Bash(*--write*)", ...files },
    // Installers change a manifest and a lock file. By verb: a rule for each program would be ten.
    { matcher: "Bash", if: "Bash(*install*)", ...files },
    { matcher: "Bash", if: "Bash(* add *)", ...files },
    { matcher: "Bash", if: "Bash(* remove *)", ...files },
    { matcher: "Bash", if: "Bash(kite *)", ...brief },
    // What takes a command of Kite out of its agent's shell.
    { matcher: "Bash", if: "Bash(setsid *)", ...brief },
    { matcher: "Bash", if: "Bash(nohup *)", ...brief },
    { matcher: "mcp__(plugin_.+_)?kite__.*", ...brief },
    { matcher: teamTools.join("|"), ...brief },
  ),
  observed("PostToolUse", { matcher: ends }),
  // A stop right behind it must find it: the recovery gate asks whether the last call failed.
  waits("PostToolUseFailure", { matcher: ends, ...brief }),
  observed("PermissionRequest"),
  waits("SubagentStart"),
  waits("SubagentStop"),
  waits("Stop"),
  wakes("Stop"),
  // It ends a turn as Stop does, so it must not come after the next turn began.
  waits("StopFailure"),
  waits("TeammateIdle"),
  waits("TaskCreated"),
  waits("TaskCompleted"),
  waits("SessionEnd"),
  observed("Setup"),
  observed("InstructionsLoaded"),
  observed("UserPromptExpansion"),
  observed("PermissionDenied"),
  observed("Notification"),
  observed("PreCompact"),
  observed("PostCompact"),
  observed("Elicitation"),
  observed("ElicitationResult"),
  observed("ConfigChange"),
  observed("CwdChanged"),
  observed("FileChanged"),
  observed("WorktreeRemove"),
  { ...observed("PostToolBatch"), isFrequent: true },
  { ...observed("MessageDisplay"), isFrequent: true },
] as const;

export type EventName = (typeof eventTable)[number]["event"];
