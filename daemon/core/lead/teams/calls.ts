/**
 * The rules of a client's own teams. Each is a pure function of facts; together they say what is wrong with a call.
 *
 * Invariant: a rule finds something only in what is proven. What the daemon does not know breaks no rule.
 */
import type { TeamFinding } from "../../../../protocol/lead/team.ts";
import { blockedClaim } from "./blocked-claim.ts";
import { dependencyCycle } from "./dependency-cycle.ts";
import type { ChangeFacts } from "./facts.ts";
import { foreignTask } from "./foreign-task.ts";
import { unknownOwner } from "./unknown-owner.ts";

/** What is wrong with a change of a task. */
export function beforeTaskChange(facts: ChangeFacts): TeamFinding[] {
  return [
    ...blockedClaim(facts),
    ...foreignTask(facts),
    ...unknownOwner(facts),
    ...dependencyCycle(facts.change, facts.tasks),
  ];
}

/** What is wrong with a move to another worktree: a teammate within its lead's process has no folder of its own. */
export function beforeMove(tool: string, isInProcess: boolean): TeamFinding[] {
  return isInProcess ? [{ rule: "moved_worktree", tool }] : [];
}
