/** `kite task import --from-team`. */

import { createHash } from "node:crypto";
import type { TeamRow, TeamTaskRow } from "../../protocol/lead/team.ts";
import type { ClientTaskRow } from "../../protocol/schemas/task.ts";
import type { Client, ProcessContext } from "../context/process-context.ts";
import { projectOf } from "../context/project.ts";
import { fail, rowsOf, withDaemon } from "../context/with-daemon.ts";
import { type Stored, store } from "../tasks/import.ts";
import { projectName } from "../view/places.ts";
import { type Cell, clean, counted, paint, type Screen, type Style, table, wrap } from "../view/text.ts";

// Tasks of a team's own list as tasks of Kite's queue.

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
  const parts = [subject, description === subject ? "" : description].filter(text => text.trim() !== "");
  return parts.join(": ") || `task ${task}`;
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

/** The teams that a word means: a team's name or the beginning of it, its lead, or one of its members; without it all. */
export async function teamsNamed(
  client: Client,
  name: string | undefined,
  scope: { readonly project?: string },
): Promise<readonly TeamRow[]> {
  const teams = await rowsOf(client, "teams", scope);
  if (name === undefined) return teams;
  const exact = teams.filter(({ team, lead, leadName }) => [team, lead, leadName].includes(name));
  if (exact.length > 0) return exact;
  return teams.filter(
    ({ team, lead, members }) =>
      team.startsWith(name) ||
      lead?.startsWith(name) === true ||
      members.some(member => member.name === name || member.shownAs === name),
  );
}

/** Takes over the open tasks of a team's own list; those that were taken before stay as they are. */
export async function importTeam(
  world: ProcessContext,
  name: string | undefined,
  flags: { readonly project?: string; readonly json?: boolean },
): Promise<number> {
  const json = flags.json === true;
  const project = flags.project ?? (await projectOf(world.cwd));
  return withDaemon(world, json, async client => {
    const named = await teamsNamed(client, name, name === undefined ? { project } : {});
    const [team, ...others] = named;
    if (team === undefined || others.length > 0) {
      const which = named.map(row => row.team).join(", ");
      const error =
        team === undefined
          ? `no live team of Claude Code ${name === undefined ? "in this project" : `is called ${name}`}; kite team lists them`
          : `several teams fit: ${which}; name one of them`;
      return fail(world, json, "invalid_request", error);
    }
    if (team.moreTasks > 0)
      world.stderr.write(`kite: ${counted(team.moreTasks, "task")} of ${clean(team.team)} were not read\n`);
    return store(world, client, { project, json }, openTasksOf(team));
  });
}

/** A task of a client's own list: what events said of it, and what its file says. */
interface NativeTaskRow extends ClientTaskRow {
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

// Tasks of the clients' own lists as text.

const styles = {
  open: "plain",
  "in progress": "green",
  waits: "blue",
  "owner idle": "yellow",
  completed: "dim",
} as const satisfies Record<string, Style>;

/** The lists below those of `kite task list`; no line if there are none. */
export function clientTasksView(tasks: readonly NativeTaskRow[], screen: Screen): string[] {
  const lists = [...new Set(tasks.map(({ list }) => list))];
  const drawn = table(
    lists.flatMap(name => tasks.filter(({ list }) => list === name)).map(cellsOf),
    [{}, {}, { min: 16 }, { min: 8 }],
    screen,
    2,
  );
  return lists.flatMap(name => {
    const own = tasks.filter(({ list }) => list === name);
    const completed = own.filter(({ state }) => state === "completed").length;
    const project = clean(projectName(own[0]?.project ?? ""));
    const counts = `${own.length - completed} open, ${completed} completed`;
    const title = `${project}: ${counts}, in Claude Code's own list ${clean(name)}; not claimable`;
    return [
      ...wrap(title, screen.width).map(line => paint(screen, "bold", line)),
      ...drawn.splice(0, own.length),
    ];
  });
}

function cellsOf({ task, subject, owner, state, resting, status, waitsFor = [] }: NativeTaskRow): Cell[] {
  const isBegun = status === "in_progress";
  const open = isBegun ? "in progress" : waitsFor.length > 0 ? "waits" : state;
  const shown = resting ? "owner idle" : open;
  const name = owner === null ? "" : `${state === "completed" ? "by " : ""}${clean(owner)}`;
  const after = waitsFor.length === 0 ? "" : `after ${waitsFor.map(clean).join(", ")}`;
  const by = [name, after].filter(text => text !== "").join(", ");
  return [clean(task), { text: shown, style: styles[shown] }, clean(subject), { text: by, style: "dim" }];
}

/** The clients' own lists of tasks, below those of `kite task list`. */
