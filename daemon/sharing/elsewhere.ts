/** What this machine knows of others: their sessions, as a query and an agent's first context show them, and what overlaps. */
import { limits } from "../../protocol/limits.ts";
import type { Overlap } from "../../protocol/schemas/declaration.ts";
import type { ElsewhereRow } from "../../protocol/work.ts";
import { sharedId } from "../core/nodes/shared-ids.ts";
import { traitsOf } from "../core/outbox/now.ts";
import type { State } from "../core/state.ts";
import type { Session } from "../core/tables/base-state.ts";
import { noteKey, type Whose } from "../core/tables/messages.ts";
import { sessionsFrom } from "../core/tables/sessions.ts";
import { claimsOf } from "../core/tasks/leave.ts";
import { overlapsElsewhere } from "../core/work/declared-elsewhere.ts";
import { declaredField } from "../core/work/overlaps.ts";
import { type Logs, type LogView, logOfSession } from "../engine/log-view.ts";
import type { Keyed } from "../views/paging.ts";

/** Yields them in the order in which they began; `project`: only those of this project of this machine. */
export function* elsewhereRows(
  logs: Logs,
  project: string | undefined,
): Generator<Keyed<ElsewhereRow>, void> {
  const own = logs.state.outbox.node;
  for (const log of project === undefined ? logs.logs : [logs.logOf(project)]) {
    const { sessions, leases } = log.state;
    if (leases.all.size === 0) continue;
    const all =
      project === undefined ? sessions.live.values() : sessionsFrom(sessions, log.project(project), 0);
    for (const session of all)
      if (session.node !== own)
        yield { place: session.begun, key: session.id, row: () => log.outward(rowOf(log, session)) };
  }
}

/** Returns where agents of other machines declared the same files as an agent of this one, as far as that is known now. */
export function overlapsThere(logs: Logs, { session, agent }: Whose): readonly Overlap[] {
  const { declarations, sessions, outbox } = logs.state;
  const mine = declarations.live.get(noteKey({ session, agent }));
  const log = logOfSession(logs, session);
  if (mine === undefined || log.state === logs.state) return [];
  const { worktree = "" } = sessions.live.get(session) ?? {};
  const as = sharedId(session, outbox.node, { epoch: 0, n: 0 });
  return overlapsElsewhere(log.state, logs.state, mine, as).map(overlap => ({
    ...overlap,
    path: `${worktree}/${overlap.path}`,
  }));
}

function rowOf({ state }: Pick<LogView, "state">, session: Session): ElsewhereRow {
  const { id, name, node, project, branch, lostAt } = session;
  const lease = state.leases.all.get(node);
  // As of the latest entry: while the store is away nobody knows which machine is silent.
  const isAway = lease === undefined || state.t >= lease.renewedAtMs + limits.nodeAwayMs;
  return {
    id,
    name,
    machine: lease?.machine ?? node,
    project,
    branch,
    ...roleIn(state, id),
    ...rolesWaiting(state, session),
    state: lostAt !== null ? "lost" : isAway ? "away" : "there",
    tasks: claimsOf(state, id)
      .reverse()
      .map(({ id: task, description }) => ({
        id: task,
        description: description.slice(0, limits.quoteChars),
      })),
    ...declaredField(state, { session: id, agent: null }),
  };
}

/** Returns what the session's node told of its role. */
function roleIn(state: State, session: string): Pick<ElsewhereRow, "role"> {
  const role = traitsOf(state, session, null).traits?.["role"];
  const named = typeof role === "object" && role !== null && "role" in role ? role["role"] : undefined;
  return typeof named === "string" ? { role: named } : {};
}

function rolesWaiting({ rolesSent }: State, { id, agents }: Session): Pick<ElsewhereRow, "rolesWaiting"> {
  const sent = [...(rolesSent.get(id) ?? [])].slice(0, limits.idsNamedMax);
  if (sent.length === 0) return {};
  const named = (agent: string | null) => (agent === null ? null : (agents.get(agent) ?? agent));
  return { rolesWaiting: sent.map(([agent, { role }]) => ({ agent: named(agent), role })) };
}
