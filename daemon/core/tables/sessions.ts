/**
 * Live sessions with their indexes: the only file that adds, removes, renames or suspends them, or names their agents.
 *
 * Invariants: names are unique in a project. A lookup by name, agent, prefix of an id, process or project visits only the
 * sessions that it returns.
 */

import type { Actor, Anchor, Retry } from "../frame/actors.ts";
import {
  addToSet,
  addToSorted,
  removeFromSet,
  removeFromSorted,
  SortedKeys,
  type SortedSets,
} from "../frame/collections.ts";
import type { Identified, Preimages, Rows } from "../frame/saved-rows.ts";

// Names of sessions, and who chose them.

/**
 * Who chose a name: a person, the client by `register`, or the client by the title that it shows, which may change. Kite
 * chooses if nobody else did.
 */
export type NameSource = "person" | "client" | "title" | "kite";

export interface Named {
  readonly name: string;
  readonly by: NameSource;
}

/** The name of an ended session, for its return. */
interface KeptName extends Named {
  readonly project: string;
}

/**
 * A number for each live session that rises with its work: what it declared, claimed, locked and wrote. While it stays the
 * same, what was made of that work is still right.
 *
 * Invariant: between two looks at a session whose work changed there is a change of its number. A replay may leave out
 * changes, since nobody looks meanwhile: `applyUnheard` does.
 */
export class Revisions {
  /** No number is given twice: a session that began again under its id has another one. */
  #last = 0;
  readonly #of = new Map<string, number>();

  begin(session: string): void {
    this.#last += 1;
    this.#of.set(session, this.#last);
  }

  end(session: string): void {
    this.#of.delete(session);
  }

  /** Notes that the work of a session changed; it may have ended long ago. */
  changed(session: string): void {
    if (this.#of.has(session)) this.begin(session);
  }

  of(session: string): number {
    return this.#of.get(session) ?? 0;
  }
}

/** Sort keys of sessions by their start. */
const digits = 11;

type Start = { readonly begun: number; readonly id: string };

/** Returns the session's key: keys are in the order in which their sessions began. */
function startKey({ begun, id }: Start): string {
  return `${begun.toString(36).padStart(digits, "0")} ${id}`;
}

/** Returns the id of the session that the key belongs to. */
export function idOfKey(key: string): string {
  return key.slice(digits + 1);
}

/** Returns the session's key among those of a project, or of another group: its start follows the name of the group. */
function placeKey(group: string, start: Start): string {
  return `${group}\n${startKey(start)}`;
}

// The index of sessions by the worktrees in which they work.

type Working = Start & { readonly worktree: string };

/** Sort keys of live sessions by the tops of their worktrees, each in the order they began. */
type Worktrees = SortedSets;

export function enterWorktree(worktrees: Worktrees, session: Working): void {
  addToSorted(worktrees, session.worktree, startKey(session));
}

export function leaveWorktree(worktrees: Worktrees, session: Working): void {
  removeFromSorted(worktrees, session.worktree, startKey(session));
}

/** Returns the innermost worktree around the path in which a session of the project works, or null. */
export function worktreeAround({ worktrees, live }: Sessions, project: string, path: string): string | null {
  for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
    const folder = path.slice(0, end);
    const latest = idOfKey(worktrees.get(folder)?.last ?? "");
    if (live.get(latest)?.project === project) return folder;
  }
  return null;
}

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
  /** derived: sort keys of those who are there, by project; see `sessions/room.ts`. */
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
  /** The names of the agents that ended, the latest last, to show their work and their trail; see `agents.ts`. */
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

// Sessions of a project one by one, while others may begin and end.

/** Yields the sessions of a project in the order they began, from the one that began with entry `begun`. */
export function* sessionsFrom(sessions: Sessions, project: string, begun: number): Generator<Session, void> {
  const first = placeKey(project, { begun, id: "" });
  for (
    let key = sessions.places.after(first);
    key?.startsWith(`${project}\n`);
    key = sessions.places.after(key)
  ) {
    const session = sessions.live.get(idOfKey(key.slice(project.length + 1)));
    if (session?.project === project) yield session;
  }
}

// Tables that other slices keep of live sessions. Each has a map for a session, and a snapshot has that map as a field of
// the session's row.
//
// Invariants: a map is a value, which a change replaces, and none is empty. The slice drops what it has of a session, or of
// an agent, at the point of its end.

