/** The branch and the worktree of a spawned agent, whether its session lives or has ended. */
import type { SpawnRow } from "../../../protocol/lead/spawn.ts";
import { spawnCalled } from "./find.ts";

export interface AgentBranch {
  /** The id of its record. */
  readonly id: string;
  readonly name: string;
  readonly branch: string;
  readonly worktree: string;
  readonly task: string | null;
  readonly session: string | null;
}

/** Returns where an agent works or worked; null if that is not known, or in its requester's worktree. */
export function branchOfRecord(row: SpawnRow): AgentBranch | null {
  const { id, name, branch, worktree, base, task, session } = row;
  // Only a worktree of its own has a base.
  if (branch === null || worktree === null || base === null) return null;
  return { id, name, branch, worktree, task, session };
}

/** Returns where the agent that `name` means works or worked; null if there is none, or it has no branch of its own. */
export function branchOfAgent(rows: readonly SpawnRow[], name: string, project: string): AgentBranch | null {
  const found = spawnCalled(rows, name, project);
  return found === null ? null : branchOfRecord(found);
}

/** Returns where the agent of a session works; null if the session is none that was spawned into a worktree of its own. */
export function branchOfSession(rows: readonly SpawnRow[], session: string): AgentBranch | null {
  const found = rows.find(row => row.session === session);
  return found === undefined ? null : branchOfRecord(found);
}
