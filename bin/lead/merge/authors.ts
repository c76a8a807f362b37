/** What the authors of branches work on: the tasks that a merge follows, and those that it brings back. */

import type { MergeRow } from "../../../protocol/lead/merge.ts";
import { limits } from "../../../protocol/limits.ts";
import type { TaskRow } from "../../../protocol/schemas/task.ts";
import type { SessionRow } from "../../../protocol/session-rows.ts";
import type { NamedAgent } from "../../agent/named.ts";
import type { Client } from "../../process-context.ts";
import { rowsOf } from "../../with-daemon.ts";

export interface AuthorTasks {
  /** All that the author works on, has done or was spawned for: the order of merges follows these. */
  readonly all: readonly string[];
  /** What becomes pending if the merge comes back: what it works on, else what it was spawned for or finished last. */
  readonly present: readonly string[];
}

const none: AuthorTasks = { all: [], present: [] };

/** Returns the tasks of a session, live or ended (null: of nobody). `spawned`: the task that its agent was spawned for. */
export async function tasksOf(
  client: Client,
  project: string,
  id: string | null,
  spawned: string | null = null,
): Promise<AuthorTasks> {
  if (id === null) return none;
  const rows = await rowsOf(client, "tasks", { project, assignee: id });
  const mine = rows.filter(row => row.assignee === id && (row.status === "active" || row.status === "done"));
  const active = mine.filter(({ status }) => status === "active");
  const own = mine.find(task => task.id === spawned);
  const latest = own === undefined ? mine.toSorted((a, b) => b.updatedAt - a.updatedAt).slice(0, 1) : [own];
  const present = active.length > 0 ? active : latest;
  const all = new Set([...idsOf(mine), ...(spawned === null ? [] : [spawned])]);
  return { all: [...all], present: idsOf(present).slice(0, limits.mergeTasksMax) };
}

/**
 * Returns who did a task on the branch last, and has ended since; null: nobody is known. A branch has its author's name
 * beyond the end of its session by that alone.
 */
export async function lastDoerOn(
  client: Client,
  project: string,
  branch: string,
  sessions: readonly SessionRow[],
): Promise<NamedAgent | null> {
  const live = new Set(sessions.map(({ id }) => id));
  const done = await rowsOf(client, "tasks", { project, status: "done" });
  const [last] = done
    .filter(row => row.branch === branch && row.assignee !== null && !live.has(row.assignee))
    .sort((a, b) => b.updatedAt - a.updatedAt);
  if (last === undefined || last.assignee === null) return null;
  const { assignee: id, assigneeAgent: agent, assigneeName: name } = last;
  return { id, agent, name: name ?? id, project };
}

function idsOf(rows: readonly TaskRow[]): string[] {
  return rows.map(({ id }) => id);
}

/** Returns for each task all that it depends on, by way of others too; it asks for `limits.mergeTasksAskedMax` at most. */
export async function dependenciesOf(
  client: Client,
  tasks: readonly string[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const direct = new Map<string, readonly string[]>();
  const wanted = [...new Set(tasks)];
  for (let id = wanted.pop(); id !== undefined; id = wanted.pop()) {
    if (direct.has(id) || direct.size >= limits.mergeTasksAskedMax) continue;
    const answer = await client.request("task_get", { task: id });
    const found = answer.ok ? answer.task.dependsOn : [];
    direct.set(id, found);
    wanted.push(...found);
  }
  return new Map(tasks.map(id => [id, reachable(id, direct)]));
}

function reachable(from: string, direct: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const found = new Set<string>();
  const next = [...(direct.get(from) ?? [])];
  for (let id = next.pop(); id !== undefined; id = next.pop()) {
    if (found.has(id)) continue;
    found.add(id);
    next.push(...(direct.get(id) ?? []));
  }
  return found;
}

/** Returns the sessions of spawned agents that have to read of one of these merges and have not. */
export async function spawnedReaders(
  client: Client,
  project: string,
  rows: readonly MergeRow[],
): Promise<ReadonlySet<string>> {
  if (rows.every(({ unread }) => unread === undefined)) return new Set();
  const spawns = await rowsOf(client, "spawns", { project });
  return new Set(
    spawns.flatMap(({ session, endedAt }) => (session === null || endedAt !== null ? [] : [session])),
  );
}
