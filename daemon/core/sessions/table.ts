/**
 * Live sessions with their indexes: the only file that adds, removes, renames or suspends them, or names their agents.
 *
 * Invariants: names are unique in a project; a lookup by name, agent, prefix of an id, process or project visits
 * only the sessions that it returns.
 */
import type { Anchor } from "../actor.ts";
import type { Preimages } from "../preimages.ts";
import { addToSet, removeFromSet } from "../sets.ts";
import { addToSorted, removeFromSorted, SortedKeys, type SortedSets } from "../sorted-keys.ts";
import type { KeptName, Named, NameSource } from "./name-source.ts";
import type { Revisions } from "./revisions.ts";
import { idOfKey, placeKey, startKey } from "./start-key.ts";
import { enterWorktree, leaveWorktree, type Worktrees } from "./worktrees.ts";

export interface Sessions {
  readonly preimages: Preimages;
  readonly live: Map<string, Session>;
  /** Ended ids, oldest first. */
  readonly ended: Map<string, Ended>;
  /** Ids of the sessions that make room for others, in that order; see `room.ts`. */
  readonly idle: Set<string>;
  /** Ids of the sessions that the present entry touched; empty between entries. */
  readonly touched: Set<string>;
  /** derived */
  readonly revisions: Revisions;
  /** The names of ended sessions by their ids, the latest last; see `names.ts`. */
  readonly keptNames: Map<string, KeptName>;
  /** derived: ids by `project\nname`, and these keys in order. */
  readonly names: Map<string, string>;
  readonly sortedNames: SortedKeys;
  /** derived: by base name, how many names `base-n` are taken, and a `from` below which no number is free. */
  readonly numbered: Map<string, { count: number; from: number }>;
  /** derived: sort keys by project and start, and by project and id. */
  readonly places: SortedKeys;
  /** derived: sort keys of those who are there, by project; see `present.ts`. */
  readonly present: SortedSets;
  readonly ids: SortedKeys;
  /** derived */
  readonly worktrees: Worktrees;
  /** derived: sort keys by project, an agent's name or id, and its session's start. */
  readonly agents: SortedKeys;
  /** derived: ids by the anchors of the sessions, and by their pids alone. */
  readonly byProcess: Map<string, Set<string>>;
  readonly byPid: Map<number, Set<string>>;
  /** derived: ids of suspended sessions by their anchors. */
  readonly suspended: Map<string, Set<string>>;
  /** derived: ids by node. */
  readonly byNode: Map<string, Set<string>>;
}

export interface Session {
  readonly id: string;
  readonly node: string;
  /** The `seq` of the entry that began it; a later session of the same id has another. */
  readonly begun: number;
  /** Wall time in milliseconds. */
  readonly registeredAt: number;
  readonly project: string;
  readonly worktree: string;
  readonly branch: string | null;
  readonly cwd: string;
  readonly name: string;
  readonly namedBy: NameSource;
  /** Its agent client, if its entries name one. */
  readonly client?: string | undefined;
  /** When the session was marked lost (core time, ms), or null. */
  readonly lostAt: number | null;
  /** Until when its process may continue it under another id (core time, ms), or null. */
  readonly suspendedUntil: number | null;
  /** The live incarnations, in the order they began; never empty. */
  readonly incarnations: readonly Incarnation[];
  /** The names of the agents within it, by agent id, in the order they began; `nameAgent` sets them. */
  readonly agents: ReadonlyMap<string, string>;
  /** The names of those that ended, the latest last, for where their work and their trail are shown; see `agents.ts`. */
  readonly endedAgents: ReadonlyMap<string, string>;
}

/** A session's end. */
export interface Ended {
  /** Core time in milliseconds. */
  readonly at: number;
  /** The session's processes at its end; null: not kept, as under rules level 1. */
  readonly anchors: readonly Anchor[] | null;
}

export interface Incarnation {
  readonly ordinal: number;
  /** The `seq` of the entry that began it, since a later incarnation may reuse the ordinal. */
  readonly begun: number;
  readonly anchor: Anchor | null;
}

export function noSessions(touched: Set<string>, preimages: Preimages, revisions: Revisions): Sessions {
  const [live, ended, names, numbered] = [new Map(), new Map(), new Map(), new Map()];
  const [byProcess, byPid, suspended] = [new Map(), new Map(), new Map()];
  const [places, ids, agents] = [new SortedKeys(), new SortedKeys(), new SortedKeys()];
  return {
    preimages,
    live,
    ended,
    idle: new Set(),
    touched,
    revisions,
    keptNames: new Map(),
    names,
    sortedNames: new SortedKeys(),
    numbered,
    places,
    present: new Map(),
    ids,
    worktrees: new Map(),
    agents,
    byProcess,
    byPid,
    suspended,
    byNode: new Map(),
  };
}

export function addSession(sessions: Sessions, session: Session): void {
  sessions.live.set(session.id, session);
  sessions.touched.add(session.id);
  sessions.revisions.begin(session.id);
  list(sessions, session);
  listPids(sessions, session);
  enterWorktree(sessions.worktrees, session);
  addToSet(sessions.byNode, session.node, session.id);
  if (session.suspendedUntil !== null) listProcesses(sessions.suspended, session);
}

