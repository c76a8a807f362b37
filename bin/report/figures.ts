/** What a report counts. Durations are milliseconds, `from`, `until` and `since` wall time. */
import type { HookTimes } from "../trail/times.ts";

/** By the name of a rule or a command, the most frequent first. */
export type Counts = readonly { readonly name: string; readonly count: number }[];

/**
 * What became of a denied step. `got`: the same agent had the file later, or the same command passed. `elsewhere`: it did not, and the
 * agent went on with something else. `gaveUp`: its session ended without either. `open`: the log does not tell yet.
 */
export type Fate = "got" | "elsewhere" | "gaveUp" | "open";

/** What a git command or a plain one does to uncommitted work that it reaches. */
export const stopKinds = ["stash", "reset", "removal", "commit", "other"] as const;
export type StopKind = (typeof stopKinds)[number];

export interface Waits {
  readonly count: number;
  /** Waits that ended without the file. */
  readonly refused: number;
  readonly medianMs: number | null;
  readonly longestMs: number | null;
  readonly totalMs: number;
}

/** Git commands, `rm` and the like that the guard denied, since they reached uncommitted work of others. */
export interface Stops {
  readonly count: number;
  readonly commands: Counts;
  readonly kinds: Readonly<Record<StopKind, number>>;
  /** Stops of commands that would have wiped work, whose files were counted; those with counted lines among them. */
  readonly counted: number;
  readonly countedLines: number;
  readonly files: number;
  readonly lines: number;
}

/** Changes that Kite did not let through, since they did not ask it. */
export interface PastKite {
  /** Files that a shell command changed while another agent held them, or had uncommitted work in them. */
  readonly shell: number;
  /** Changes of which no hook told. */
  readonly unhooked: number;
  /** Writes that ended when the lock had passed to another agent. */
  readonly late: number;
  /** How often somebody switched Kite off. */
  readonly off: number;
  /** Files with uncommitted work of another that were wiped all the same, and that another committed or discarded. */
  readonly wiped: number;
  readonly taken: number;
}

export interface TaskFigures {
  readonly created: number;
  readonly claimed: number;
  readonly done: number;
  readonly failed: number;
  /** From the last claim of a task to its end as done; null: none has both in the log. */
  readonly medianMs: number | null;
}

export interface HookCosts {
  readonly events: readonly HookTimes[];
  readonly totalMs: number;
  /** How long sessions were at work: the time between two lines of a session, unless it is a pause. */
  readonly sessionsMs: number;
  /** Of `sessionsMs`; null: no session was at work. */
  readonly share: number | null;
}

/** What Kite would have done while it only observed. */
export interface WouldHave {
  readonly waits: number;
  readonly denials: number;
  readonly tells: number;
  readonly collisions: number;
  readonly stops: Counts;
}

export interface Report {
  readonly lines: number;
  readonly from: number | null;
  readonly until: number | null;
  readonly sessions: number;
  readonly edits: { readonly count: number; readonly waited: number; readonly onRequest: number };
  readonly waits: Waits;
  readonly denials: {
    readonly count: number;
    readonly rules: Counts;
    readonly fates: Readonly<Record<Fate, number>>;
  };
  readonly collisions: number;
  readonly stops: Stops;
  readonly pastKite: PastKite;
  readonly tasks: TaskFigures;
  readonly messages: { readonly sent: number; readonly broadcasts: number };
  readonly hooks: HookCosts;
  /** Answers of hooks that had words, and their length in UTF-16 units with the form around them. */
  readonly context: { readonly answers: number; readonly chars: number };
  /** Absent: Kite acted all the time. */
  readonly observed?: WouldHave;
}
