/** A task on which another live agent works stays with that agent. The lead may give it to another one by its name. */
import type { TeamFinding } from "../../../protocol/team.ts";
import { bareName, briefOf, type ChangeFacts, nextOwner } from "./facts.ts";

export function foreignTask(facts: ChangeFacts): TeamFinding[] {
  const { change, caller, task } = facts;
  const worker = workerOf(facts);
  const takes = change.status === "in_progress" || (change.owner !== null && change.owner !== "");
  if (worker === null || !takes || task.status === "completed") return [];
  const isGiven = caller.isLead && change.owner !== null;
  // Its worker may give it away, too.
  const isItsOwn = worker.isCaller || (worker.name !== null && worker.name === nextOwner(facts));
  if (isGiven || isItsOwn) return [];
  return [{ rule: "foreign_task", task: briefOf(task), worker: worker.name, ready: [] }];
}

/** Who works on the task: its owner if that is a live member, else the agent that Kite saw take it. */
function workerOf({ task, members, caller, worker }: ChangeFacts) {
  const owner = task.owner === null ? null : bareName(task.owner);
  if (task.status === "in_progress" && owner !== null && members?.get(owner) === "live")
    return { name: owner, isCaller: owner === caller.member };
  return worker;
}
