/** What a snapshot has of tasks. */
import { formList, head } from "../rows.ts";
import type { Task, Tasks } from "./table.ts";

interface Fields {
  readonly taskCount: number;
  /** Absent in snapshots from before tasks were numbered by project. */
  readonly taskNumbers?: readonly (readonly [string, number])[];
  readonly taskNumbersFrom?: number;
  readonly taskStamp?: Tasks["stamp"];
}

export const taskRows = {
  head: head(
    (tasks: Tasks): Fields => ({
      taskCount: tasks.created,
      taskNumbers: [...tasks.numbers],
      taskNumbersFrom: tasks.numbersFrom,
      taskStamp: tasks.stamp,
    }),
    (tasks, { taskCount, taskNumbers = [], taskNumbersFrom, taskStamp }) => {
      tasks.created = taskCount;
      for (const [project, n] of taskNumbers) tasks.numbers.set(project, n);
      tasks.numbersFrom = taskNumbersFrom ?? taskCount;
      tasks.stamp = taskStamp ?? { ms: 0, top: 0 };
    },
  ),
  lists: {
    // Whether a task is ready depends on its dependencies: `readState` inserts all tasks together.
    tasks: formList(
      (tasks: Tasks) => tasks.all,
      plainTask,
      (tasks, task) => tasks.all.set(task.id, task),
    ),
  },
};

function plainTask(task: Task): Task {
  return {
    id: task.id,
    n: task.n,
    number: task.number,
    project: task.project,
    createdAt: task.createdAt,
    createdBy: task.createdBy,
    updatedAt: task.updatedAt,
    description: task.description,
    priority: task.priority,
    labels: task.labels,
    dependsOn: task.dependsOn,
    attempts: task.attempts,
    debate: task.debate,
    risk: task.risk,
    approved: task.approved,
    state: task.state,
  };
}
