/**
 * The author of a branch and its tasks, where machines share the project's tasks: merges stand in this machine's log, and the
 * tasks in the shared one. Requests look them up there.
 */
import type { MergeOutcome, NewMerge } from "../../core/lead/tables/merges.ts";
import { isSessionOf, returnable } from "../../core/tasks/leave.ts";
import { assigneeOf } from "../../core/tasks/replies.ts";
import type { Log } from "../../engine/engine.ts";

type Author = NonNullable<NewMerge["author"]>;

/** Returns the author with its name, if it did one of the tasks of a shared project. */
export function withDoersName(
  engine: Log,
  project: string,
  { session, agent }: Author,
  tasks: readonly string[],
): Author {
  const log = engine.logOf(project);
  if (log.state === engine.state) return { session, agent };
  for (const id of tasks) {
    const task = log.state.tasks.all.get(id);
    const doer = task === undefined ? null : assigneeOf(log.state, task);
    if (doer === null || doer.agent !== agent) continue;
    if (isSessionOf(doer, session, engine.state.outbox.node))
      return { session, agent, name: log.outward(doer).name };
  }
  return { session, agent };
}

/** Returns the tasks that the shared log is going to give back with this outcome of the merge, as a field. */
export function sharedTasks(
  engine: Log,
  id: string,
  outcome: MergeOutcome,
): { readonly shared?: readonly string[] } {
  const merge = engine.state.merges.all.get(id);
  if (outcome.is !== "returned" || merge === undefined || merge.author === null) return {};
  const log = engine.logOf(merge.project);
  if (log.state === engine.state) return {};
  const asked = { tasks: merge.tasks, author: merge.author.id };
  return { shared: returnable(log.state, asked, engine.state.outbox.node).map(task => task.id) };
}
