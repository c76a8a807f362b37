/** The red and critical tasks that a person watches over. */
import { nameOrPerson } from "../../protocol/names.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import { handles, heldIn, numbersOfOne } from "../tasks/numbers.ts";
import { features } from "./features.ts";
import { type Cell, table } from "./table.ts";
import { clean, duration, type Screen } from "./text.ts";

/** The red and critical tasks that run, and those that wait for a lead or a person's yes. */
export function watchedLines(
  tasks: readonly TaskRow[],
  sessions: readonly SessionRow[],
  screen: Screen,
): string[] {
  const handle = handles(tasks);
  const numbers = numbersOfOne(tasks);
  const rows = tasks.map((task): Cell[] => [
    handle(task.id),
    { text: task.risk, style: "red" },
    {
      text: task.status === "active" ? `runs ${duration(screen.now - task.updatedAt)}` : "ready",
      style: "dim",
    },
    clean(task.description),
    { text: watchedNote({ ...task, held: heldIn(task, numbers) }, sessions), style: "dim" },
  ]);
  return table(rows, [{}, {}, {}, { min: 12 }, { min: 12 }], screen, 2);
}

function watchedNote(task: TaskRow, sessions: readonly SessionRow[]): string {
  if (task.held !== null) return clean(task.held);
  if (task.status !== "active")
    return task.approved ? "approved, nobody claimed it yet" : "nobody claimed it yet";
  const who = clean(nameOrPerson(task.assigneeName));
  const leads = sessions
    .filter(({ project }) => project === task.project)
    .flatMap(session => [session, ...session.agents])
    .filter(agent => agent.name !== task.assigneeName && features.some(feature => feature.leads?.(agent)))
    .map(({ name }) => clean(name));
  const lead = leads.length > 0 ? `lead: ${leads.join(", ")}` : "no lead is alive; it goes on";
  return `${who}; ${task.approved ? "approved" : lead}`;
}
