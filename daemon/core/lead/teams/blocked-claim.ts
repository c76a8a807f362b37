/** A task is not claimed, begun or completed unbegun before the tasks that it waits for are complete. */
import type { NativeTask } from "../../../../hooks/seam/teams.ts";
import type { TeamFinding } from "../../../../protocol/lead/team.ts";
import { briefOf, type ChangeFacts, nextOwner, type Tasks } from "./facts.ts";

export function blockedClaim(facts: ChangeFacts): TeamFinding[] {
  const { task, tasks } = facts;
  const blockers = blockersOf(task, tasks);
  if (blockers.length === 0 || !takesUp(facts)) return [];
  return [{ rule: "blocked_claim", task: briefOf(task), blockers: blockers.map(briefOf), ready: [] }];
}

/** The tasks that this one waits for. A task that was deleted blocks nobody. */
export function blockersOf({ blockedBy }: NativeTask, tasks: Tasks): NativeTask[] {
  return blockedBy.flatMap(id => {
    const other = tasks.get(id);
    return other === undefined || other.status === "completed" ? [] : [other];
  });
}

/** Whether the caller begins the task or makes it its own. A lead may plan ahead: it gives a task that waits to another. */
function takesUp(facts: ChangeFacts): boolean {
  const { change, caller, task } = facts;
  if (task.status === "completed") return false;
  if (task.status === "pending" && (change.status === "in_progress" || change.status === "completed"))
    return true;
  const isOwn = caller.name !== null && change.owner !== null && nextOwner(facts) === caller.name;
  return isOwn && task.owner !== caller.name;
}