/** By session id. */
export type SideTable<K, V> = Map<string, ReadonlyMap<K, V>>;

/** Returns what the table has of a session. */
export function allAt<K, V>(table: SideTable<K, V>, session: string): ReadonlyMap<K, V> {
  return table.get(session) ?? new Map();
}

export function setAt<K, V>(table: SideTable<K, V>, session: string, key: K, value: V): void {
  table.set(session, new Map(table.get(session)).set(key, value));
}

export function deleteAt<K, V>(table: SideTable<K, V>, session: string, key: K): void {
  const next = new Map(table.get(session));
  next.delete(key);
  replaceAt(table, session, next);
}

/** Replaces all that the table has of a session. */
export function replaceAt<K, V>(table: SideTable<K, V>, session: string, all: ReadonlyMap<K, V>): void {
  if (all.size === 0) table.delete(session);
  else table.set(session, all);
}

/** What a snapshot has of the table: `field` in the rows of sessions. `isAlways`: a session of which it has nothing says so. */
export function sideRows<K, V>(field: string, isAlways = false) {
  return {
    empty: (): SideTable<K, V> => new Map(),
    lists: {},
    parts: {
      sessions: {
        write(table: SideTable<K, V>) {
          const all = new Map(table);
          return ({ id }: Identified) => (isAlways || all.has(id) ? { [field]: [...allAt(all, id)] } : {});
        },
        read(table: SideTable<K, V>, row: Identified & { readonly [Field in string]: unknown }) {
          const { [field]: stored, ...rest } = row;
          replaceAt(table, row.id, new Map(stored as Iterable<readonly [K, V]> | undefined));
          return rest;
        },
      },
    },
  } satisfies Rows<SideTable<K, V>, unknown>;
}

// The log's commands for sessions, and for the agents within them.

export interface SessionBegin {
  readonly session: string;
  readonly anchor: Anchor | null;
  readonly cwd: string;
  readonly project: string;
  readonly worktree: string;
  readonly branch: string | null;
  readonly name: string | null;
  /** Who chose `name`; absent: the client, for good. */
  readonly named?: NameSource;
  /** Whether an id that ended within the last hour may begin again, also in a process that it had, or in none. */
  readonly revive: boolean;
  /** The record of the spawned agent that this session is, as its process says. */
  readonly spawn?: string;
  /** Its agent client, if its entries name one. */
  readonly client?: string;
  /** Wall time, to be shown to people. */
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** Gives a session a name that only a person replaces. */
interface SessionRename {
  /** Null: a person. */
  readonly by: Actor | null;
  /** Which, as recipients are named, in this project. */
  readonly of: string;
  readonly name: string;
  readonly project: string;
  readonly retry?: Retry;
}

/** Ends one incarnation, or with `incarnation: null` the whole session. */
export interface SessionEnd {
  readonly session: string;
  readonly incarnation: number | null;
  /** `begun` of the incarnation meant, so that the command does not end a later one of the same ordinal. */
  readonly begun?: number;
  readonly cause: "deregistered" | "ended" | "anchor_gone";
  readonly retry?: Retry;
}

/** A session without anchor sent no sign of life for `limits.silenceMs`, or one whose process says nothing of its life no turn. */
interface SessionLost {
  readonly session: string;
  /** `begun` of the session meant, so that the command does not touch a later one of the same id. */
  readonly begun: number;
  /** It had no turn for long, and its process may outlive it. */
  readonly isIdle?: true;
}

/** A lost session sent a sign of life. */
interface SessionFound {
  readonly session: string;
}

/** Suspends the session: its process may go on under another id and then inherits its explicit locks and tasks. */
interface SessionSuspend {
  readonly session: string;
}

/** An agent within a session begins; `name` is its client's name for it, or null if not known yet. */
export interface AgentBegin {
  readonly session: string;
  readonly agent: string;
  readonly name: string | null;
}

/** These commands by name. */
export interface SessionCommands {
  session_begin: SessionBegin;
  session_rename: SessionRename;
  session_end: SessionEnd;
  session_lost: SessionLost;
  session_found: SessionFound;
  session_suspend: SessionSuspend;
  agent_begin: AgentBegin;
}

export interface OfSession {
  readonly session: string;
  readonly begun: number;
}

/** The timers of sessions. */
export interface SessionDues {
  suspend_over: OfSession;
  lost_turns_over: OfSession;
  lost_leases_over: OfSession;
  lost_over: OfSession;
}
