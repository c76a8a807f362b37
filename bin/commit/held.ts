/** Which files of a commit other agents are writing or hold, and whether an agent commits. */
import { type Ancestor, ancestorsOf, parentOf } from "../../daemon/facts/processes.ts";
import { isUnhooked } from "../../protocol/names.ts";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import { actingSession, isTerminalSession } from "../actor.ts";
import type { Client, ProcessContext } from "../process-context.ts";
import { rowsOf } from "../with-daemon.ts";
import type { Staged } from "./staged.ts";

/** Who commits: sessions of which one is the agent's own. Of several in one process nobody can say which. */
export interface Committer {
  readonly isAgent: boolean;
  readonly sessions: ReadonlySet<string>;
}

/** One file that another agent has. */
export interface Held {
  readonly path: string;
  readonly by: string;
  readonly isWriting: boolean;
  readonly kind: LockRow["kind"];
}

interface Process {
  readonly id: string;
  readonly pid: number | null;
}

/** Finds the committer by its environment, and by the nearest process above it that is a session's. */
export async function committerOf(
  { env }: Pick<ProcessContext, "env">,
  client: Pick<Client, "request" | "daemon">,
  above: readonly Ancestor[] = ancestorsOf(process.pid),
): Promise<Committer> {
  const acting = actingSession(env);
  const near = nearest(await rowsOf(client, "sessions"), above);
  const sessions = new Set([...near, ...(acting === null ? [] : [acting.id])]);
  const isAgents = (id: string) => !isTerminalSession(env, id);
  const isMarked = env["CLAUDECODE"] === "1" || env["KITE_CHECK"] !== undefined;
  return { isAgent: isMarked || [...sessions].some(isAgents), sessions };
}

/** A server of Kite's tools that registered its own process is a child of the agent's client. */
function nearest(sessions: readonly Process[], above: readonly Ancestor[]): readonly string[] {
  const isOf = (at: number, { id, pid }: Process) =>
    pid !== null && (pid === at || (isUnhooked(id) && parentOf(pid) === at));
  for (const { pid: at } of above) {
    const own = sessions.filter(one => isOf(at, one)).map(({ id }) => id);
    if (own.length > 0) return own;
  }
  return [];
}

/** Returns the files that others have, of each the first lock. */
export async function heldFiles(
  client: Pick<Client, "request" | "daemon">,
  { top, files }: Staged,
  { sessions }: Committer,
): Promise<readonly Held[]> {
  const locks = (await rowsOf(client, "locks")).filter(
    ({ holder, resource, path, dir }) =>
      holder !== null &&
      resource !== true &&
      !sessions.has(holder.id) &&
      (path.startsWith(`${top}/`) || (dir === true && isWithin(top, path))),
  );
  const byPath = new Map(locks.map(row => [row.path, row]));
  const folders = locks.filter(({ dir }) => dir === true);
  return files.flatMap(path => {
    const row = byPath.get(path) ?? folders.find(folder => isWithin(path, folder.path));
    if (row === undefined || row.holder === null) return [];
    return [{ path, by: row.holder.name, isWriting: row.use === "writes", kind: row.kind }];
  });
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}
