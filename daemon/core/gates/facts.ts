/** What gates decide by: facts of one agent and of what it is about to do. */
import type { Declaration } from "../declarations/table.ts";

/** An agent is about to write a file. */
export interface WriteFacts {
  readonly declaration: Declaration | undefined;
  /** The file's key; its path as the agent knows it; whether it is code, or a document. */
  readonly file: { readonly key: string; readonly path: string; readonly isCode: boolean };
  /** Why the agent counts as a lead, and to whom it may delegate, by name; null: it is none. */
  readonly lead: Lead | null;
}

export interface Lead {
  /** `declared`: it said so. `leads`: it began the agents that work now, and declared no role. */
  readonly why: "declared" | "leads";
  readonly delegates: readonly string[];
}

/** An agent is about to stop. */
export interface StopFacts {
  /** The tool whose last call failed and after which no call succeeded; null: there is none. */
  readonly failure: { readonly tool: string; readonly error: string } | null;
}

/** An agent says that a task is done. */
export interface CompletionFacts {
  readonly declaration: Declaration | undefined;
  readonly checks: readonly CheckFact[];
  /** The checks' text is no longer the one that a person trusted. */
  readonly checksChanged: boolean;
  /** The task's debate, if it is still open. */
  readonly openDebate: string | null;
}

/** A check that the task needs. `unknown`: Kite could not tell, so it holds nobody back. */
export interface CheckFact {
  readonly name: string;
  readonly state: "green" | "red" | "stale" | "never_run" | "unknown";
}
