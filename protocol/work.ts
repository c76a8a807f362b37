/** Rows and events of writes, and of sessions and branches of other machines. */

import type { ActorRow } from "./schemas/lock.ts";
import type { DeclaredBrief, WorkedOn } from "./schemas/session.ts";

/** A file with uncommitted work, as `query` shows it. */
export interface WriteRow {
  /** The path from the top of the worktree. */
  readonly file: string;
  readonly path: string;
  readonly project: string;
  readonly worktree: string;
  /**
   * Git's status: `changed` in the working tree, all of it `staged`, or `untracked`; `unknown` if git gave no
   * answer in time.
   */
  readonly state: "changed" | "staged" | "untracked" | "unknown";
  /** The actors that wrote it since its last commit, the latest first. */
  readonly writers: readonly WriterRow[];
  readonly holder: ActorRow | null;
}

/** Uncommitted work in the same file of two worktrees of one repository. */
export interface RiskRow {
  readonly file: string;
  readonly project: string;
  readonly sides: readonly [MergeSideRow, MergeSideRow];
}

/** The writer on one side of a merge risk. */
export interface MergeSideRow extends ActorRow {
  readonly worktree: string;
  /** The branch; null: unknown, or none. */
  readonly branch: string | null;
}

export interface WriterRow extends ActorRow {
  /** Whether its session is alive; if not, `name` is the name at its last write. */
  readonly live: boolean;
  /** `edit`: a tool reported the write. `shell`: the daemon detected it after a shell command. */
  readonly by: "edit" | "shell";
  /** Wall time in milliseconds. */
  readonly at: number;
}

/** The events of writes. */
export type WriteEvent =
  | {
      /** A write appeared after its lock had ended. */
      readonly event: "lost_update";
      readonly file: string;
      readonly path: string;
      readonly writer: ActorRow;
      readonly holder: ActorRow | null;
    }
  | {
      /** A file changed while a shell command ran that `holder` holds, or wrote last and has not committed (`held` false). */
      readonly event: "bypassed";
      readonly file: string;
      readonly path: string;
      readonly writer: ActorRow;
      readonly holder: ActorRow;
      readonly held: boolean;
    }
  | {
      /** The same file has uncommitted work in two worktrees: sent once per file and pair of worktrees. */
      readonly event: "merge_risk";
      readonly file: string;
      readonly project: string;
      readonly sides: readonly [MergeSideRow, MergeSideRow];
    }
  | {
      readonly event: "file_conflict";
      readonly file: string;
      readonly path: string;
      readonly sessions: readonly [string, string];
    };

// Sessions of other machines that share a store with this one, as a query shows them.

export interface ElsewhereRow {
  readonly id: string;
  /** With its machine: `alice@desk`. */
  readonly name: string;
  readonly machine: string;
  /** The project as this machine has it; as the store calls it if this machine does not share it. */
  readonly project: string;
  readonly branch: string | null;
  /** Its role; absent: it has the default one. */
  readonly role?: string;
  /** Roles that a person gave it and agents within it, and that its machine has not given yet, at most 10; absent: none. */
  readonly rolesWaiting?: readonly WaitingRole[];
  /** `away`: its machine has been silent for a minute; `lost`: for five. */
  readonly state: "there" | "away" | "lost";
  /** What it claims, the latest first. */
  readonly tasks: readonly WorkedOn[];
  /** What its main agent declared. */
  readonly declared?: DeclaredBrief;
}

interface WaitingRole {
  /** The name of the agent within the session; null: its main agent. */
  readonly agent: string | null;
  /** Null: the role that it was given is taken back. */
  readonly role: string | null;
}

/**
 * The machine of such a session told anew of it. So its name, branch or role may be another one, or a role may have
 * begun or ceased to wait for it. Its other changes have the events that a session's own have. The event is in the log
 * of the store and not in this machine's, so it has no cursor.
 */
export interface ElsewhereEvent {
  readonly event: "elsewhere_changed";
  /** Its id, as its row has it. */
  readonly session: string;
  readonly project: string;
}
