/**
 * Who is there on this machine, as rows of a shared project.
 *
 * Invariants: nothing is remembered of what the store heard before. A step compares, under the project's lock, the rows of this
 * node's sessions with what the machine's own log has. So an outage, a restart, an id that began anew and a store that was
 * restored are one case. No path and no process of this machine is in a row. What others see of agents and merges of this
 * machine is compared in the same way.
 */
import { limits } from "../../protocol/limits.ts";
import type { JsonValue } from "../../protocol/schemas/context.ts";
import { isSame } from "../core/frame/records.ts";
import { continueSession, hasAgent } from "../core/sessions/begin.ts";
import type { CoreEvent } from "../core/tables/entries.ts";
import { type PartRow, partKey } from "../core/tables/parts.ts";
import { type Session, type SessionBegin, setIncarnations } from "../core/tables/sessions.ts";
import { claimerOf } from "../core/tables/tasks.ts";
import { claimsOf, giveBack } from "../core/tasks/leave.ts";
import { dropPart, partRules, putPart, tellChanged } from "../core/work/shared-parts.ts";
import type { Copy, Done } from "./copy.ts";
import { idInCopy, nameInCopy } from "./rows.ts";

/** A session of this machine, as others may know it. */
export interface Present
  extends Pick<Session, "id" | "name" | "branch" | "client" | "registeredAt" | "agents" | "incarnations"> {
  /** The sessions that its process had before, the latest first: it takes over the claims and messages of one. */
  readonly before?: readonly string[] | undefined;
  /** What others have to know of its agents: see `Part` in the core. */
  readonly parts?: readonly PartValue[];
}

/** A part of an agent, or, without an agent, of the machine. */
export interface PartValue {
  readonly agent: string | null;
  readonly part: string;
  readonly told: JsonValue;
}

/**
 * Makes the rows of this node's sessions those that are present, by the core's own rules; returns what that told. `ofMachine`:
 * what others have to know of the machine itself. `isLeaving`: who is not present works on where this machine shares the project
 * no more.
 */
export function compareSessions(
  copy: Copy,
  present: Iterable<Present>,
  ofMachine: readonly PartValue[] = [],
  isLeaving = false,
): CoreEvent[] {
  const { names, state } = copy;
  const there = new Map([...present].map(one => [idInCopy(one.id, names), one]));
  const events: CoreEvent[] = [];
  const apply: Apply = ({ events: more }) => void events.push(...more);
  const isThere = (id: string) => there.get(id)?.registeredAt === state.sessions.live.get(id)?.registeredAt;
  for (const [id, one] of there) goOn(copy, id, one, isThere, apply);
  for (const id of [...(state.sessions.byNode.get(names.node) ?? [])]) {
    // A later session of the same id is another one.
    if (isThere(id)) continue;
    if (isLeaving) apply(freeClaims(copy, id));
    apply(endSession(copy, id));
  }
  for (const [id, one] of there) {
    begin(copy, id, one, apply);
    compareTerminals(copy, id, one, apply);
    compareAgents(copy, id, one, apply);
  }
  compareParts(copy, there, ofMachine, apply);
  return events;
}

/** Makes the parts of this node those that the machine's own log tells. What others say of its agents stays. */
function compareParts(
  copy: Copy,
  there: ReadonlyMap<string, Present>,
  ofMachine: readonly PartValue[],
  apply: Apply,
): void {
  const { names, state } = copy;
  const { node, machine, project } = names;
  const rules = partRules(state);
  const are = new Map<string, PartRow>();
  const add = (row: PartRow) => void are.set(partKey(row), row);
  for (const [session, { parts = [] }] of there)
    for (const told of parts)
      if (hasAgent(state.sessions, session, told.agent)) add({ project, node, session, ...told });
  for (const told of ofMachine) add({ project, node, machine, session: null, ...told });
  for (const key of [...(state.parts.byNode.get(node) ?? [])]) {
    const { session = null, part = "" } = state.parts.all.get(key) ?? {};
    const isOfOthers = session !== null && rules.has(part) && rules.get(part)?.tell === undefined;
    if (!are.has(key) && !isOfOthers) apply(copy.run((all, _, step) => dropPart(all, key, step)));
  }
  for (const [key, row] of are) {
    const known = state.parts.all.get(key);
    const isKnown = known?.machine === row.machine && isSame(known?.told, row.told);
    if (!isKnown) apply(copy.run((all, _, step) => putPart(all, row, step)));
  }
}

/** What was known of a machine that is gone is known no more. */
export function dropPartsOf(copy: Copy, node: string): CoreEvent[] {
  const keys = [...(copy.state.parts.byNode.get(node) ?? [])];
  if (keys.length === 0) return [];
  return copy
    .run((state, _, step) => {
      for (const key of keys) dropPart(state, key, step);
    })
    .events.slice();
}

/** Gives back what a session works on. It did not fail at that: it lives. */
function freeClaims(copy: Copy, session: string): Pick<Done, "events"> {
  return copy.run((state, _, step) => {
    for (const task of claimsOf(state, session)) {
      const wallMs = Math.max(task.updatedAt, state.t);
      const left = { by: claimerOf(task), wallMs, attempts: task.attempts };
      giveBack(state, task, "its machine shares the project no more", left, step);
    }
  });
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
  const sent = partsOfOthers(copy, from);
  apply(
    copy.run((state, meta, step) => continueSession(state, from, beginning(copy, session, one), meta, step)),
  );
  for (const row of sent) apply(copy.run((state, _, step) => putPart(state, { ...row, session }, step)));
}

/** Returns what others say of the session's main agent: its own log does not tell that anew. */
function partsOfOthers({ state }: Copy, session: string): readonly PartRow[] {
  const rows = [...(state.parts.bySession.get(session) ?? [])].flatMap(key => state.parts.all.get(key) ?? []);
  const rules = partRules(state);
  return rows.filter(({ agent, part }) => agent === null && rules.get(part)?.tell === undefined);
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
  if (known !== undefined) apply(copy.run((state, _, step) => tellChanged(state, session, step)));
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
