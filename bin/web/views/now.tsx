/** Now: files in dispute first, then agents by project. */
import type { AgentRow, SessionRow } from "../../../protocol/session-rows.ts";
import { features } from "../../view/features.ts";
import { compare, doingText, needsPerson } from "../../view/session-notes.ts";
import type { Rows } from "../wire.ts";
import { Age, Agent, Elsewhere, Empty, File, Loading, Section, TableHead } from "./parts.tsx";
import type { View, ViewProps } from "./state.ts";
import { agoMs, clean, pathText, projectName, type ViewState } from "./state.ts";

export const now: View = {
  path: "now",
  title: "Now",
  topics: ["sessions", "locks", "holds", "refusals", "titles", "elsewhere"],
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
            <Agents
              {...props}
              state={{ ...state, project }}
              sessions={sessions.filter(one => one.project === project)}
            />
          </Section>
        ))
      )}
      <Elsewhere state={state} />
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
              {lock.holder === null ? (
                "nobody has it"
              ) : (
                <Agent name={lock.holder.name} id={lock.holder.id} agent={lock.holder.agent} page={page} />
              )}
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
                  <Agent name={waiter.name} id={waiter.id} agent={waiter.agent} page={page} />
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
      <TableHead columns={["Agent", "State", "Does", "Holds", "Waits for"]} />
      <tbody>
        {[...sessions]
          .sort(compare)
          .flatMap(session => [
            <AgentLine key={session.id} state={state} page={page} session={session} one={session} />,
            ...session.agents.map(one => (
              <AgentLine
                key={`${session.id}/${one.agent}`}
                state={state}
                page={page}
                session={session}
                one={one}
              />
            )),
          ])}
      </tbody>
    </table>
  );
}

/** The branch that HEAD of the session's worktree is on, or what is in progress there. */
function Where({ session: { head, branch } }: { readonly session: SessionRow }) {
  const where = head ?? branch;
  return where === null ? null : <div class="dim">{clean(where)}</div>;
}

interface AgentLineProps extends ViewProps {
  readonly session: SessionRow;
  /** The session's main agent, or one within it. */
  readonly one: SessionRow | AgentRow;
}

function AgentLine({ state, page, session, one }: AgentLineProps) {
  const isMain = one === session;
  const agent = "agent" in one ? one.agent : null;
  const locks = state.rows("locks") ?? [];
  const held = locks.filter(({ holder }) => holder?.id === session.id && holder.agent === agent);
  const wait = locks.find(({ waiters }) => waiters.some(w => w.id === session.id && w.agent === agent));
  const needs = isMain ? needsPerson(session) : features.some(feature => feature.needsPerson?.(one) === true);
  const { attention } = session;
  const advice = features.flatMap(feature => feature.advice?.(one, one.name, session) ?? []);
  return (
    <tr class={needs ? "needs" : one.waitingFor === null ? "" : "waits"}>
      <th scope="row" class={isMain ? "" : "within"}>
        <Agent
          name={isMain ? one.name : `${session.name}/${one.name}`}
          id={session.id}
          agent={agent}
          page={page}
        />
        <Marks session={isMain ? session : null} />
        {isMain ? <Title state={state} session={session} /> : null}
        {isMain ? <Where session={session} /> : null}
      </th>
      <td data-label="State">
        {troubleOf(one) ??
          (isMain && attention !== null
            ? clean(attention)
            : one.waitingFor === null
              ? one.status
              : "waiting")}
        {advice.length === 0 ? null : <div class="dim">{clean(advice.join(", "))}</div>}
      </td>
      <td data-label="Does">
        {one.waitingFor === null ? <Doing state={state} one={one} /> : null}
        <WorksOn session={isMain ? session : null} one={one} />
      </td>
      <td data-label="Holds">
        <Held state={state} page={page} locks={held} />
      </td>
      <td data-label="Waits for">
        {one.waitingForPath === null ? null : (
          <>
            <File path={one.waitingForPath} state={state} page={page} />
            {wait?.holder == null ? null : (
              <>
                {" behind "}
                <Agent name={wait.holder.name} id={wait.holder.id} agent={wait.holder.agent} page={page} />
              </>
            )}
          </>
        )}
      </td>
    </tr>
  );
}

/** What sets a session apart: another client, no hooks, a role. */
function Marks({ session }: { readonly session: SessionRow | null }) {
  if (session === null) return null;
  const marks = [
    ...(session.client === undefined ? [] : [session.client]),
    ...(session.advisory === true ? ["advisory"] : []),
    ...(session.incarnations > 1 ? [`open in ${session.incarnations} terminals`] : []),
    ...features.flatMap(feature => feature.origin?.(session) ?? []),
  ];
  return marks.length === 0 ? null : <span class="dim"> {clean(marks.join(", "))}</span>;
}

function Title({ state, session }: { readonly state: ViewState; readonly session: SessionRow }) {
  const title = state.rows("titles")?.find(({ id }) => id === session.id)?.title;
  const place = session.branch ?? projectName(session.worktree);
  return (
    <div class="dim">
      {title === undefined ? null : `${clean(title)} · `}
      {clean(place)}
    </div>
  );
}

function troubleOf(one: SessionRow | AgentRow): string | null {
  const [trouble] = features.flatMap(feature => feature.trouble?.(one) ?? []);
  return trouble === undefined ? null : clean(trouble.text);
}

function Doing({ state, one }: { readonly state: ViewState; readonly one: SessionRow | AgentRow }) {
  const { doing, status } = one;
  if (doing === undefined || status !== "active") return null;
  const forMs = agoMs(state, "sessions", doing.forMs);
  const named = doing.what.includes("/") ? pathText(doing.what, state) : clean(doing.what);
  return <span>{doingText({ ...doing, forMs }, named)}</span>;
}

/** What an agent declared, else the task that it claimed. */
function WorksOn({
  session,
  one,
}: {
  readonly session: SessionRow | null;
  readonly one: SessionRow | AgentRow;
}) {
  const { role = "", task = "" } = one.declared ?? {};
  const on = task === "" ? (session?.task?.description ?? "") : task;
  const text = [role, on].filter(part => part !== "").join(": ");
  return text === "" ? null : <div class="dim">{clean(text)}</div>;
}

/** Files of one agent that are named; of more the number is said. */
const heldShownMax = 3;

function Held({ state, page, locks }: ViewProps & { readonly locks: readonly Rows["locks"][] }) {
  const more = locks.length - heldShownMax;
  return (
    <>
      {locks.slice(0, heldShownMax).map(lock => (
        <div key={lock.path}>
          <File path={lock.path} state={state} page={page} />
        </div>
      ))}
      {more > 0 ? <div class="dim">and {more} more</div> : null}
    </>
  );
}
