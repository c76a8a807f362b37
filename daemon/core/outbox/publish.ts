/** Leaves in the outbox what other nodes have to know of a session, and of the agents within it. */
import type { Actor } from "../frame/actors.ts";
import { isSame } from "../frame/records.ts";
import type { OutboxNumber, Relayable, Relayed } from "../nodes/commands.ts";
import { nodePartsOf, partsLevel, partsOf } from "../nodes/parts.ts";
import { sharedId } from "../nodes/shared-ids.ts";
import type { BaseState, Session } from "../tables/base-state.ts";
import { agentNow, sessionNow, traitsOf } from "./now.ts";
import {
  agentKey,
  type Outbox,
  type OutboxRow,
  outboxRecords,
  type PublishedAgent,
  type PublishedPart,
  type PublishedSession,
  partKey,
  placeOfNumber,
  publishedAgentRecords,
  publishedPartRecords,
  publishedSessionRecords,
  rowAtPlace,
} from "./table.ts";

/** Returns the id in the shared log of the incarnation that began with this entry, or null if it is not shared. */
export function sharedIdOf(outbox: Outbox, session: string, begun: number): string | null {
  return publishedSessionsOf(outbox, session).find(published => published.begun === begun)?.id ?? null;
}

/**
 * Yields the commands that relay what waits behind `sent`, in order: the shared log applies each once, however often it gets
 * them. The cost grows with these rows, and not with those before them.
 */
export function* relaysOf(
  outbox: Outbox,
  sent?: OutboxNumber,
): Generator<{ readonly type: "relayed" } & Relayed, void> {
  const { places } = outbox;
  let place = sent === undefined ? places.first : places.after(placeOfNumber(sent));
  const before = place === undefined ? undefined : places.before(place);
  let after = before === undefined ? undefined : rowAtPlace(outbox, before)?.number;
  while (place !== undefined) {
    const row = rowAtPlace(outbox, place);
    if (row === undefined) return;
    const { number, command } = row;
    yield { type: "relayed", number, command, ...(after === undefined ? {} : { after }) };
    after = number;
    place = places.after(place);
  }
}

/** Publishes a session's state to the other nodes. Each incarnation is published as a session. */
export function publish(state: BaseState, session: Session): void {
  if (state.outbox.node === "") return;
  publishOf(state, session, false);
  keepShort(state);
}

/** Publishes the end of a session, which is still among the live ones. */
export function publishEnd(state: BaseState, session: string, cause: string): void {
  for (const published of publishedSessionsOf(state.outbox, session)) withdraw(state, published, cause);
  keepShort(state, session);
}

/** Publishes the state of an actor's session, if the session is alive. */
export function publishActor(state: BaseState, id: string): void {
  const session = state.sessions.live.get(id);
  if (session !== undefined) publish(state, session);
}

/** Publishes a part of an actor. The other nodes have one such part for a session, however many terminals it has. */
export function publishPart(state: BaseState, session: string, agent: string | null, part: string): void {
  const id = firstIdOf(state, session);
  if (id === null || state.outbox.level < partsLevel) return;
  sayPart(state, { session, id, agent, part });
  keepShort(state);
}

/** Publishes a part of this node if it differs from what was published last. `isAnew`: also if it does not differ. */
export function publishNodePart(state: BaseState, part: string, isAnew = false): void {
  const { outbox } = state;
  if (outbox.node === "" || outbox.level < partsLevel) return;
  const value = new Map(nodePartsOf(state)).get(part)?.tell(state) ?? null;
  const publishedValue = outbox.nodeParts.get(part) ?? null;
  if (isSame(value, publishedValue) && (value === null || !isAnew)) return;
  if (value === null) outbox.nodeParts.delete(part);
  else outbox.nodeParts.set(part, value);
  say(state, `\n\n${part}`, { type: "node_part", part, value });
}

/**
 * Publishes an event once. False: the shared log does not take such rows. A caller that can publish a state does that
 * instead.
 */
export function publishOnce(state: BaseState, command: Relayable): boolean {
  const { outbox } = state;
  if (outbox.node === "" || outbox.level < partsLevel) return false;
  const number = nextNumber(state);
  outboxRecords.put(outbox, { number, key: null, command, isOnce: true });
  const over = onceIn(outbox).length - outbox.limits.outboxOnceMax;
  if (over > 0) outboxRecords.dropAll(outbox, onceIn(outbox).slice(0, over));
  keepShort(state);
  return true;
}

