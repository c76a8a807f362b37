/** `kite team` shows Claude Code's teams: members, tasks, and what is wrong. */

import type { Command } from "commander";
import type { TeamMemberRow, TeamRow, TeamTaskRow } from "../../protocol/lead/team.ts";
import type { ProcessContext, Run } from "../context/process-context.ts";
import { fail, printShown, withDaemon } from "../context/with-daemon.ts";
import { projectName } from "../view/places.ts";
import { type Cell, clean, counted, paint, type Screen, type Style, table, wrap } from "../view/text.ts";
import { teamsNamed } from "./team-tasks.ts";

// Teams of the client as text.

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

// `kite team`.

/** Shows the teams that `name` means, or all. */
async function team(world: ProcessContext, name: string | undefined, json: boolean): Promise<number> {
  return withDaemon(world, json, async client => {
    const teams = await teamsNamed(client, name, {});
    if (name !== undefined && teams.length === 0) {
      const error = `no live team of Claude Code fits ${name}; kite team lists them`;
      return fail(world, json, "invalid_request", error);
    }
    return printShown(world, json, { teams }, screen => teamsView(teams, screen));
  });
}

const help = `
NAME is a team's name, its lead, one of its members, or the beginning of a name or id. Kite reads the files of Claude
Code's teams and never writes them. A shared list is one that several sessions use by CLAUDE_CODE_TASK_LIST_ID; Kite
knows its name from the environment in which they were started, on Linux only, and not from settings.

Kite refuses calls that break a team's rules: a blocked or another agent's task that is begun, an owner that does not
exist, a cycle of dependencies, a message to a dead teammate, a teammate that moves its lead's session to another
worktree. The setting teams (enforce, warn, off) says so: kite config.

--json: {"teams":[...]}, rows as \`query\` gives them.

Exit codes: 0 done, 1 no such team, 3 no daemon runs.

Examples:
  $ kite team
  $ kite team alice
  $ kite task import --from-team`;

export function add(command: Command, run: Run): void {
  command
    .argument("[name]", "one team; by default all")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((name: string | undefined, flags: { readonly json?: boolean }) =>
      run(world => team(world, name, flags.json === true)),
    );
}
