/** Sessions and locks as `query` shows them. */

import { branchName, headWords } from "../../protocol/guard.ts";
import { limits } from "../../protocol/limits.ts";
import { isUnhooked } from "../../protocol/names.ts";
import type { ActorRow, LockRow } from "../../protocol/schemas/lock.ts";
import type { TranscriptRow, WorkedOn } from "../../protocol/schemas/session.ts";
import type { AgentRow, SessionRow } from "../../protocol/session-rows.ts";
import type { Actor, FileRef } from "../core/frame/actors.ts";
import { useOf, waitersOver } from "../core/locks/blockers.ts";
import { resourceLeaseOverAt } from "../core/locks/leases.ts";
import { holdsOf } from "../core/locks/release.ts";
import type { State } from "../core/state.ts";
import type { Hold, Session, Waiter } from "../core/tables/base-state.ts";
import { rowsOfSession } from "../core/tables/locks.ts";
import { actorRow, agentName, pathOf, tokenText } from "../core/tables/naming.ts";
import { idOfKey, sessionsFrom } from "../core/tables/sessions.ts";
import { claimerOf, type Task } from "../core/tables/tasks.ts";
import { claimsOf } from "../core/tasks/leave.ts";
import { declaredField } from "../core/work/overlaps.ts";
import { idIn, type Logs, logOfSession } from "../engine/log-view.ts";
import type { Services } from "../options.ts";
import { latestDialog, type Pulse } from "../sessions/presence.ts";
import { columnsOf } from "./columns.ts";
import type { Keyed, RowSource, RowsOf } from "./paging.ts";

/** Sessions in the order they began. */
export function* sessionRows(source: RowSource, of: RowsOf = {}): Generator<Keyed<SessionRow>, void> {
  for (const session of wantedSessions(source.engine.state, of)) {
    yield { place: session.begun, key: session.id, row: () => sessionRow(source, session) };
  }
}

/** The files in which clients keep what was said in live sessions, as far as events named them; none if titles are `off`. */
export function* transcriptRows(
  { engine, presence }: RowSource,
  titles: "client" | "prompt" | "off",
  of: RowsOf,
): Generator<Keyed<TranscriptRow>, void> {
  if (titles === "off") return;
  for (const { id, project, begun } of wantedSessions(engine.state, of)) {
    const transcript = presence.rows.get(id)?.transcript ?? null;
    if (transcript !== null)
      yield { place: begun, key: id, row: () => ({ id, project, transcript, titles }) };
  }
}

function wantedSessions({ sessions }: State, { id, project, from }: RowsOf): Iterable<Session> {
  if (id === undefined)
    return project === undefined ? sessions.live.values() : sessionsFrom(sessions, project, from?.place ?? 0);
  const one = sessions.live.get(id);
  return one === undefined || (project !== undefined && one.project !== project) ? [] : [one];
}

/** Returns the row of one session. */
export function sessionRow(source: RowSource, session: Session): SessionRow {
  const { engine, presence } = source;
  const { state, now } = engine;
  const seen = presence.of(session.id);
  const shares = lockShares(state, session.id);
  const own = shares.get(null) ?? noShare;
  const known = new Set([...session.agents.keys(), ...seen.agents.keys(), ...shares.keys()]);
  const agents = [...known].flatMap(agent => {
    if (agent === null) return [];
    const share = shares.get(agent) ?? noShare;
    // After a restart its activity is unknown: an agent that holds or awaits a lock counts as active.
    const active = seen.agents.get(agent)?.active ?? shares.has(agent);
    const name = agentName(state, session.id, agent);
    const status = active ? ("active" as const) : ("idle" as const);
    const declared = declaredField(state, { session: session.id, agent });
    const doing = doingField(seen.agents.get(agent)?.doing, now);
    const columns = columnsOf(source, session, agent);
    return [{ agent, name, status, ...share, ...doing, ...declared, ...columns }];
  });
  return {
    id: session.id,
    name: session.name,
    project: session.project,
    worktree: session.worktree,
    ...headOf(source, session),
    cwd: session.cwd,
    pid: session.incarnations.find(i => i.anchor !== null)?.anchor?.pid ?? null,
    ...(seen.isContained ? { container: true } : {}),
    ...(session.client === undefined ? {} : { client: session.client }),
    status: session.lostAt !== null ? "lost" : seen.active ? "active" : "idle",
    ...(isUnhooked(session.id) ? { advisory: true } : {}),
    registeredAt: session.registeredAt,
    lastSeenMs: Math.max(0, now - seen.seenAt),
    incarnations: session.incarnations.length,
    agents,
    files: [...seen.files.values()].slice(-limits.eventFilesMax),
    locks: own.locks,
    waitingFor: own.waitingFor,
    waitingForPath: own.waitingForPath,
    attention: latestDialog(seen)?.text ?? null,
    ...(seen.unplaced === null ? {} : { unplaced: seen.unplaced }),
    ...doingField(seen.doing, now),
    task: workedOn(engine, session.id)[0] ?? null,
    ...declaredField(state, { session: session.id, agent: null }),
    ...columnsOf(source, session, null),
  };
}

