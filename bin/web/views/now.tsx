/** Now: files in dispute first, then agents by project. */
import type { SessionRow } from "../../../protocol/session-rows.ts";
import { compare, needsPerson } from "../../view/urgency.ts";
import type { Rows } from "../wire.ts";
import { Age, Agent, Empty, File, Loading, Section } from "./parts.tsx";
import { agoMs, clean, projectName, type ViewState } from "./state.ts";
import type { View, ViewProps } from "./view.ts";

export const now: View = {
  path: "now",
  title: "Now",
  topics: ["sessions", "locks", "holds", "refusals", "titles"],
  Body: Now,
};

function Now(props: ViewProps) {
  const { state } = props;
  const sessions = state.rows("sessions");
  if (sessions === null) return <Loading />;
  const needing = sessions.filter(needsPerson).sort(compare);
  const projects = [...new Set(sessions.map(({ project }) => project))].sort();
  return (
    <>
      {needing.length === 0 ? null : (
        <p class="needs" role="status">
          {needing.length === 1 ? "Needs you: " : `${needing.length} need you: `}
          {needing.map(({ name }) => clean(name)).join(", ")}
        </p>
      )}
      <Disputes {...props} />
      {sessions.length === 0 ? (
        <Empty says="No agent is registered. Connect a client, then start it:" command="kite install" />
      ) : (
        projects.map(project => (
          <Section
            key={project}
            title={projectName(project)}
            count={sessions.filter(one => one.project === project).length}
          >
            <Agents {...props} sessions={sessions.filter(one => one.project === project)} />
          </Section>
        ))
      )}
    </>
  );
}

/** Files that somebody waits for. */
function Disputes({ state, page }: ViewProps) {
  const locks = (state.rows("locks") ?? []).filter(({ waiters }) => waiters.length > 0);
  if (locks.length === 0) return null;
  return (
    <Section title="Files in dispute" count={locks.length}>
      <ul class="rows">
        {locks.map(lock => (
          <li key={lock.path} class="dispute">
            <File path={lock.path} state={state} page={page} />
            <span>
              {lock.holder === null ? "nobody has it" : <Agent name={lock.holder.name} page={page} />}
              {lock.holder === null ? null : (
                <>
                  {" has it for "}
                  <Age ms={agoMs(state, "locks", lock.heldMs)} />
                </>
              )}
            </span>
            <span>
              {lock.waiters.map((waiter, n) => (
                <span key={`${waiter.id}/${waiter.agent}`}>
                  {n === 0 ? "" : ", "}
                  <Agent name={waiter.name} page={page} />
                  {" waits "}
                  <Age ms={agoMs(state, "locks", waiter.waitedMs)} />
                </span>
              ))}
            </span>
            <Unlock lock={lock} page={page} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Unlock({ lock, page }: { readonly lock: Rows["locks"]; readonly page: ViewProps["page"] }) {
  const { holder, project, file } = lock;
  const named = lock.resource === true ? file : lock.path;
  const act = page?.act ?? null;
  if (act === null || holder === null) return null;
  return (
    <button
      type="button"
      onClick={() =>
        act({ deed: "unlock", file: named, project }, `Take ${clean(file)} from ${clean(holder.name)}?`)
      }
    >
      Release
    </button>
  );
}

interface AgentsProps extends ViewProps {
  readonly sessions: readonly SessionRow[];
}

function Agents({ state, page, sessions }: AgentsProps) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Agent</th>
          <th scope="col">State</th>
          <th scope="col">Does</th>
          <th scope="col">Holds</th>
          <th scope="col">Waits for</th>
        </tr>
      </thead>
      <tbody>
        {[...sessions].sort(compare).map(one => (
          <AgentLine key={one.id} state={state} page={page} session={one} />
        ))}
      </tbody>
    </table>
  );
}

function AgentLine({ state, page, session }: ViewProps & { readonly session: SessionRow }) {
  const { id, name, status, attention, doing, task, waitingForPath, locks } = session;
  const title = (state.rows("titles") ?? []).find(one => one.id === id)?.title;
  return (
    <tr class={needsPerson(session) ? "needs" : waitingForPath === null ? "" : "waits"}>
      <th scope="row">
        <Agent name={name} page={page} />
        {session.client === undefined ? null : <span class="dim"> {clean(session.client)}</span>}
        {title === undefined ? null : <div class="dim">{clean(title)}</div>}
      </th>
      <td>{attention === null ? status : clean(attention)}</td>
      <td>
        {doing === undefined ? null : doingText(state, doing)}
        {task === null ? null : <div class="dim">{clean(task.description)}</div>}
      </td>
      <td>{locks === 0 ? "" : locks}</td>
      <td>{waitingForPath === null ? "" : <File path={waitingForPath} state={state} page={page} />}</td>
    </tr>
  );
}

function doingText(state: ViewState, doing: NonNullable<SessionRow["doing"]>): string {
  const what = clean(doing.what.split("/").at(-1) ?? "");
  void state;
  return `${doing.verb} ${what}`;
}
