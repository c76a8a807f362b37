/** Sessions of other machines, as a query and an agent's first context show them. */
import type { ElsewhereRow } from "../../protocol/elsewhere.ts";
import { limits } from "../../protocol/limits.ts";
import type { Session } from "../core/base-state.ts";
import { sessionsFrom } from "../core/sessions/in-order.ts";
import { claimsOf } from "../core/tasks/leave.ts";
import type { Logs, LogView } from "../engine/log-view.ts";
import type { Keyed } from "../views/row.ts";

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

function rowOf({ state, now }: Pick<LogView, "state" | "now">, session: Session): ElsewhereRow {
  const { id, name, node, project, branch, lostAt } = session;
  const lease = state.leases.all.get(node);
  const isAway = lease === undefined || now >= lease.renewedAtMs + limits.nodeAwayMs;
  return {
    id,
    name,
    machine: lease?.machine ?? node,
    project,
    branch,
    state: lostAt !== null ? "lost" : isAway ? "away" : "there",
    tasks: claimsOf(state, id)
      .reverse()
      .map(({ id: task, description }) => ({
        id: task,
        description: description.slice(0, limits.quoteChars),
      })),
  };
}