/** Where HEAD of its worktree is now, if somebody looked a moment ago; else where it was when the session registered. */
function headOf(
  { engine, facts }: RowSource,
  { worktree, branch }: Session,
): Pick<SessionRow, "branch" | "head"> {
  const place = facts?.heads.latest(worktree);
  if (place === undefined) return { branch };
  const isOnBranch = place.ref?.startsWith("refs/heads/") === true;
  const now = isOnBranch && place.ref !== null ? branchName(place.ref) : null;
  if (now !== null && place.operation === null) return { branch: now };
  const { operation } = engine.state.heads.rows.get(worktree) ?? {};
  const owner = operation?.kind === place.operation ? (operation?.name ?? null) : null;
  return { branch: now, head: `${headWords(place)}${owner === null ? "" : ` (of ${owner})`}` };
}

/** Looks at HEAD of the worktrees in which sessions of the project work, or of all projects. */
export async function lookAtHeads({ engine, facts }: Services, project: string | undefined): Promise<void> {
  const { worktrees, live } = engine.state.sessions;
  let left: number = limits.headsShownMax;
  for (const [worktree, keys] of worktrees) {
    const first = live.get(idOfKey(keys.last ?? ""));
    if (project !== undefined && first?.project !== project) continue;
    left -= 1;
    if (left < 0) return;
    const around = await facts.repository(worktree);
    if ("unreachable" in around || around.gitDir === null || around.worktree !== worktree) continue;
    await facts.heads.now({ worktree, gitDir: around.gitDir });
  }
}

function doingField(doing: Pulse["doing"] | undefined, now: number): Pick<AgentRow, "doing"> {
  if (doing === undefined || doing === null) return {};
  const { verb, what, at } = doing;
  return { doing: { verb, what, forMs: Math.max(0, now - at) } };
}

/** The locks that one agent of a session holds, and the first file that it waits for. */
interface LockShare {
  readonly locks: number;
  readonly waitingFor: string | null;
  readonly waitingForPath: string | null;
}

const noShare: LockShare = { locks: 0, waitingFor: null, waitingForPath: null };

/** By agent; null: the session's main agent, in all its terminals. */
function lockShares(state: State, session: string): Map<string | null, LockShare> {
  const shares = new Map<string | null, LockShare>();
  for (const { actor, holds, waits } of rowsOfSession(state.locks.actors, session, null)) {
    const before = shares.get(actor.agent) ?? noShare;
    let waited: FileRef | null = null;
    for (const ticket of waits) {
      const waiter = state.locks.waiters.get(ticket);
      if (waiter !== undefined && waiter.origin !== null) waited ??= waiter.files[0] ?? null;
    }
    shares.set(actor.agent, {
      locks: before.locks + holds.size,
      waitingFor: before.waitingFor ?? waited?.file ?? null,
      waitingForPath: before.waitingForPath ?? (waited === null ? null : pathOf(waited)),
    });
  }
  return shares;
}

/** Returns what a session, or one agent of it, works on: its claims, latest first. */
export function workedOn(logs: Logs, session: string, agent?: string | null): WorkedOn[] {
  return claimsBy(logs, session, agent).map(({ id, description }) => ({
    id,
    description: description.slice(0, limits.quoteChars),
  }));
}

