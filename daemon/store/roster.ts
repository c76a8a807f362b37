/**
 * Who is there on this machine, as rows of a shared project.
 *
 * Invariants: nothing is remembered of what the store heard before. A step compares, under the project's lock, the rows of this
 * node's sessions with what the machine's own log has. So an outage, a restart, an id that began anew and a store that was
 * restored are one case. No path and no process of this machine is in a row.
 */
import { limits } from "../../protocol/limits.ts";
import { continueSession } from "../core/sessions/begin.ts";
import type { CoreEvent } from "../core/tables/entries.ts";
import { type Session, type SessionBegin, setIncarnations } from "../core/tables/sessions.ts";
import type { Copy, Done } from "./copy.ts";
import { idInCopy, nameInCopy } from "./rows.ts";

/** A session of this machine, as others may know it. */
export interface Present
  extends Pick<Session, "id" | "name" | "branch" | "client" | "registeredAt" | "agents" | "incarnations"> {
  /** The sessions that its process had before, the latest first: it takes over the claims and messages of one. */
  readonly before?: readonly string[] | undefined;
}

/** Makes the rows of this node's sessions those that are present, by the core's own rules; returns what that told. */
export function compareSessions(copy: Copy, present: Iterable<Present>): CoreEvent[] {
  const { names, state } = copy;
  const there = new Map([...present].map(one => [idInCopy(one.id, names), one]));
  const events: CoreEvent[] = [];
  const apply: Apply = ({ events: more }) => void events.push(...more);
  const isThere = (id: string) => there.get(id)?.registeredAt === state.sessions.live.get(id)?.registeredAt;
  for (const [id, one] of there) goOn(copy, id, one, isThere, apply);
  for (const id of [...(state.sessions.byNode.get(names.node) ?? [])]) {
    // A later session of the same id is another one.
    if (!isThere(id)) apply(endSession(copy, id));
  }
  for (const [id, one] of there) {
    begin(copy, id, one, apply);
    compareTerminals(copy, id, one, apply);
    compareAgents(copy, id, one, apply);
  }
  return events;
}

/** Ends a session by the core's rule: its claims become free, and its unread messages return. */
export function endSession(copy: Copy, session: string): Done {
  return copy.apply({ type: "session_end", session, incarnation: null, cause: "ended" });
}

type Apply = (done: Pick<Done, "events">) => void;

/** Gives a session what the latest one has that its process had before, as far as the store knows. */
function goOn(
  copy: Copy,
  session: string,
  one: Present,
  isThere: (id: string) => boolean,
  apply: Apply,
): void {
  const { live } = copy.state.sessions;
  const from = one.before?.map(id => idInCopy(id, copy.names)).find(id => live.has(id) && !isThere(id));
  if (from === undefined || live.has(session)) return;
  apply(
    copy.run((state, meta, step) => continueSession(state, from, beginning(copy, session, one), meta, step)),
  );
}

function beginning({ names }: Copy, session: string, one: Present): SessionBegin {
  return {
    ...{ session, name: nameInCopy(one.name, names), project: names.project, branch: one.branch },
    ...{ wallMs: one.registeredAt, revive: true, anchor: null, cwd: "", worktree: "" },
    ...(one.client === undefined ? {} : { client: one.client }),
  };
}

function begin(copy: Copy, session: string, one: Present, apply: Apply): void {
  const { live } = copy.state.sessions;
  const known = live.get(session);
  const name = nameInCopy(one.name, copy.names);
  if (known?.name === name && known.branch === one.branch && known.client === one.client) return;
  // A further one would end another machine's.
  if (known === undefined && live.size >= limits.sessionsMax) return;
  apply(copy.apply({ type: "session_begin", ...beginning(copy, session, one) }));
}

/** A terminal that closed gives its claims back. One that opened is known by its number alone. */
function compareTerminals(copy: Copy, session: string, one: Present, apply: Apply): void {
  const known = copy.state.sessions.live.get(session);
  if (known === undefined) return;
  const are = new Set(one.incarnations.map(({ ordinal }) => ordinal));
  const had = new Set(known.incarnations.map(({ ordinal }) => ordinal));
  const more = [...are].filter(ordinal => !had.has(ordinal));
  if (more.length > 0) {
    const begun = copy.state.seq;
    const fresh = more.map(ordinal => ({ ordinal, begun, anchor: null }));
    setIncarnations(copy.state.sessions, known, [...known.incarnations, ...fresh]);
  }
  for (const incarnation of had)
    if (!are.has(incarnation))
      apply(copy.apply({ type: "session_end", session, incarnation, cause: "ended" }));
}

function compareAgents(copy: Copy, session: string, { agents }: Present, apply: Apply): void {
  const known = () => copy.state.sessions.live.get(session)?.agents ?? new Map<string, string>();
  for (const agent of [...known().keys()])
    if (!agents.has(agent))
      apply(copy.apply({ type: "agent_end", actor: { session, agent, incarnation: 0 } }));
  for (const [agent, name] of agents) {
    const begin = () => apply(copy.apply({ type: "agent_begin", session, agent, name }));
    if (known().get(agent) !== name) begin();
    const named = known().get(agent);
    if (named === undefined || named === name) continue;
    // An agent keeps its name, so this is a later one of the same id.
    apply(copy.apply({ type: "agent_end", actor: { session, agent, incarnation: 0 } }));
    begin();
  }
}
