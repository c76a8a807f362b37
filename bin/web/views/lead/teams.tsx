/** Teams and shared lists of Claude Code, debates, and what agents are and said that they would do. */
import type { TeamMemberRow, TeamTaskRow } from "../../../../protocol/lead/team.ts";
import { counted, listed } from "../../../view/text.ts";
import { order } from "../../../view/urgency.ts";
import type { Rows } from "../../wire.ts";
import { Agent, Empty, Loading, Section, TableHead } from "../parts.tsx";
import { clean, projectName } from "../state.ts";
import type { View, ViewProps } from "../view.ts";
import { Debates } from "./debates.tsx";
import { Declarations } from "./declarations.tsx";
import { Roles } from "./roles.tsx";

export const teams: View = {
  path: "teams",
  title: "Teams and debates",
  topics: ["teams", "debates", "declarations", "sessions"],
  Body: Teams,
};

type Team = Rows["teams"];

const membersShownMax = 50;
const tasksShownMax = 50;

const backends = { lead: "lead", in_process: "in process", pane: "pane", session: "session" } as const;

function Teams(props: ViewProps) {
  const { state } = props;
  const rows = state.rows("teams");
  const debates = state.rows("debates");
  const declarations = state.rows("declarations");
  const sessions = state.rows("sessions");
  if (rows === null || debates === null || declarations === null || sessions === null) return <Loading />;
  const sorted = [...rows].sort((a, b) => order(a.project, b.project) || order(a.team, b.team));
  return (
    <>
      {sorted.length === 0 ? (
        <Empty
          says="No team of Claude Code is at work. Teams, and task lists that sessions share, show here. In a terminal:"
          command="kite team"
        />
      ) : (
        sorted.map(team => <TeamPart key={`${team.project}\n${team.team}`} {...props} team={team} />)
      )}
      <Debates {...props} debates={debates} />
      <Roles {...props} sessions={sessions} />
      <Declarations {...props} declarations={declarations} />
    </>
  );
}

function TeamPart({ team, state, page }: ViewProps & { readonly team: Team }) {
  const { members, tasks, moreTasks, idleNotices, problems, kind, lead, leadName, project } = team;
  const name = clean(team.team);
  const where = state.project === null ? ` in ${projectName(project)}` : "";
  const completed = tasks.filter(({ status }) => status === "completed").length;
  return (
    <Section
      title={`${kind === "list" ? `Shared list ${name}` : `Team ${name}`}${where}`}
      count={members.length}
    >
      {kind === "list" ? null : (
        <p class="dim">
          {leadName === null ? (
            "without its lead"
          ) : (
            <>
              {"led by "}
              <Agent name={leadName} id={lead} agent={null} page={page} />
            </>
          )}
        </p>
      )}
      {problems.map(({ what, text }) => (
        <p key={`${what}\n${text}`} class="needs">
          {clean(text)}
        </p>
      ))}
      <Members members={members} page={page} />
      <h3>
        {tasks.length === 0
          ? "No tasks"
          : `${counted(tasks.length - completed, "open task")}, ${completed} completed`}
      </h3>
      <TeamTasks tasks={tasks} />
      {moreTasks === 0 ? null : <p class="dim">{counted(moreTasks, "more task")} Kite did not read</p>}
      {idleNotices === 0 ? null : (
        <p class="dim">{counted(idleNotices, "notice")} of idle members; the lead answers each</p>
      )}
    </Section>
  );
}

function Members({
  members,
  page,
}: {
  readonly members: readonly TeamMemberRow[];
  readonly page: ViewProps["page"];
}) {
  const left = members.length - membersShownMax;
  return (
    <>
      <table>
        <TableHead columns={["Member", "Runs as", "State", "Does"]} />
        <tbody>
          {members.slice(0, membersShownMax).map(({ name, shownAs, backend, state, does }) => (
            <tr key={name} class={state === "needs you" ? "needs" : ""}>
              <th scope="row">
                {shownAs === null ? clean(name) : <Agent name={shownAs} id={null} agent={null} page={page} />}
                {shownAs === null || shownAs === name ? null : (
                  <span class="dim"> in the team {clean(name)}</span>
                )}
              </th>
              <td data-label="Runs as">{backends[backend]}</td>
              <td class={`state-${state.replace(" ", "-")}`} data-label="State">
                {state}
              </td>
              <td data-label="Does">{does === null ? "" : clean(does)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {left <= 0 ? null : <p class="dim">and {counted(left, "member")} more</p>}
    </>
  );
}

/** Those that somebody works on first, then those that are open. */
function TeamTasks({ tasks }: { readonly tasks: readonly TeamTaskRow[] }) {
  if (tasks.length === 0) return null;
  const rank = { in_progress: 0, pending: 1, completed: 2 } as const;
  const sorted = [...tasks].sort((a, b) => rank[a.status] - rank[b.status]);
  const left = sorted.length - tasksShownMax;
  return (
    <>
      <table>
        <TableHead columns={["Task", "State", "Owner", "Waits for"]} />
        <tbody>
          {sorted.slice(0, tasksShownMax).map(({ task, subject, status, owner, waitsFor }) => (
            <tr key={task}>
              <th scope="row">
                {clean(task)} {clean(subject)}
              </th>
              <td class={status === "in_progress" ? "state-running" : ""} data-label="State">
                {status.replace("_", " ")}
              </td>
              <td data-label="Owner">{owner === null ? "" : clean(owner)}</td>
              <td class={waitsFor.length === 0 ? "" : "state-waits"} data-label="Waits for">
                {waitsFor.length === 0 ? "" : listed(waitsFor.map(clean))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {left <= 0 ? null : <p class="dim">and {counted(left, "task")} more</p>}
    </>
  );
}
