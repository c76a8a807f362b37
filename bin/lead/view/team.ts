/** Teams of the client as text. */
import type { TeamMemberRow, TeamRow, TeamTaskRow } from "../../../protocol/lead/team.ts";
import { paint, type Style } from "../../view/color.ts";
import { projectName } from "../../view/places.ts";
import { type Cell, table } from "../../view/table.ts";
import { clean, counted, type Screen, wrap } from "../../view/text.ts";

const backends = { lead: "lead", in_process: "in process", pane: "pane", session: "session" } as const;
const memberStyles: Readonly<Record<TeamMemberRow["state"], Style>> = {
  active: "green",
  idle: "dim",
  waits: "blue",
  "needs you": "yellow",
  died: "red",
  ended: "dim",
  unknown: "dim",
};
const taskStyles = { in_progress: "green", pending: "plain", completed: "dim" } as const;

/** `kite team`: each team with its members, its tasks and what is wrong. */
export function teamsView(teams: readonly TeamRow[], screen: Screen): string[] {
  if (teams.length === 0) return ["No team of Claude Code is at work."];
  return teams.flatMap((row, i) => [...(i === 0 ? [] : [""]), ...teamLines(row, screen)]);
}

function teamLines(row: TeamRow, screen: Screen): string[] {
  const { members, tasks, moreTasks, idleNotices, problems } = row;
  const more = moreTasks === 0 ? [] : [`    ${moreTasks} more tasks were not read`];
  const notices =
    idleNotices === 0 ? [] : [`${counted(idleNotices, "notice")} of idle members; the lead answers each`];
  return [
    ...wrap(titleOf(row), screen.width).map(line => paint(screen, "bold", line)),
    ...table(members.map(memberCells), [{ min: 8 }, {}, {}, { min: 12 }], screen, 2),
    paint(screen, "bold", `  ${tasksTitle(tasks)}`),
    ...table(tasks.map(taskCells), [{}, {}, { min: 8 }, { min: 16 }, { min: 8 }], screen, 4),
    ...more,
    ...problems.flatMap(({ text }) =>
      wrap(`! ${clean(text)}`, screen.width - 2, 2).map(line => `  ${paint(screen, "yellow", line)}`),
    ),
    ...notices.flatMap(text => wrap(text, screen.width - 2).map(line => `  ${paint(screen, "dim", line)}`)),
  ];
}

function titleOf({ team, kind, project, leadName }: TeamRow): string {
  const where = clean(projectName(project));
  if (kind === "list") return `${where}: the shared list ${clean(team)}`;
  return `${where}: ${clean(team)}, ${leadName === null ? "without its lead" : `led by ${clean(leadName)}`}`;
}

function memberCells({ name, shownAs, backend, state, does }: TeamMemberRow): Cell[] {
  const own = clean(name);
  const elsewhere = shownAs === null || shownAs === name ? "" : ` (${clean(shownAs)})`;
  const what = does === null ? "" : clean(does);
  return [
    `${own}${elsewhere}`,
    { text: backends[backend], style: "dim" },
    { text: state, style: memberStyles[state] },
    what,
  ];
}

function tasksTitle(tasks: readonly TeamTaskRow[]): string {
  if (tasks.length === 0) return "no tasks";
  const completed = tasks.filter(({ status }) => status === "completed").length;
  return `${tasks.length - completed} open tasks, ${completed} completed`;
}

function taskCells({ task, status, owner, subject, waitsFor }: TeamTaskRow): Cell[] {
  return [
    clean(task),
    { text: status === "in_progress" ? "in progress" : status, style: taskStyles[status] },
    owner === null ? "" : clean(owner),
    clean(subject),
    { text: waitsFor.length === 0 ? "" : `after ${waitsFor.map(clean).join(", ")}`, style: "blue" },
  ];
}
