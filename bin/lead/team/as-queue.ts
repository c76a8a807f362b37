/** Tasks of a team's own list as tasks of Kite's queue. */
import { createHash } from "node:crypto";
import type { TeamRow, TeamTaskRow } from "../../../protocol/lead/team.ts";
import type { Stored } from "../../tasks/import.ts";

/**
 * The open tasks, each pending and after those open ones that it waits for. Its id follows from the list and its own id
 * there, so that the daemon knows a task that it took before.
 */
export function openTasksOf(row: TeamRow): Stored[] {
  const open = row.tasks.filter(({ status }) => status !== "completed");
  const ids = new Map(open.map(({ task }) => [task, idOf(row, task)]));
  return open.map(task => ({
    id: idOf(row, task.task),
    description: descriptionOf(task),
    dependsOn: task.waitsFor.flatMap(other => ids.get(other) ?? []),
    labels: [row.team],
  }));
}

function descriptionOf({ task, subject, description }: TeamTaskRow): string {
  const said = [subject, description === subject ? "" : description].filter(text => text.trim() !== "");
  return said.join(": ") || `task ${task}`;
}

/** Letters and digits, as the ids of the queue; the same for the same task of the same list. */
function idOf({ team, kind, lead }: TeamRow, task: string): string {
  const list = pieceOf(JSON.stringify([kind, team, lead]));
  return `t-${list}-${/^\d{1,9}$/.test(task) ? Number(task).toString(36) : pieceOf(task)}`;
}

function pieceOf(text: string): string {
  const hash = createHash("sha256").update(text).digest();
  return hash.readBigUInt64BE(0).toString(36).padStart(12, "0").slice(0, 12);
}
