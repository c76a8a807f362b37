/**
 * What each session works on, as it is compared with the work of others and told to them. Made when somebody asks, and
 * again only after it changed: a prompt and a start look at many sessions, of which few changed since the last look.
 */
import { createHash } from "node:crypto";
import { limits } from "../../protocol/limits.ts";
import { holdAt } from "../core/locks/blockers.ts";
import type { Hold, Session } from "../core/tables/base-state.ts";
import { declarationsOf } from "../core/tables/declarations.ts";
import { type ActorLocks, rowsOfSession } from "../core/tables/locks.ts";
import { pathOf } from "../core/tables/naming.ts";
import { pathOfWork } from "../core/work/dirty-files.ts";
import { type Logs, logOfSession } from "../engine/log-view.ts";
import { least } from "../least.ts";
import type { RowSource } from "../views/row.ts";
import { workedOn } from "../views/sessions-and-locks.ts";
import { keptBy } from "./lasting-locks.ts";

export class SessionWorks {
  readonly #known = new WeakMap<Session, { readonly revision: string; readonly work: SessionWork }>();

  /** The session's work as it is now; to be read before the next entry. */
  of(source: RowSource, session: Session): SessionWork {
    const revision = revisionOf(source, session);
    const known = this.#known.get(session);
    if (known?.revision === revision) return known.work;
    const work = new SessionWork(source, session);
    this.#known.set(session, { revision, work });
    return work;
  }
}

/** Another text after each change of what `SessionWork` is made from. */
function revisionOf({ engine, presence }: RowSource, { id, worktree, branch }: Session): string {
  const touched = presence.rows.get(id)?.filesRevision ?? 0;
  const own = engine.state.sessions.revisions.of(id);
  return `${own} ${sharedTask(engine, id)} ${touched} ${branch ?? ""} ${worktree}`;
}

/** The task that the session claimed last, if a shared log has it: its own log does not count that as a change. */
function sharedTask(logs: Logs, id: string): string {
  return logOfSession(logs, id).state === logs.state ? "" : (workedOn(logs, id)[0]?.id ?? "");
}

class SessionWork {
  readonly #source: RowSource;
  readonly #session: Session;
  #holds: readonly Hold[] | null = null;
  #paths: readonly string[] | null = null;
  #folders: ReadonlyMap<string, readonly string[]> | null = null;
  #mark: string | null | undefined;

  constructor(source: RowSource, session: Session) {
    this.#source = source;
    this.#session = session;
  }

  /** The latest locks of the session and its agents, the latest first; at most `limits.glanceLocksMax`. */
  get holds(): readonly Hold[] {
    this.#holds ??= latestHolds(this.#source, this.#session.id);
    return this.#holds;
  }

  /** The files that it holds, declared, changed or touched, within its worktree; directories end with a slash. */
  get paths(): readonly string[] {
    this.#paths ??= pathsOf(this.#source, this.#session, this.holds);
    return this.#paths;
  }

  /** The paths by their folders, each path once. */
  get folders(): ReadonlyMap<string, readonly string[]> {
    this.#folders ??= byFolder(this.paths);
    return this.#folders;
  }

  /** Differs after it declared, claimed, kept locked something else, or moved; null: it does nothing of that. */
  get mark(): string | null {
    if (this.#mark === undefined) this.#mark = markOf(this.#source, this.#session);
    return this.#mark;
  }
}

function latestHolds({ engine: { state } }: RowSource, session: string): Hold[] {
  const latest: Hold[] = [];
  for (const { holds } of rowsOfSession(state.locks.actors, session, null)) {
    for (const key of holds.latest(limits.glanceLocksMax)) latest.push(holdAt(state.locks, key));
  }
  return latest.sort((a, b) => b.first.grant - a.first.grant).slice(0, limits.glanceLocksMax);
}

/**
 * The keys of the latest locks that the session and its agents keep, sorted; at most `limits.glanceLocksMax`. Locks that
 * end with a turn do not push them out, and a lock that its keeper lent still counts.
 */
function keptKeys({ engine: { state } }: RowSource, session: string): string[] {
  const kept = new Map<string, number>();
  for (const row of rowsOfSession(state.locks.actors, session, null)) {
    for (const key of lastingKeys(row)) {
      const keeper = keptBy(holdAt(state.locks, key));
      if (keeper !== null) kept.set(key, keeper.first.grant);
    }
  }
  // Locks of one request have one grant: the key tells them apart, so that the same ones are chosen each time.
  const latest = least(kept, limits.glanceLocksMax, (a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  return latest.map(([key]) => key).sort();
}

/** The keys of an agent's locks that the end of its turn does not end, and of those that it lent. */
function* lastingKeys({ holds, turnHolds, lent }: ActorLocks): Generator<string, void> {
  if (holds.size > turnHolds.size)
    for (const key of holds.latest(limits.keptLooksMax)) if (!turnHolds.has(key)) yield key;
  let left: number = limits.keptLooksMax;
  for (const key of lent) {
    if (left === 0) return;
    left -= 1;
    yield key;
  }
}

function pathsOf({ engine, presence }: RowSource, session: Session, holds: readonly Hold[]): string[] {
  const { state } = engine;
  const max = limits.nearFilesMax;
  const held = holds.map(hold => withSlash(pathOf(hold), hold.dir));
  const declared = declarationsOf(state.declarations, session.id).flatMap(({ files }) =>
    files.slice(0, max).map(({ path, dir }) => withSlash(path, dir)),
  );
  const dirty = [...(state.writes.byWriter.get(session.id) ?? [])].slice(-max).flatMap(key => {
    const work = state.writes.files.get(key);
    return work === undefined ? [] : [pathOfWork(work)];
  });
  const touched = [...(presence.rows.get(session.id)?.files.values() ?? [])].slice(-max);
  return [...held, ...declared, ...dirty, ...touched].map(path => within(session, path));
}

function markOf(source: RowSource, session: Session): string | null {
  const { id, branch, worktree } = session;
  const { state } = source.engine;
  const declared = declarationsOf(state.declarations, id).map(({ agent, role, task, files }) => [
    agent,
    role,
    task,
    files.map(({ path }) => path),
  ]);
  const kept = keptKeys(source, id);
  const [claimed] = workedOn(source.engine, id);
  if (declared.length === 0 && kept.length === 0 && claimed === undefined) return null;
  const all = [branch, worktree, declared, claimed?.id ?? null, kept];
  return createHash("sha1").update(JSON.stringify(all)).digest("base64").slice(0, 12);
}

function byFolder(paths: readonly string[]): Map<string, string[]> {
  const folders = new Map<string, string[]>();
  for (const path of new Set(paths)) {
    const folder = folderOf(path);
    const known = folders.get(folder);
    if (known === undefined) folders.set(folder, [path]);
    else known.push(path);
  }
  return folders;
}

/** The directory of a file, or the directory itself; empty: the top of the worktree. */
export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}

/** The path within the session's worktree, if it is in it. */
export function within({ worktree }: Session, path: string): string {
  const top = withSlash(worktree, true);
  return path.startsWith(top) ? path.slice(top.length) : path;
}

export function withSlash(path: string, isDirectory: boolean): string {
  return isDirectory && !path.endsWith("/") ? `${path}/` : path;
}
