/** What this machine knows of others: their sessions, as a query and an agent's first context show them, and what overlaps. */
import { limits } from "../../protocol/limits.ts";
import type { Overlap } from "../../protocol/schemas/declaration.ts";
import type { ElsewhereRow } from "../../protocol/work.ts";
import type { State } from "../core/state.ts";
import type { Session } from "../core/tables/base-state.ts";
import { noteKey, type Whose } from "../core/tables/messages.ts";
import { claimsOf } from "../core/tasks/leave.ts";
import { overlapsElsewhere } from "../core/work/declared-elsewhere.ts";
import { declaredField } from "../core/work/overlaps.ts";
import { type Elsewhere, type Logs, type LogView, logOfSession } from "../engine/log-view.ts";
import type { Keyed } from "./paging.ts";

/** Yields them in the order in which they began; `project`: only those of this project of this machine. */
export function* elsewhereRows(
  logs: Logs,
  project: string | undefined,
): Generator<Keyed<ElsewhereRow>, void> {
  for (const log of project === undefined ? logs.logs : [logs.logOf(project)]) {
    if (log.state === logs.state) continue;
    for (const session of log.state.sessions.live.values()) {
      const where = log.elsewhere(session.node);
      if (where !== null)
        yield { place: session.begun, key: session.id, row: () => rowOf(log, session, where) };
    }
  }
}

/** Returns where agents of other machines declared the same files as an agent of this one, as far as that is known now. */
export function overlapsThere(logs: Logs, { session, agent }: Whose): readonly Overlap[] {
  const { declarations, sessions } = logs.state;
  const mine = declarations.live.get(noteKey({ session, agent }));
  const log = logOfSession(logs, session);
  if (mine === undefined || log.state === logs.state) return [];
  const { worktree = "" } = sessions.live.get(session) ?? {};
  const as = log.actor({ session, agent, incarnation: 0 }).session;
  return overlapsElsewhere(log.state, mine, as).map(overlap => ({
    ...overlap,
    path: `${worktree}/${overlap.path}`,
  }));
}

function rowOf({ state }: Pick<LogView, "state">, session: Session, where: Elsewhere): ElsewhereRow {
  const { id, name, project, branch, lostAt } = session;
  return {
    id,
    name,
    machine: where.machine,
    project,
    branch,
    ...roleIn(state, id),
    ...rolesWaiting(state, session),
    state: lostAt !== null ? "lost" : where.isAway ? "away" : "there",
    tasks: claimsOf(state, id)
      .reverse()
      .map(({ id: task, description }) => ({
        id: task,
        description: description.slice(0, limits.quoteChars),
      })),
    ...declaredField(state, { session: id, agent: null }),
  };
}

/** Returns what the session's machine told of its role. */
function roleIn({ roles }: State, session: string): Pick<ElsewhereRow, "role"> {
  const role = roles.get(session)?.get(null)?.role;
  return role === undefined ? {} : { role };
}

function rolesWaiting({ rolesSent }: State, { id, agents }: Session): Pick<ElsewhereRow, "rolesWaiting"> {
  const sent = [...(rolesSent.get(id) ?? [])].slice(0, limits.idsNamedMax);
  if (sent.length === 0) return {};
  const named = (agent: string | null) => (agent === null ? null : (agents.get(agent) ?? agent));
  return { rolesWaiting: sent.map(([agent, { role }]) => ({ agent: named(agent), role })) };
}
