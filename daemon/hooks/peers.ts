/** What an agent is told at its start: who works in its project, what they declared, what was finished there. */
import type { CodeViewNote, FinishedNote, LockNote } from "../../hooks/seam/notices.ts";
import type { HookOutcome } from "../../hooks/seam/plan.ts";
import { limits } from "../../protocol/limits.ts";
import type { SessionRow } from "../../protocol/session.ts";
import { declarationsOf } from "../core/declarations/table.ts";
import { sessionsOf } from "../core/sessions/table.ts";
import type { Session } from "../core/state.ts";
import { latestFinished, listOf } from "../core/tasks/table.ts";
import { lockRows, sessionRow, workedOn } from "../views/sessions-and-locks.ts";
import type { ActionOf, Run } from "./action.ts";
import type { HookServices } from "./hook-services.ts";
import { unreadOf } from "./inbox.ts";

const nobody = {
  ...{ sessions: [], own: null, views: [], locks: [], finished: [], keys: [], moreKeys: 0 },
  ...{ readyTasks: 0, ownTasks: [], unread: 0 },
} as const;

export function listPeers({ services }: Run, action: ActionOf<"list_peers">): HookOutcome {
  const { session } = action;
  const agent = action.agent ?? null;
  const { state } = services.engine;
  const self = state.sessions.live.get(session);
  const silent = (name: string) => ({ did: "list_peers", ok: true, self: name, ...nobody }) as const;
  if (self === undefined) return silent(session.slice(0, 8));
  const isFull = self.agents.size >= limits.agentsPerSessionMax;
  // A teammate starts each time it wakes: only at its first start is it unknown.
  if (agent !== null && (self.agents.has(agent) || isFull)) return silent(self.name);
  const others = nearestFirst(services, self);
  const known = {
    sessions: others,
    own: agent === null ? null : sessionRow(services, self),
    views: [...(agent === null ? [] : [self.id]), ...others.map(({ id }) => id)].flatMap(id =>
      viewsOf(services, id),
    ),
    locks: locksOfOthers(services, self),
    finished: finishedLately(services, self.project),
    ...keysOf(services, self.project),
  };
  if (agent !== null) return { ...silent(self.name), ...known };
  const readyTasks = listOf(state.tasks, "ready", self.project).size;
  const ownTasks = workedOn(state, session);
  return { ...silent(self.name), ...known, readyTasks, ownTasks, unread: unreadOf(state, session) };
}

/** The other sessions of the project: those of the same worktree first, then those seen last. */
function nearestFirst(services: HookServices, self: Session): SessionRow[] {
  const others = [...sessionsOf(services.engine.state.sessions, self.project)].filter(one => one !== self);
  const isFar = ({ worktree }: SessionRow) => Number(worktree !== self.worktree);
  return others
    .map(one => sessionRow(services, one))
    .sort((a, b) => isFar(a) - isFar(b) || a.lastSeenMs - b.lastSeenMs);
}

function viewsOf({ engine }: HookServices, session: string): CodeViewNote[] {
  return declarationsOf(engine.state.declarations, session).flatMap(({ session: id, agent, files }) => {
    const paths = files.map(({ path, dir }) => (dir && !path.endsWith("/") ? `${path}/` : path));
    const shown = paths.slice(0, limits.startFilesMax);
    return paths.length === 0 ? [] : [{ id, agent, files: shown, more: paths.length - shown.length }];
  });
}

function locksOfOthers(services: HookServices, { id, project }: Session): LockNote[] {
  const locks: LockNote[] = [];
  for (const { row: make } of lockRows(services)) {
    if (locks.length === limits.rowsDefault) break;
    const row = make();
    if (row.project !== project || row.holder === null || row.holder.id === id) continue;
    const { path: file, holder, heldMs, waiters } = row;
    const more = { doing: null, edited: [], isDirectory: false, stays: null, yieldsInMs: null };
    locks.push({ file, holder: holder.name, heldMs, waiters: waiters.length, ...more });
  }
  return locks;
}

function finishedLately({ engine, clock }: HookServices, project: string): FinishedNote[] {
  const since = clock.wall() - limits.startTasksMs;
  return latestFinished(engine.state.tasks, project, limits.startTasksMax).flatMap(
    ({ updatedAt, description, state }) =>
      updatedAt < since || state.status !== "done"
        ? []
        : [{ description, by: state.by?.name ?? null, result: state.result }],
  );
}

function keysOf({ engine }: HookServices, project: string) {
  const keys: string[] = [];
  for (const item of engine.state.context.items.values())
    if (item.project === project && (item.endsAt === null || item.endsAt > engine.now)) keys.push(item.key);
  const shown = keys.sort().slice(0, limits.startKeysMax);
  return { keys: shown, moreKeys: keys.length - shown.length };
}