/** Returns the events that the shared log has not confirmed. */
export function unsentEvents(outbox: Outbox): Relayable[] {
  return onceIn(outbox).flatMap(id => outbox.rows.get(id)?.command ?? []);
}

/** Returns the ids of the rows that have events, the oldest first. */
function onceIn({ once }: Outbox): string[] {
  return [...(once.get("once") ?? [])];
}

/** Returns who an actor of this log is in the shared one; null: it is not shared, or a person. */
export function sharedActorOf(state: BaseState, actor: Actor | null): Actor | null {
  if (actor === null) return null;
  const { session, agent, incarnation } = actor;
  const known = state.sessions.live.get(session)?.incarnations;
  const one = known?.find(({ ordinal }) => ordinal === incarnation) ?? known?.[0];
  const id = one === undefined ? null : sharedIdOf(state.outbox, session, one.begun);
  return id === null ? null : { session: id, agent, incarnation: 0 };
}

/** Publishes the end of an agent within the session. */
export function publishAgentEnd(state: BaseState, session: string, agent: string, isStopped: boolean): void {
  const { outbox } = state;
  for (const { id } of publishedSessionsOf(outbox, session)) {
    const publishedAgent = outbox.agents.get(agentKey({ id, agent }));
    if (publishedAgent === undefined) continue;
    publishedAgentRecords.drop(outbox, publishedAgent);
    const stopped = isStopped ? ({ stopped: true } as const) : {};
    const actor = { session: id, agent, incarnation: 0 };
    say(state, agentKey(publishedAgent), { type: "agent_end", actor, ...stopped });
  }
  keepShort(state);
}

/** Publishes that the session goes on under the id `to`, which begins with this entry. */
export function publishMove(state: BaseState, from: string, to: string): void {
  const { outbox } = state;
  const [first, ...others] = publishedSessionsOf(outbox, from);
  if (first === undefined) return;
  const [oldest = first.id, ...more] = idsBefore(outbox, first);
  for (const published of others) forget(outbox, published);
  const also = [...more, ...others.map(({ id }) => id)];
  const number = nextNumber(state);
  // The process that goes on is there.
  const { id: _id, session: _from, begun: _begun, traits: _traits, isLost: _isLost, ...same } = first;
  const id = sharedId(to, outbox.node, number);
  forget(outbox, first);
  const fields = { ...same, ...traitsOf(state, to, null) };
  publishedSessionRecords.put(outbox, { id, session: to, begun: state.seq, ...fields });
  const where = { cwd: "", worktree: "", wallMs: state.t };
  const begun = { from: oldest, ...(also.length === 0 ? {} : { also }), session: id };
  putRow(outbox, {
    number,
    key: moveKey(id),
    command: { type: "session_continue", ...begun, ...fields, ...where },
  });
  sayParts(state, to, id);
}

/**
 * Returns the ids under which the shared log may have this published session. A row that waits may say that the session went
 * on under its present id. This drops that row and all others of the id, because the next move says both. Of many such moves
 * the shared log has seen at most the oldest.
 */
function idsBefore(outbox: Outbox, { id }: PublishedSession): string[] {
  const row = rowAt(outbox, moveKey(id));
  if (row?.command.type !== "session_continue") return [id];
  const { from, also = [] } = row.command;
  outboxRecords.dropAll(
    outbox,
    [id, moveKey(id)].flatMap(key => outbox.byKey.get(key) ?? []),
  );
  return [from, ...also, id].slice(0, idsBeforeMax);
}

const idsBeforeMax = 16;

/** The key of the row by which a session goes on under this id: no id begins so. */
function moveKey(id: string): string {
  return `\n${id}`;
}

/**
 * Publishes all sessions anew, and that there are no others. A start does so: a power cut may have taken the latest entries
 * of the node's log after the shared log got their rows. `ending`: the session that this entry ends.
 */