/** Returns the same claims as tasks of the log that has them. */
export function claimsBy(logs: Logs, session: string, agent?: string | null): Task[] {
  // If nothing is shared, nothing more is looked at.
  const claims = logs.logs.length === 1 ? claimsOf(logs.state, session) : sharedClaims(logs, session);
  return claims
    .filter(task => agent === undefined || claimerOf(task)?.agent === agent)
    .sort((a, b) => b.updatedAt - a.updatedAt || b.n - a.n);
}

function sharedClaims(logs: Logs, session: string): Task[] {
  const log = logOfSession(logs, session);
  return claimsOf(log.state, idIn(log, session));
}

/** Positions of files with waiters only come after those of all grants. */
const waitingFrom = 2 ** 52;

/**
 * Yields locked files in the order in which their holders got them, then files that have waiters only. With a holder's `id`
 * it yields only locked files.
 */
export function* lockRows(source: RowSource, { id }: RowsOf = {}): Generator<Keyed<LockRow>, void> {
  const { state } = source.engine;
  for (const hold of id === undefined ? state.locks.holds.values() : holdsOfSession(state, id))
    yield { place: hold.place, key: hold.key, row: () => lockRow(source, hold, hold) };
  if (id !== undefined) return;
  for (const waiter of state.locks.waiters.values()) {
    for (const file of waiter.files) {
      const isFirst = state.locks.waitersAt.get(file.key)?.keys().next().value === waiter.ticket;
      const [held] = state.locks.heldPaths.overlapping(file.key, file.dir);
      const place = waitingFrom + waiter.ticket;
      if (isFirst && held === undefined)
        yield { place, key: file.key, row: () => lockRow(source, file, null) };
    }
  }
}

/** Yields the locks of a session and its agents, in the order in which they got them. */
function* holdsOfSession(state: State, session: string): Generator<Hold, void> {
  const held = rowsOfSession(state.locks.actors, session, null)
    .flatMap(row => holdsOf(state, row))
    // The locks of one request stay in its order: none of them moves without getting a later place.
    .sort((a, b) => a.place - b.place);
  // The reader may be interrupted, and a lock may go meanwhile, or come back in a later place.
  for (const { key, place } of held) {
    const hold = state.locks.holds.get(key);
    if (hold?.actor.session === session && hold.place === place) yield hold;
  }
}

function lockRow(source: RowSource, file: FileRef, hold: Hold | null): LockRow {
  const { state, now } = source.engine;
  const waiters: Waiter[] = state.locks.waiters.size === 0 ? [] : [...waitersOver(state.locks, file)];
  const [first] = waiters;
  const session = hold?.actor.session ?? first?.actor.session ?? "";
  const use = hold === null ? null : useOf(hold);
  const isResource = file.lexical.startsWith("@");
  const leaseOverAt = isResource && hold !== null ? resourceLeaseOverAt(hold) : null;
  return {
    file: file.file,
    path: pathOf(file),
    project: state.sessions.live.get(session)?.project ?? "",
    kind: hold?.kind ?? first?.kind ?? "explicit",
    holder: hold === null ? null : actorRowOf(source, hold.actor),
    token: hold === null ? null : tokenText(state, hold.token),
    heldMs: hold === null ? 0 : now - hold.since,
    ...(isResource ? { resource: true } : {}),
    ...(leaseOverAt === null ? {} : { leaseLeftMs: Math.max(0, leaseOverAt - now) }),
    ...(file.dir ? { dir: true } : {}),
    ...(use === null ? {} : { use }),
    waiters: waiters
      .sort((a, b) => a.ticket - b.ticket)
      .map(w => ({ ...actorRowOf(source, w.actor), waitedMs: now - w.since, attached: w.origin !== null })),
  };
}

/** Returns the actor's name for people: the session's name, then a slash and the agent's name. */
export function nameOf({ engine }: Pick<RowSource, "engine">, actor: Actor): string {
  return actorRow(engine.state, actor).name;
}

/** Returns the actor with its name for people. */
export function actorRowOf({ engine }: Pick<RowSource, "engine">, actor: Actor): ActorRow {
  return actorRow(engine.state, actor);
}
