/** Tasks of the clients' own lists as `query` shows them. */
import type { ClientTaskRow } from "../../protocol/schemas/task.ts";
import type { ClientTask, ClientTasks } from "../sessions/client-tasks.ts";
import type { Keyed } from "./row.ts";

/** List by list, in the order in which they began. */
export function* clientTaskRows(tasks: ClientTasks): Generator<Keyed<ClientTaskRow>, void> {
  for (const [place, task] of tasks.placed()) yield { place, key: "", row: () => clientTaskRow(tasks, task) };
}

function clientTaskRow(tasks: ClientTasks, known: ClientTask): ClientTaskRow {
  const { list, task, subject, owner, state, updatedAt, project } = known;
  return { list, task, subject, owner, state, resting: tasks.isResting(known), updatedAt, project };
}