export function publishAll(state: BaseState, ending: string | null = null): void {
  const { outbox, sessions } = state;
  if (outbox.node === "") return;
  // Other moves go: the sessions that they began from end with those that are named no more.
  const moves = [...outbox.sessions.keys()].flatMap(id => rowAt(outbox, moveKey(id)) ?? []);
  const again = [...outbox.rows].filter(([, { isOnce }]) => isOnce !== true);
  outboxRecords.dropAll(
    outbox,
    again.map(([id]) => id),
  );
  for (const { key, command } of moves) say(state, key, command);
  for (const session of sessions.live.values()) if (session.id !== ending) publishOf(state, session, true);
  for (const [part] of nodePartsOf(state)) publishNodePart(state, part, true);
  const agents = [...outbox.agentsOf.keys()].map(id => [id, agentsAt(outbox, id)] as const);
  const parts = [...outbox.parts.values()].map(({ id, agent, part }) => [id, agent, part] as const);
  const all: Relayable = {
    type: "node_sessions_are",
    ...{ sessions: [...outbox.sessions.keys()], agents },
    ...(outbox.level < partsLevel ? {} : { parts }),
    ...(outbox.level < partsLevel ? {} : { nodeParts: [...outbox.nodeParts.keys()] }),
  };
  outboxRecords.put(outbox, { number: nextNumber(state), key: null, command: all });
}

/** `isAnew`: also what is published already. */
function publishOf(state: BaseState, session: Session, isAnew: boolean): void {
  const { outbox } = state;
  const project = outbox.projects.get(session.project);
  const known = new Map(
    publishedSessionsOf(outbox, session.id).map(published => [published.begun, published]),
  );
  const wasTold = known.size > 0;
  const { last } = outbox;
  for (const { begun } of project === undefined ? [] : session.incarnations) {
    const id = publishOne(state, session, { project, begun, published: known.get(begun), isAnew });
    for (const agent of session.agents.keys())
      publishAgent(state, agentNow(state, session, id, agent), isAnew);
    known.delete(begun);
  }
  for (const published of known.values()) withdraw(state, published, "ended");
  const id = firstIdOf(state, session.id);
  if (id === null) return;
  if (isAnew || !wasTold || known.size > 0) sayParts(state, session.id, id);
  else if (outbox.last !== last) sayBehind(state, outbox.partsOf.get(id));
}

interface Incarnated {
  readonly project: string | undefined;
  readonly begun: number;
  readonly published: PublishedSession | undefined;
  readonly isAnew: boolean;
}

/**
 * Publishes an incarnation and returns its id. The order of the rows tells the last state of a session, so the id of an
 * ended one may begin again.
 */
function publishOne(
  state: BaseState,
  session: Session,
  { project = "", begun, published, isAnew }: Incarnated,
): string {
  const { outbox } = state;
  if (
    published !== undefined &&
    !isAnew &&
    isSame(published, sessionNow(state, session, { ...published, project }))
  )
    return published.id;
  const number = nextNumber(state);
  const id = published?.id ?? sharedId(session.id, outbox.node, number);
  const now = sessionNow(state, session, { id, begun, project });
  publishedSessionRecords.put(outbox, now);
  const { session: _own, id: _id, begun: _begun, ...fields } = now;
  const where = { anchor: null, cwd: "", worktree: "", revive: true } as const;
  const command = {
    type: "session_begin",
    session: id,
    ...fields,
    ...where,
    wallMs: session.registeredAt,
  } as const;
  putRow(outbox, { number, key: id, command });
  // The session's row now follows those of its agents, so these have to go after it.
  sayBehind(state, outbox.agentsOf.get(id));
  return id;
}

/** Rows with these keys that wait go behind the others. */
function sayBehind(state: BaseState, keys: Iterable<string> = []): void {
  for (const key of keys) {
    const row = rowAt(state.outbox, key);
    if (row !== undefined) say(state, row.key, row.command);
  }
}

/** Publishes all parts of the session's actors, under the session's id in the shared log. */
function sayParts(state: BaseState, session: string, id: string): void {
  if (state.outbox.level < partsLevel) return;
  for (const [part, rules] of partsOf(state))
    for (const agent of rules.agentsWith(state, session)) sayPart(state, { session, id, agent, part });
}

function sayPart(
  state: BaseState,
  { session, ...publishedPart }: PublishedPart & { readonly session: string },
): void {
  const { outbox } = state;
  const { id, agent, part } = publishedPart;
  const rules = new Map(partsOf(state)).get(part);
  const value = rules?.tell(state, session, agent) ?? null;
  const key = partKey(publishedPart);
  if (value === null && !outbox.parts.has(key)) return;
  if (value === null) publishedPartRecords.dropAll(outbox, [key]);
  else publishedPartRecords.put(outbox, publishedPart);
  say(state, key, { type: "actor_part", session: id, agent, part, value });
}