export function removeSession(sessions: Sessions, session: Session): void {
  setSuspended(sessions, session, null);
  unlist(sessions, session);
  leavePresent(sessions, session);
  unlistPids(sessions, session);
  leaveWorktree(sessions.worktrees, session);
  removeFromSet(sessions.byNode, session.node, session.id);
  sessions.live.delete(session.id);
  sessions.revisions.end(session.id);
  sessions.idle.delete(session.id);
}

/** Moves a session to a project, under `wanted` or the next name that is free there. */
export function renameSession(sessions: Sessions, session: Session, project: string, wanted: Named): void {
  unlist(sessions, session);
  if (project !== session.project) leavePresent(sessions, session);
  const writable = sessions.preimages.writable(session);
  writable.project = project;
  writable.name = freeName(sessions, project, wanted.name);
  writable.namedBy = wanted.by;
  list(sessions, session);
}

/** Names the agent; it keeps its position among the agents of its session. */
export function nameAgent(sessions: Sessions, session: Session, agent: string, name: string): void {
  unlistAgent(sessions, session, agent);
  const writable = sessions.preimages.writable(session);
  writable.agents.set(agent, name);
  writable.endedAgents.delete(agent);
  listAgent(sessions, session, agent, name);
}

/** Keeps the names of agents that ended, at most `max` of a session. */
export function keepAgentNames(
  sessions: Sessions,
  session: Session,
  names: Iterable<readonly [agent: string, name: string]>,
  max: number,
): void {
  const { endedAgents } = sessions.preimages.writable(session);
  for (const [agent, name] of names) {
    endedAgents.delete(agent);
    endedAgents.set(agent, name);
  }
  for (const agent of endedAgents.keys()) {
    if (endedAgents.size <= max) return;
    endedAgents.delete(agent);
  }
}

export function removeAgent(sessions: Sessions, session: Session, agent: string): void {
  unlistAgent(sessions, session, agent);
  sessions.preimages.writable(session).agents.delete(agent);
}

/** Sets until when its process may continue the session under another id (core time, ms); null: it is not suspended. */
export function setSuspended(sessions: Sessions, session: Session, until: number | null): void {
  if (session.suspendedUntil !== null) unlistProcesses(sessions.suspended, session);
  sessions.preimages.writable(session).suspendedUntil = until;
  if (until !== null) listProcesses(sessions.suspended, session);
}

/** Replaces the session's incarnations. */
export function setIncarnations(
  sessions: Sessions,
  session: Session,
  incarnations: readonly Incarnation[],
): void {
  const until = session.suspendedUntil;
  setSuspended(sessions, session, null);
  unlistPids(sessions, session);
  sessions.preimages.writable(session).incarnations = incarnations;
  listPids(sessions, session);
  setSuspended(sessions, session, until);
}

/** Returns the oldest suspended session that this process may continue under another id. */
export function suspendedAt(sessions: Sessions, anchor: Anchor): Session | undefined {
  const ids = sessions.suspended.get(anchorKey(anchor)) ?? [];
  const waiting = [...ids].flatMap(id => sessions.live.get(id) ?? []);
  return waiting.sort((a, b) => a.begun - b.begun)[0];
}

/** Returns the sessions of this process, in the order they began. */
export function sessionsAt({ byProcess, live }: Sessions, anchor: Anchor): Session[] {
  const found = [...(byProcess.get(anchorKey(anchor)) ?? [])].flatMap(id => live.get(id) ?? []);
  return found.sort((a, b) => a.begun - b.begun);
}

/** Returns the session of a pid that began last: a process has several after its client cleared the conversation. */
export function latestAt({ byPid, live }: Sessions, pid: number): Session | undefined {
  let latest: Session | undefined;
  for (const id of byPid.get(pid) ?? []) {
    const session = live.get(id);
    if (session !== undefined && (latest === undefined || session.begun > latest.begun)) latest = session;
  }
  return latest;
}

/** Returns the number of sessions of this process. */
export function countAt({ byProcess }: Sessions, anchor: Anchor): number {
  return byProcess.get(anchorKey(anchor))?.size ?? 0;
}

/** Yields the sessions of a project, in the order they began. */
export function* sessionsOf(sessions: Sessions, project: string): Generator<Session, void> {
  yield* listed(sessions, sessions.places, project, "", idOfKey);
}

/** Yields the sessions of a project whose ids have this prefix, in the order of their ids. */
export function* sessionsAlike(
  sessions: Sessions,
  project: string,
  prefix: string,
): Generator<Session, void> {
  yield* listed(sessions, sessions.ids, project, prefix, id => id);
}

/** Yields the sessions of a project whose names have this prefix, in the order of their names. */
export function* sessionsNamedLike(
  sessions: Sessions,
  project: string,
  prefix: string,
): Generator<Session, void> {
  const from = nameKey(project, prefix);
  for (const key of sessions.sortedNames.from(from)) {
    if (!key.startsWith(from)) return;
    const session = sessions.live.get(sessions.names.get(key) ?? "");
    if (session !== undefined) yield session;
  }
}

