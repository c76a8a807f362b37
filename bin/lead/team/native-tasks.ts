import type { TeamRow, TeamTaskRow } from "../../../protocol/lead/team.ts";
import type { ClientTaskRow } from "../../../protocol/schemas/task.ts";
import type { Client } from "../../process-context.ts";
import { rowsOf } from "../../with-daemon.ts";

/** A task of a client's own list: what events said of it, and what its file says. */
export interface NativeTaskRow extends ClientTaskRow {
  /** Absent: its file was not read. */
  readonly status?: TeamTaskRow["status"];
  readonly waitsFor?: readonly string[];
}

/** The tasks of the clients' own lists. Files count more than events; lists whose files are not known have only these. */
export async function nativeTasks(
  client: Client,
  scope: { readonly project?: string },
): Promise<readonly NativeTaskRow[]> {
  const [events, teams] = await Promise.all([
    rowsOf(client, "client_tasks", scope),
    rowsOf(client, "teams", scope),
  ]);
  const read = teams.filter(({ tasks }) => tasks.length > 0);
  const lists = new Set(read.map(({ team }) => team));
  return [...events.filter(({ list }) => !lists.has(list)), ...read.flatMap(row => rowsIn(row, events))];
}

function rowsIn({ team: list, project, tasks }: TeamRow, events: readonly ClientTaskRow[]): NativeTaskRow[] {
  return tasks.map(({ task, subject, status, owner, waitsFor }) => {
    const seen = events.find(event => event.list === list && event.task === task);
    const state = status === "completed" ? "completed" : "open";
    const resting = state === "open" && seen?.resting === true;
    return {
      list,
      task,
      subject,
      owner,
      state,
      resting,
      updatedAt: seen?.updatedAt ?? 0,
      project,
      status,
      waitsFor,
    };
  });
}