/** Returns the id under which others know the parts of a session, or null if they do not know it. */
function firstIdOf({ sessions, outbox }: BaseState, session: string): string | null {
  const [first] = sessions.live.get(session)?.incarnations ?? [];
  return first === undefined ? null : sharedIdOf(outbox, session, first.begun);
}

function publishAgent(state: BaseState, now: PublishedAgent, isAnew: boolean): void {
  const { outbox } = state;
  const { id: session, ...fields } = now;
  const key = agentKey(now);
  const publishedAgent = outbox.agents.get(key);
  if (publishedAgent !== undefined && !isAnew && isSame(publishedAgent, now)) return;
  publishedAgentRecords.put(outbox, now);
  say(state, key, { type: "agent_begin", session, ...fields });
}

function withdraw(state: BaseState, published: PublishedSession, cause: string): void {
  const { outbox } = state;
  const { id } = published;
  forget(outbox, published);
  const why = cause === "deregistered" || cause === "anchor_gone" ? cause : "ended";
  say(state, id, { type: "session_end", session: id, incarnation: null, cause: why });
}

/** Forgets what was published of an incarnation, and of the agents and parts within it. Their waiting rows go, too. */
function forget(outbox: Outbox, published: PublishedSession): void {
  const { id } = published;
  publishedSessionRecords.drop(outbox, published);
  const keys = [...(outbox.agentsOf.get(id) ?? []), ...(outbox.partsOf.get(id) ?? [])];
  publishedAgentRecords.dropAll(outbox, keys);
  publishedPartRecords.dropAll(outbox, keys);
  outboxRecords.dropAll(
    outbox,
    keys.flatMap(key => outbox.byKey.get(key) ?? []),
  );
}

/** Returns the agents that are published within this incarnation. */
function agentsAt({ agents, agentsOf }: Outbox, id: string): string[] {
  return [...(agentsOf.get(id) ?? [])].flatMap(key => agents.get(key)?.agent ?? []);
}

function publishedSessionsOf({ bySession, sessions }: Outbox, session: string): PublishedSession[] {
  return [...(bySession.get(session) ?? [])].flatMap(id => sessions.get(id) ?? []);
}

/**
 * Returns the next number. Its epoch rises from start to start, also if an older copy of the home was put back, whose log
 * counts starts anew. The clock has then gone on by more milliseconds than there were starts. If the clock was set back, the
 * epoch rises by the count of starts, which a power cut does not take back.
 */
function nextNumber({ outbox, nodes }: BaseState): OutboxNumber {
  // A node's own log has one node.
  const start = [...nodes.values()].at(-1) ?? { epoch: 0, at: 0 };
  const { epoch, n } = outbox.last;
  outbox.last =
    outbox.start === start.epoch
      ? { epoch, n: n + 1 }
      : { epoch: Math.max(start.at, epoch) + start.epoch, n: 1 };
  outbox.start = start.epoch;
  return outbox.last;
}

/** Adds the command as the last row, in the place of the one with its key. */
function say(state: BaseState, key: string | null, command: Relayable): void {
  putRow(state.outbox, { number: nextNumber(state), key, command });
}

function putRow(outbox: Outbox, row: OutboxRow): void {
  const before = row.key === null ? undefined : rowAt(outbox, row.key);
  if (before !== undefined) outboxRecords.drop(outbox, before);
  outboxRecords.put(outbox, row);
}

/** Returns the row that waits under this key. */
function rowAt({ rows, byKey }: Outbox, key: string): OutboxRow | undefined {
  return rows.get(byKey.get(key) ?? "");
}

/** If there are too many rows, keeps only those that publish the live sessions. */
function keepShort(state: BaseState, ending: string | null = null): void {
  const { outbox } = state;
  const once = outbox.once.get("once")?.size ?? 0;
  const least = 2 * outbox.sessions.size + outbox.agents.size + outbox.parts.size + once + 1;
  if (outbox.rows.size > Math.max(outbox.limits.outboxMax, 2 * least)) publishAll(state, ending);
}

/** Forgets all that is published, as if this node were new. */
export function forgetPublished({ outbox }: BaseState): void {
  outboxRecords.dropAll(outbox, outbox.rows.keys());
  publishedSessionRecords.dropAll(outbox, outbox.sessions.keys());
  publishedAgentRecords.dropAll(outbox, outbox.agents.keys());
  publishedPartRecords.dropAll(outbox, outbox.parts.keys());
  outbox.nodeParts.clear();
}
