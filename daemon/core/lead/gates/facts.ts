/** What gates decide by: facts of one agent and of what it is about to do. */
import type { Role, RoleSource } from "../../../../protocol/lead/roles.ts";
import type { Declaration } from "../../declarations/table.ts";
import type { OthersFile } from "../checks/changes.ts";

/** An agent is about to write a file. */
export interface WriteFacts {
  readonly declaration: Declaration | undefined;
  /** The file's key; its path as the agent knows it; whether it is code, or a document; whether it belongs to the tests. */
  readonly file: {
    readonly key: string;
    readonly path: string;
    readonly isCode: boolean;
    readonly isTest: boolean;
  };
  readonly role: RoleFacts;
  /** Why the agent counts as a lead, and to whom it may delegate, by name; null: it is none. */
  readonly lead: Lead | null;
}

export interface Lead {
  /** `declared`: it said so. `leads`: it began the agents that work now, and declared no role. */
  readonly why: "given" | "declared" | "leads";
  readonly delegates: readonly string[];
}

/** The agent's role, and what a sentence about it names. */
export interface RoleFacts {
  readonly role: Role;
  readonly by: RoleSource;
  /** The agent's name for people. */
  readonly name: string;
  /** Names of other agents whose role may do more: at most `limits.takersMax`. */
  readonly others: readonly string[];
}

/** An agent is about to run a shell line; `git` and `runs` name the programs in it that a role may forbid. */
export interface ShellFacts {
  readonly role: RoleFacts;
  /** Git commands that write. */
  readonly git: readonly string[];
  /** Those of them that are not `git add` or `git commit` in a worktree of the agent's own. */
  readonly beyondOwn: readonly string[];
  /** Tests and builds. */
  readonly runs: readonly string[];
}

/** An agent is about to create tasks. */
export interface CreationFacts {
  readonly role: RoleFacts;
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
  /** Absolute path of the worktree for which the checks count. */
  readonly worktree: string;
  /** Why Kite could not look at the checks, or at the worktree; null: it could. */
  readonly unseen: Unseen | null;
  /** The checks' text is no longer the one that a person trusted. */
  readonly checksChanged: boolean;
  /** The task's debate, if it is still open. */
  readonly openDebate: string | null;
}

export interface Unseen {
  readonly why: string;
  /** The agent was held back for it as often as it may be, or cannot end it. */
  readonly isSpent: boolean;
}

/** A check that the task needs. */
export type CheckFact = Unsettled | Overtaken | { readonly name: string; readonly state: Plain };

type Plain = "green" | "red" | "stale" | "never_run";

/** It was green, and since then only others changed files. */
export interface Overtaken {
  readonly name: string;
  readonly state: "overtaken";
  /** The changed files, and who wrote each last; none: only the commit is another one. */
  readonly files: readonly OthersFile[];
}

/** It was green each time that the agent ran it, and each time files changed again; nobody is known to have written them. */
export interface Unsettled {
  readonly name: string;
  readonly state: "unsettled";
}
