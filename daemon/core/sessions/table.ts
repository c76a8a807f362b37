/**
 * Live sessions with their indexes: the only file that adds, removes or renames them or their agents, or says until when
 * one waits for its process.
 *
 * Invariants: names are unique in a project; whom a name, an agent's name or id, the beginning of an id or a process
 * means, and who is of a project in the order they began, is found without a look at the others.
 */
import type { Anchor } from "../actor.ts";
import { addToSet, removeFromSet } from "../sets.ts";
import { SortedKeys } from "../sorted-keys.ts";

export interface Sessions {
  readonly live: Map<string, Session>;
  /** Ended ids with the time of their end, oldest first. */
  readonly ended: Map<string, number>;
  /** Those that make room for others, in the order in which they do; see `room.ts`. */
  readonly idle: Set<string>;
  /** Of which something came or went in the entry under way; empty between entries. */
  readonly touched: Set<string>;
  /** derived: names in use, as `project\nname`. */
  readonly names: Map<string, string>;
  /** derived: of names with a number behind them, by what they have in common: how many, and none below `from` is free. */
  readonly numbered: Map<string, { count: number; from: number }>;
  /** derived: by project and the order they began, and by project and id. */
  readonly places: SortedKeys;
  readonly ids: SortedKeys;
  /** derived: by project, an agent's name or id, and the order their sessions began. */
  readonly agents: SortedKeys;
  /** derived: by the processes that stand for them. */
  readonly byProcess: Map<string, Set<string>>;
  /** derived: those that wait for a process to go on under another id, by that process. */
  readonly suspended: Map<string, Set<string>>;
}

export interface Session {
  readonly id: string;
  readonly node: string;
  /** The entry that began it; a later session of the same id has another. */
  readonly begun: number;
  /** Wall time in milliseconds. */
  readonly registeredAt: number;
  project: string;
  worktree: string;
  branch: string | null;
  cwd: string;
  name: string;
  /** Since when nothing has been heard of it (core time), or null. */
  lostAt: number | null;
  /** Until when its process may come back under another id (core time), or null. */
  suspendedUntil: number | null;
  /** Those alive, in the order they began; never empty. */
  incarnations: Incarnation[];
  /** The names of the agents within it, by agent id, in the order they began; `nameAgent` sets them. */
  readonly agents: Map<string, string>;
}

export interface Incarnation {
  readonly ordinal: number;
  /** The entry that began it: ordinals come again. */
  readonly begun: number;
  readonly anchor: Anchor | null;
}

export function noSessions(touched: Set<string>): Sessions {
  const [live, ended, names, numbered] = [new Map(), new Map(), new Map(), new Map()];
  const [byProcess, suspended] = [new Map(), new Map()];
  const [places, ids, agents] = [new SortedKeys(), new SortedKeys(), new SortedKeys()];
  return {
    live,
    ended,
    idle: new Set(),
    touched,
    names,
    numbered,
    places,
    ids,
    agents,
    byProcess,
    suspended,
  };
}

export function addSession(sessions: Sessions, session: Session): void {
  sessions.live.set(session.id, session);
  sessions.touched.add(session.id);
  list(sessions, session);
  listProcesses(sessions.byProcess, session);
  if (session.suspendedUntil !== null) listProcesses(sessions.suspended, session);
}

export function removeSession(sessions: Sessions, session: Session): void {
  setSuspended(sessions, session, null);
  unlist(sessions, session);
  unlistProcesses(sessions.byProcess, session);
  sessions.live.delete(session.id);
  sessions.idle.delete(session.id);
}

/** Moves a session to a project, under `wanted` or the next name that is free there. */
export function renameSession(sessions: Sessions, session: Session, project: string, wanted: string): void {
  unlist(sessions, session);
  session.project = project;
  session.name = freeName(sessions, project, wanted);
  list(sessions, session);
}

/** The agent is called so from now on; it keeps its place among the others of its session. */
export function nameAgent(sessions: Sessions, session: Session, agent: string, name: string): void {
  unlistAgent(sessions, session, agent);
  session.agents.set(agent, name);
  listAgent(sessions, session, agent, name);
}

export function removeAgent(sessions: Sessions, session: Session, agent: string): void {
  unlistAgent(sessions, session, agent);
  session.agents.delete(agent);
}

/** Until when its process may come back under another id (core time), or null: it is not waited for. */
export function setSuspended(sessions: Sessions, session: Session, until: number | null): void {
  if (session.suspendedUntil !== null) unlistProcesses(sessions.suspended, session);
  session.suspendedUntil = until;
  if (until !== null) listProcesses(sessions.suspended, session);
}

/** Those of its processes that live, or began, from now on. */
export function setIncarnations(sessions: Sessions, session: Session, incarnations: Incarnation[]): void {
  const until = session.suspendedUntil;
  setSuspended(sessions, session, null);
  unlistProcesses(sessions.byProcess, session);
  session.incarnations = incarnations;
  listProcesses(sessions.byProcess, session);
  setSuspended(sessions, session, until);
}

/** The oldest session that waits for this process to go on under another id. */
export function suspendedAt(sessions: Sessions, anchor: Anchor): Session | undefined {
  const ids = sessions.suspended.get(anchorKey(anchor)) ?? [];
  const waiting = [...ids].flatMap(id => sessions.live.get(id) ?? []);
  return waiting.sort((a, b) => a.begun - b.begun)[0];
}

