/** The state as `query` shows it. */
import { limits } from "../protocol/limits.ts";
import type { ActorRow, LockRow } from "../protocol/lock.ts";
import type { SessionRow, WorkedOn } from "../protocol/session.ts";
import { rowsOfSession } from "./core/actors.ts";
import type { Actor, FileRef } from "./core/entry.ts";
import { waitersOver } from "./core/lock-blockers.ts";
import { actorRow, pathOf, tokenText } from "./core/lock-text.ts";
import type { Hold, Session, State, Waiter } from "./core/state.ts";
import { claimsOf } from "./core/task-claim.ts";
import { claimerOf } from "./core/task-table.ts";
import type { PresenceTable } from "./presence.ts";

/** What rows are made of. */
export interface RowSource {
  readonly engine: { readonly state: State; readonly now: number };
  readonly presence: PresenceTable;
}

/** A row with its place: rows come in the order of `place`, and `key` tells those of one place apart. */
export interface Keyed<Row> {
  readonly place: number;
  readonly key: string;
  /** Made when it is wanted: a page of a million locks makes a page of rows. */
  readonly row: () => Row;
}

export function* sessionRows({ engine, presence }: RowSource): Generator<Keyed<SessionRow>, void> {
  const { state, now } = engine;
  for (const session of state.sessions.live.values()) {
    yield { place: session.begun, key: session.id, row: () => sessionRow(state, session, presence, now) };
  }
}

function sessionRow(state: State, session: Session, presence: PresenceTable, now: number): SessionRow {
  const seen = presence.of(session.id);
  let locks = 0;
  let waitingFor: string | null = null;
  for (const row of rowsOfSession(state.locks.actors, session.id, null)) {
    locks += row.holds.size;
    for (const ticket of row.waits) {
      const waiter = state.locks.waiters.get(ticket);
      if (waiter !== undefined && waiter.origin !== null) waitingFor ??= waiter.files[0]?.file ?? null;
    }
  }
  const agents = [...seen.agents].map(([agent, a]) => ({
    agent,
    name: a.name ?? agent.slice(0, 8),
    status: a.active ? ("active" as const) : ("idle" as const),
  }));
  return {
    id: session.id,
    name: session.name,
    project: session.project,
    worktree: session.worktree,
    branch: session.branch,
    cwd: session.cwd,
    pid: session.incarnations.find(i => i.anchor !== null)?.anchor?.pid ?? null,
    status: session.lostAt !== null ? "lost" : seen.active ? "active" : "idle",
    registeredAt: session.registeredAt,
    lastSeenMs: Math.max(0, now - seen.seenAt),
    incarnations: session.incarnations.length,
    agents,
    files: [...seen.files.values()].slice(-limits.eventFilesMax),
    locks,
    waitingFor,
    attention: seen.attention?.text ?? null,
    task: workedOn(state, session.id)[0] ?? null,
  };
}

/** What a session works on, or one agent of it: its claims, the latest first. */
export function workedOn(state: State, session: string, agent?: string | null): WorkedOn[] {
  const claims = claimsOf(state, session).filter(
    task => agent === undefined || claimerOf(task)?.agent === agent,
  );
  return claims
    .sort((a, b) => b.updatedAt - a.updatedAt || b.n - a.n)
    .map(({ id, description }) => ({ id, description: description.slice(0, limits.quoteChars) }));
}

/** Places of files that are only waited for come after those of all grants. */
const waitingFrom = 2 ** 52;

/** Held files in the order they were taken, then files that are only waited for. */
export function* lockRows(source: RowSource): Generator<Keyed<LockRow>, void> {
  const { state } = source.engine;
  for (const hold of state.locks.holds.values())
    yield { place: hold.first.grant, key: hold.key, row: () => lockRow(source, hold, hold) };
  for (const waiter of state.locks.waiters.values()) {
    for (const file of waiter.files) {
      const isFirst = state.locks.waitersAt.get(file.key)?.values().next().value === waiter.ticket;
      const overHeld = !state.locks.heldPaths.overlapping(file.key, file.dir).next().done;
      const place = waitingFrom + waiter.ticket;
      if (isFirst && !overHeld) yield { place, key: file.key, row: () => lockRow(source, file, null) };
    }
  }
}

function lockRow(source: RowSource, file: FileRef, hold: Hold | null): LockRow {
  const { state, now } = source.engine;
  const waiters: Waiter[] = state.locks.waiters.size === 0 ? [] : [...waitersOver(state.locks, file)];
  const [first] = waiters;
  const session = hold?.actor.session ?? first?.actor.session ?? "";
  return {
    file: file.file,
    path: pathOf(file),
    project: state.sessions.live.get(session)?.project ?? "",
    kind: hold?.kind ?? first?.kind ?? "explicit",
    holder: hold === null ? null : actorRowOf(source, hold.actor),
    token: hold === null ? null : tokenText(state, hold.token),
    heldMs: hold === null ? 0 : now - hold.since,
    waiters: waiters
      .sort((a, b) => a.ticket - b.ticket)
      .map(w => ({ ...actorRowOf(source, w.actor), waitedMs: now - w.since, attached: w.origin !== null })),
  };
}

/** What people call an actor: its session's name, and its agent's behind a slash. */
export function nameOf(source: RowSource, actor: Actor): string {
  return actorRowOf(source, actor).name;
}

/** An actor under the name that people see. */
export function actorRowOf({ engine, presence }: RowSource, actor: Actor): ActorRow {
  const name = actor.agent === null ? null : presence.of(actor.session).agents.get(actor.agent)?.name;
  const row = actorRow(engine.state, actor);
  if (name === undefined || name === null) return row;
  return { ...row, name: `${row.name.slice(0, row.name.lastIndexOf("/"))}/${name}` };
}
