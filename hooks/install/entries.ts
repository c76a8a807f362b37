import { limits } from "../../protocol/limits.ts";

/** One program the client runs for an event. */
export interface HookEntry {
  readonly type: "command";
  readonly command: string;
  readonly args: readonly string[];
  /** In seconds, as the client wants it. */
  readonly timeout: number;
  readonly statusMessage?: string;
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
}

interface Wanted {
  readonly event: string;
  readonly budgetMs: number;
  readonly timeoutMs: number;
  readonly matcher?: string;
  readonly statusMessage?: string;
}

const turn = { budgetMs: limits.hookTurnBudgetMs, timeoutMs: limits.hookTurnTimeoutMs };

/** The events Kite asks for: only ones that the oldest supported client (2.1.197) knows. */
const wanted: readonly Wanted[] = [
  {
    event: "SessionStart",
    budgetMs: limits.hookStartBudgetMs,
    timeoutMs: limits.hookStartTimeoutMs,
  },
  { event: "UserPromptSubmit", ...turn },
  {
    event: "PreToolUse",
    matcher: "Edit|Write|NotebookEdit",
    budgetMs: limits.hookWriteBudgetMs,
    timeoutMs: limits.hookWriteTimeoutMs,
    statusMessage: "waiting for a file lock (kite)",
  },
  { event: "Stop", ...turn },
  { event: "SessionEnd", ...turn },
];

/**
 * What belongs into the client's settings. Without a shell between, the hook's parent is the client; `env` keeps
 * out of Node what would make every start slow or load foreign code.
 */
export function eventGroups({ program, node, home }: EntryOptions): readonly EventGroup[] {
  const kiteHome = home === null ? [] : [`KITE_HOME=${home}`];
  const prefix = ["-u", "NODE_EXTRA_CA_CERTS", "-u", "NODE_OPTIONS", ...kiteHome, node, program];
  return wanted.map(({ event, matcher, budgetMs, timeoutMs, statusMessage }) => {
    const entry: HookEntry = {
      type: "command",
      command: "/usr/bin/env",
      args: [...prefix, String(budgetMs)],
      timeout: timeoutMs / 1000,
      ...(statusMessage === undefined ? {} : { statusMessage }),
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
