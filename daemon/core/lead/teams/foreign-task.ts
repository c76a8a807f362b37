/**
 * A task on which another live agent works stays with that agent. The lead may give it to another member by its name, and
 * may end it: what waits for a task begins when the task is completed or deleted.
 */
import type { TeamFinding } from "../../../../protocol/lead/team.ts";
import { bareName, briefOf, type ChangeFacts, nextOwner, type Worker } from "./facts.ts";

export function foreignTask(facts: ChangeFacts): TeamFinding[] {
  const { change, caller, task } = facts;
  const worker = workerOf(facts);
  if (worker === null || worker.isCaller || task.status === "completed") return [];
  const ends = change.status === "completed" || change.status === "deleted" ? change.status : null;
  const mayRun = ends === null ? mayTake(facts, worker) : caller.isLead || worker.name === null;
  if (mayRun) return [];
  return [{ rule: "foreign_task", task: briefOf(task), worker: worker.name, ends, ready: [] }];
}

/** Whether the change takes the task from nobody: it leaves it where it is, or the lead gives it to another member. */
function mayTake(facts: ChangeFacts, { name }: Worker): boolean {
  const { change, caller } = facts;
  const takes = change.status === "in_progress" || (change.owner !== null && change.owner !== "");
  return !takes || (caller.isLead && change.owner !== null) || (name !== null && name === nextOwner(facts));
}

/** Who works on the task: its owner if that is a live member, else the agent that Kite saw take it. */
function workerOf({ task, members, caller, worker }: ChangeFacts): Worker | null {
  const owner = task.owner === null ? null : bareName(task.owner);
  if (task.status === "in_progress" && owner !== null && members?.get(owner) === "live")
    return { name: owner, isCaller: owner === caller.member };
  return worker;
}
