/** Spawned agents: how they are, what they do and where, and what came of it; then merges and checks. */

import type { CameBackRow } from "../../../../protocol/lead/team.ts";
import { personName } from "../../../../protocol/names.ts";
import { duration } from "../../../../protocol/text.ts";
import { resultWords } from "../../../lead/view/debates.ts";
import { healthAdvice, troubleOf, unreadText } from "../../../lead/view/features.ts";
import { order } from "../../../view/session-notes.ts";
import { counted } from "../../../view/text.ts";
import type { Rows } from "../../wire.ts";
import { Agent, Empty, Loading, Section, TableHead } from "../parts.tsx";
import { clean, pathText, projectName, type View, type ViewProps } from "../state.ts";
import { Merges, MergesElsewhere } from "./merges.tsx";

// The latest results of checks, by worktree.

const checksShownMax = 100;

function Checks({ checks, state }: ViewProps & { readonly checks: readonly Rows["checks"][] }) {
  if (checks.length === 0)
    return <Empty says="No result of a check. To run the project's checks:" command="kite check" />;
  const latest = [...checks].sort((a, b) => b.at - a.at).slice(0, checksShownMax);
  const sorted = latest.sort((a, b) => order(a.worktree, b.worktree) || order(a.name, b.name));
  const left = checks.length - latest.length;
  return (
    <Section title="Checks" count={checks.length}>
      <table>
        <TableHead columns={["Check", "Worktree", "Result"]} />
        <tbody>
          {sorted.map(row => (
            <tr key={`${row.worktree}\n${row.name}`}>
              <th scope="row">{clean(row.name)}</th>
              <td data-label="Worktree">
                <code>{pathText(row.worktree, { viewer: state.viewer, project: null })}</code>
              </td>
              {/* Whether the worktree has that state still, kite check --list looks at. */}
              <td class={row.exit === 0 ? "state-merged" : "state-returned"}>
                {clean(resultWords(row, "stale", state.nowMs))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {left === 0 ? null : <p class="dim">and {counted(left, "result")} more, older than these</p>}
    </Section>
  );
}

export const agents: View = {
  path: "agents",
  title: "Spawned agents and merges",
  topics: ["spawns", "merges", "merges_elsewhere", "checks", "tasks"],
  Body: Agents,
};

type Spawn = Rows["spawns"];

const agentsShownMax = 100;

function Agents(props: ViewProps) {
  const { state } = props;
  const spawns = state.rows("spawns");
  const merges = state.rows("merges");
  const checks = state.rows("checks");
  if (spawns === null || merges === null || checks === null) return <Loading />;
  return (
    <>
      {spawns.length === 0 ? (
        <Empty
          says="No spawned agents. To start one in a worktree of its own:"
          command='kite spawn "Mend the build"'
        />
      ) : (
        <Section title="Spawned agents" count={spawns.length}>
          <Spawns {...props} spawns={spawns} />
        </Section>
      )}
      <Merges {...props} merges={merges} sessions={new Set(spawns.map(({ session }) => session))} />
      <MergesElsewhere state={state} />
      <Checks {...props} checks={checks} />
    </>
  );
}

/** Those that have not ended first, then the latest. */
function Spawns({ spawns, state, page }: ViewProps & { readonly spawns: readonly Spawn[] }) {
  const isOver = ({ endedAt }: Spawn) => Number(endedAt !== null);
  const sorted = [...spawns].sort((a, b) => isOver(a) - isOver(b) || b.createdAt - a.createdAt);
  const tasks = new Map((state.rows("tasks") ?? []).map(task => [task.id, task]));
  const left = sorted.length - agentsShownMax;
  return (
    <>
      <table>
        <TableHead columns={["Agent", "State", "Role", "Task", "Branch", "Spawned by", "For"]} />
        <tbody>
          {sorted.slice(0, agentsShownMax).map(spawn => (
            <SpawnLine key={spawn.id} spawn={spawn} tasks={tasks} state={state} page={page} />
          ))}
        </tbody>
      </table>
      {left <= 0 ? null : (
        <p class="dim">
          and {counted(left, "agent")} more: <code>kite agents</code>
        </p>
      )}
    </>
  );
}

interface SpawnLineProps extends ViewProps {
  readonly spawn: Spawn;
  readonly tasks: ReadonlyMap<string, Rows["tasks"]>;
}

function SpawnLine({ spawn, tasks, state, page }: SpawnLineProps) {
  const { name, client, model, role, parent, createdAt, endedAt, health, project } = spawn;
  const trouble = troubleOf(health);
  const notes = notesOf(spawn);
  return (
    <tr class={trouble === null && spawn.state !== "waits_on_person" ? "" : "needs"}>
      <th scope="row">
        <Agent name={name} id={spawn.session} agent={null} page={page} />
        <div class="dim">{[client, model].flatMap(one => (one === null ? [] : clean(one))).join(", ")}</div>
        {state.project === null ? <div class="dim">{projectName(project)}</div> : null}
      </th>
      <td data-label="State">
        <span class={`state-${spawn.state}`}>
          {trouble === null ? spawn.state.replaceAll("_", " ") : clean(trouble.text)}
        </span>
        {notes.map(note => (
          <div key={note} class="note">
            {note}
          </div>
        ))}
        {healthAdvice(health, name, null, true).map(advice => (
          <div key={advice} class="note">
            <code>{clean(advice)}</code>
          </div>
        ))}
      </td>
      <td data-label="Role">{role === null ? "" : clean(role)}</td>
      <td data-label="Task">{taskText(spawn, tasks)}</td>
      <td data-label="Branch">
        <Place spawn={spawn} />
      </td>
      <td data-label="Spawned by">
        {parent === null ? (
          clean(personName())
        ) : (
          <Agent name={parent.name} id={parent.id} agent={parent.agent} page={page} />
        )}
      </td>
      <td data-label="For">{duration(Math.max(0, (endedAt ?? state.nowMs) - createdAt))}</td>
    </tr>
  );
}

function taskText({ task }: Spawn, tasks: SpawnLineProps["tasks"]): string {
  if (task === null) return "";
  const found = tasks.get(task);
  return found === undefined ? clean(task) : `#${found.number} ${clean(found.description)}`;
}

function Place({ spawn: { branch, worktree } }: { readonly spawn: Spawn }) {
  const folder = worktree?.split("/").at(-1);
  return (
    <>
      {branch === null ? null : <code>{clean(branch)}</code>}
      {folder === undefined ? null : <div class="dim">in {clean(folder)}/</div>}
    </>
  );
}

/** Returns what went wrong, what came back, and what came of the agent's task. */
function notesOf({ reason, result, worksIn, cameBack, session, replacing, stopping }: Spawn): string[] {
  return [
    ...(cameBack === undefined ? [] : [cameBackText(cameBack, session)]),
    ...(worksIn === null ? [] : [`works in ${worksIn} now`]),
    ...(replacing ? ["is about to be resumed or replaced"] : []),
    ...(stopping ? ["is about to be stopped"] : []),
    ...(reason === null ? [] : [reason]),
    ...(result === null ? [] : [`result: ${result}`]),
  ].map(clean);
}

function cameBackText({ merge, branch, base, unread }: CameBackRow, session: string | null): string {
  const isOwn = unread.state !== "gone" && unread.who.id === session;
  return `${branch} was not merged into ${base} (${merge}): ${unreadText(unread, isOwn)}`;
}