/** Yields the sessions of a project with an agent of this name or id, in the order the sessions began. */
export function* sessionsWithAgent(
  sessions: Sessions,
  project: string,
  word: string,
): Generator<Session, void> {
  const prefix = `${project}\n${word}\n`;
  let last: Session | undefined;
  for (const key of sessions.agents.from(prefix)) {
    if (!key.startsWith(prefix)) return;
    const session = sessions.live.get(idOfKey(key.slice(prefix.length)).split("\n", 1)[0] ?? "");
    if (session?.project === project && session !== last) yield session;
    last = session;
  }
}

/** Returns `name`, or `name-2`, `name-3`... if other sessions of the project have it. */
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
  const { id, project, name, agents } = session;
  for (const [agent, called] of agents) listAgent(sessions, session, agent, called);
  sessions.names.set(nameKey(project, name), id);
  sessions.sortedNames.add(nameKey(project, name));
  sessions.places.add(placeKey(project, session));
  if (session.lostAt === null) enterPresent(sessions, session);
  sessions.ids.add(`${project}\n${id}`);
  const numbered = numberOf(project, name);
  if (numbered === null) return;
  const alike = sessions.numbered.get(numbered.of);
  if (alike === undefined) sessions.numbered.set(numbered.of, { count: 1, from: 2 });
  else alike.count += 1;
}

function unlist(sessions: Sessions, session: Session): void {
  const { id, project, name, agents } = session;
  for (const agent of agents.keys()) unlistAgent(sessions, session, agent);
  sessions.names.delete(nameKey(project, name));
  sessions.sortedNames.delete(nameKey(project, name));
  sessions.places.delete(placeKey(project, session));
  sessions.ids.delete(`${project}\n${id}`);
  const numbered = numberOf(project, name);
  const alike = numbered === null ? undefined : sessions.numbered.get(numbered.of);
  if (numbered === null || alike === undefined) return;
  alike.count -= 1;
  alike.from = Math.min(alike.from, numbered.n);
  if (alike.count === 0) sessions.numbered.delete(numbered.of);
}

/** Adds the session to the list of those who are there. */
export function enterPresent({ present }: Sessions, session: Session): void {
  addToSorted(present, session.project, startKey(session));
}

/** Takes the session off the list of those who are there. */
export function leavePresent({ present }: Sessions, session: Session): void {
  removeFromSorted(present, session.project, startKey(session));
}

function listAgent(sessions: Sessions, session: Session, agent: string, name: string): void {
  for (const word of [name, agent]) sessions.agents.add(agentKey(session, word, agent));
}

function unlistAgent(sessions: Sessions, session: Session, agent: string): void {
  const name = session.agents.get(agent);
  if (name === undefined) return;
  for (const word of [name, agent]) sessions.agents.delete(agentKey(session, word, agent));
}

function listPids({ byProcess, byPid }: Sessions, session: Session): void {
  listProcesses(byProcess, session);
  for (const { anchor } of session.incarnations) if (anchor !== null) addToSet(byPid, anchor.pid, session.id);
}

function unlistPids({ byProcess, byPid }: Sessions, session: Session): void {
  unlistProcesses(byProcess, session);
  for (const { anchor } of session.incarnations)
    if (anchor !== null) removeFromSet(byPid, anchor.pid, session.id);
}

function listProcesses(index: Map<string, Set<string>>, { id, incarnations }: Session): void {
  for (const { anchor } of incarnations) if (anchor !== null) addToSet(index, anchorKey(anchor), id);
}

function unlistProcesses(index: Map<string, Set<string>>, { id, incarnations }: Session): void {
  for (const { anchor } of incarnations) if (anchor !== null) removeFromSet(index, anchorKey(anchor), id);
}

/** Yields the sessions whose keys begin with `project` and `more`; `idOf` says whose id stands behind the project. */
function* listed(
  sessions: Sessions,
  keys: Sessions["ids"],
  project: string,
  more: string,
  idOf: (rest: string) => string,
): Generator<Session, void> {
  const prefix = `${project}\n${more}`;
  for (const key of keys.from(prefix)) {
    if (!key.startsWith(prefix)) return;
    const session = sessions.live.get(idOf(key.slice(project.length + 1)));
    if (session?.project === project) yield session;
  }
}

function agentKey(session: Session, word: string, agent: string): string {
  return `${placeKey(nameKey(session.project, word), session)}\n${agent}`;
}

/** Returns the base name and the number of `name-3`, or null. */
function numberOf(project: string, name: string): { readonly of: string; readonly n: number } | null {
  const [, base, digits] = /^(.*)-([1-9]\d{0,8})$/s.exec(name) ?? [];
  if (base === undefined || digits === undefined || digits === "1") return null;
  return { of: nameKey(project, base), n: Number(digits) };
}

function anchorKey({ pid, startTime }: Anchor): string {
  return `${pid} ${startTime}`;
}