/** The sessions that this process stands for, in the order they began. */
export function sessionsAt({ byProcess, live }: Sessions, anchor: Anchor): Session[] {
  const found = [...(byProcess.get(anchorKey(anchor)) ?? [])].flatMap(id => live.get(id) ?? []);
  return found.sort((a, b) => a.begun - b.begun);
}

/** How many these are. */
export function countAt({ byProcess }: Sessions, anchor: Anchor): number {
  return byProcess.get(anchorKey(anchor))?.size ?? 0;
}

/** The sessions of a project, in the order they began. */
export function* sessionsOf(sessions: Sessions, project: string): Generator<Session, void> {
  yield* listed(sessions, sessions.places, project, "", placeDigits + 1);
}

/** The sessions of a project whose ids begin so, in the order of their ids. */
export function* sessionsAlike(
  sessions: Sessions,
  project: string,
  prefix: string,
): Generator<Session, void> {
  yield* listed(sessions, sessions.ids, project, prefix, 0);
}

/** The sessions of a project with an agent of this name or id, in the order the sessions began. */
export function* sessionsWithAgent(
  sessions: Sessions,
  project: string,
  word: string,
): Generator<Session, void> {
  const prefix = `${project}\n${word}\n`;
  let last: Session | undefined;
  for (const key of sessions.agents.from(prefix)) {
    if (!key.startsWith(prefix)) return;
    const session = sessions.live.get(key.slice(prefix.length + placeDigits + 1).split("\n", 1)[0] ?? "");
    if (session?.project === project && session !== last) yield session;
    last = session;
  }
}

/** `name`, or `name-2`, `name-3`... where others of the project have it. */
export function freeName(sessions: Sessions, project: string, name: string): string {
  if (!sessions.names.has(nameKey(project, name))) return name;
  const alike = sessions.numbered.get(nameKey(project, name));
  for (let n = alike?.from ?? 2; ; n += 1) {
    const candidate = `${name}-${n}`;
    if (sessions.names.has(nameKey(project, candidate))) continue;
    if (alike !== undefined) alike.from = n;
    return candidate;
  }
}

export function nameKey(project: string, name: string): string {
  return `${project}\n${name}`;
}

function list(sessions: Sessions, session: Session): void {
  const { id, project, name, begun, agents } = session;
  for (const [agent, called] of agents) listAgent(sessions, session, agent, called);
  sessions.names.set(nameKey(project, name), id);
  sessions.places.add(placeOf(project, begun, id));
  sessions.ids.add(`${project}\n${id}`);
  const numbered = numberOf(project, name);
  if (numbered === null) return;
  const alike = sessions.numbered.get(numbered.of);
  if (alike === undefined) sessions.numbered.set(numbered.of, { count: 1, from: 2 });
  else alike.count += 1;
}

function unlist(sessions: Sessions, session: Session): void {
  const { id, project, name, begun, agents } = session;
  for (const agent of agents.keys()) unlistAgent(sessions, session, agent);
  sessions.names.delete(nameKey(project, name));
  sessions.places.delete(placeOf(project, begun, id));
  sessions.ids.delete(`${project}\n${id}`);
  const numbered = numberOf(project, name);
  const alike = numbered === null ? undefined : sessions.numbered.get(numbered.of);
  if (numbered === null || alike === undefined) return;
  alike.count -= 1;
  alike.from = Math.min(alike.from, numbered.n);
  if (alike.count === 0) sessions.numbered.delete(numbered.of);
}

function listAgent(sessions: Sessions, session: Session, agent: string, name: string): void {
  for (const word of [name, agent]) sessions.agents.add(agentKey(session, word, agent));
}

function unlistAgent(sessions: Sessions, session: Session, agent: string): void {
  const name = session.agents.get(agent);
  if (name === undefined) return;
  for (const word of [name, agent]) sessions.agents.delete(agentKey(session, word, agent));
}

function listProcesses(index: Map<string, Set<string>>, { id, incarnations }: Session): void {
  for (const { anchor } of incarnations) if (anchor !== null) addToSet(index, anchorKey(anchor), id);
}

function unlistProcesses(index: Map<string, Set<string>>, { id, incarnations }: Session): void {
  for (const { anchor } of incarnations) if (anchor !== null) removeFromSet(index, anchorKey(anchor), id);
}

/** The sessions behind keys of the project that go on with `more`; between the project and the id stand so many characters. */
function* listed(
  sessions: Sessions,
  keys: Sessions["ids"],
  project: string,
  more: string,
  between: number,
): Generator<Session, void> {
  const prefix = `${project}\n${more}`;
  for (const key of keys.from(prefix)) {
    if (!key.startsWith(prefix)) return;
    const session = sessions.live.get(key.slice(project.length + 1 + between));
    if (session?.project === project) yield session;
  }
}

const placeDigits = 11;

function placeOf(project: string, begun: number, id: string): string {
  return `${project}\n${begun.toString(36).padStart(placeDigits, "0")}\n${id}`;
}

function agentKey({ project, begun, id }: Session, word: string, agent: string): string {
  return `${placeOf(nameKey(project, word), begun, id)}\n${agent}`;
}

/** What `name-3` is the third of. */
function numberOf(project: string, name: string): { readonly of: string; readonly n: number } | null {
  const [, base, digits] = /^(.*)-([1-9]\d{0,8})$/s.exec(name) ?? [];
  if (base === undefined || digits === undefined || digits === "1") return null;
  return { of: nameKey(project, base), n: Number(digits) };
}

function anchorKey({ pid, startTime }: Anchor): string {
  return `${pid} ${startTime}`;
}
