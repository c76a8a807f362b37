/** Teams and shared lists of Claude Code, debates, and what agents are and said that they would do. */

import { defaultRole } from "../../../../protocol/lead/roles.ts";
import type { TeamMemberRow, TeamTaskRow } from "../../../../protocol/lead/team.ts";
import { personName } from "../../../../protocol/names.ts";
import { noteOf, stands } from "../../../lead/view/debates.ts";
import { boundsText, sourceText } from "../../../lead/view/features.ts";
import { order } from "../../../view/session-notes.ts";
import { counted, listed } from "../../../view/text.ts";
import type { Rows } from "../../wire.ts";
import { Agent, Empty, Loading, Section, TableHead } from "../parts.tsx";
import { agoText, clean, projectName, type View, type ViewProps } from "../state.ts";
import { Declarations } from "./declarations.tsx";

// Debates: open ones first, then the latest that closed.

type Debate = Rows["debates"];

const openShownMax = 50;
const closedShownMax = 20;

function Debates({ debates, state, page }: ViewProps & { readonly debates: readonly Debate[] }) {
  if (debates.length === 0)
    return (
      <Empty
        says="No debates. To open one:"
        command='kite debate open "Why does it hang?" --hypothesis race="two write" --hypothesis leak="no memory"'
      />
    );
  const latest = [...debates].sort((a, b) => b.openedAt - a.openedAt);
  const open = latest.filter(({ status }) => status === "open");
  const closed = latest.filter(({ status }) => status === "closed");
  const shown = [...open.slice(0, openShownMax), ...closed.slice(0, closedShownMax)];
  return (
    <Section title="Debates" count={debates.length}>
      {shown.map(debate => (
        <DebatePart key={debate.id} debate={debate} state={state} page={page} />
      ))}
      {debates.length === shown.length ? null : (
        <p class="dim">
          and {counted(debates.length - shown.length, "debate")} more: <code>kite debate list</code>
        </p>
      )}
    </Section>
  );
}

function DebatePart({ debate, state, page }: ViewProps & { readonly debate: Debate }) {
  const { id, project, question, status, hypotheses, openedBy, openedAt, entryCount, verdict } = debate;
  return (
    <article class="debate">
      <h3>{clean(question)}</h3>
      <p class="dim">
        {status}
        {": "}
        {clean(noteOf(debate, { now: state.nowMs }))}
        {"; opened by "}
        {openedBy === null ? (
          clean(personName())
        ) : (
          <Agent name={openedBy.name} id={openedBy.id} agent={openedBy.agent} page={page} />
        )}
        {`, ${agoText(state, openedAt)}; ${entryCount === 1 ? "1 entry" : `${entryCount} entries`}`}
        {state.project === null ? ` in ${projectName(project)}` : ""}
        {"; "}
        <code>kite debate show {clean(id)}</code>
      </p>
      <ul>
        {hypotheses.map(one => (
          <li key={one.name} class={verdict?.name === one.name ? "state-merged" : ""}>
            <strong>{clean(one.name)}</strong>
            {`: ${clean(one.claim)} `}
            <span class={one.unanswered.length > 0 && status === "open" ? "state-waits" : "dim"}>
              ({stands(one)})
            </span>
          </li>
        ))}
      </ul>
      {verdict === null ? null : (
        <p>
          Verdict: <strong>{clean(verdict.name)}</strong>
          {`, because ${clean(verdict.because)}`}
        </p>
      )}
    </article>
  );
}

// The roles of live agents, and what these may not do.

const rolesShownMax = 100;

function Roles({ sessions, state, page }: ViewProps & { readonly sessions: readonly Rows["sessions"][] }) {
  const agents = sessions.flatMap(session =>
    [{ ...session, agent: null }, ...session.agents].map(({ name, role, agent }) => ({
      ...{ name, role, agent },
      ...{ id: session.id, project: session.project },
    })),
  );
  const rows = agents
    .flatMap(({ role, ...one }) => (role === undefined ? [] : [{ ...one, ...role }]))
    .sort((a, b) => order(a.role, b.role) || order(a.name, b.name));
  if (rows.length === 0)
    return (
      <Empty
        says={`No agent has another role than the default one, ${defaultRole}. To give one:`}
        command="kite role NAME reviewer"
      />
    );
  const others = agents.length - rows.length;
  return (
    <Section title="Roles" count={rows.length}>
      <table>
        <TableHead columns={["Agent", "Role", "From", "Bounds"]} />
        <tbody>
          {rows.slice(0, rolesShownMax).map(({ id, agent, name, role, by, project }) => (
            <tr key={`${id}/${agent}`}>
              <th scope="row">
                <Agent name={name} id={id} agent={agent} page={page} />
                {state.project === null ? <span class="dim"> {projectName(project)}</span> : null}
              </th>
              <td data-label="Role">{role}</td>
              <td data-label="From">{sourceText(by)}</td>
              <td class="dim" data-label="Bounds">
                {boundsText(role)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length <= rolesShownMax ? null : (
        <p class="dim">and {counted(rows.length - rolesShownMax, "agent")} more</p>
      )}
      {others === 0 ? null : (
        <p class="dim">
          {counted(others, "other agent")} with the default role, {defaultRole}. Whether roles are enforced:{" "}
          <code>kite role</code>
        </p>
      )}
    </Section>
  );
}

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
