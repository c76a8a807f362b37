/** The invariants of sessions; part of `check`. */
import type { BaseState } from "../base-state.ts";
import { Preimages } from "../preimages.ts";
import { isSame } from "../same-index.ts";
import { isPresent } from "./present.ts";
import { Revisions } from "./revisions.ts";
import { isIdle } from "./room.ts";
import { addSession, enterPresent, nameKey, noSessions, type Sessions } from "./table.ts";

/** Yields one sentence per broken invariant. */
export function* checkSessions(state: BaseState): Generator<string> {
  const names = new Set<string>();
  for (const session of state.sessions.live.values()) {
    if (session.incarnations.length === 0) yield `session ${session.id} has no incarnation`;
    if (new Set(session.incarnations.map(i => i.ordinal)).size !== session.incarnations.length) {
      yield `session ${session.id} has two incarnations of one ordinal`;
    }
    const name = nameKey(session.project, session.name);
    if (names.has(name)) yield `two sessions are called ${session.name}`;
    names.add(name);
    if (state.sessions.names.get(name) !== session.id) yield `the name ${session.name} is not indexed`;
    if (new Set(session.agents.values()).size !== session.agents.size) {
      yield `two agents of session ${session.id} have one name`;
    }
    if (session.endedAgents.size > state.limits.endedAgentsMax)
      yield `session ${session.id} keeps more names of ended agents than it may`;
    for (const agent of session.endedAgents.keys())
      if (session.agents.has(agent)) yield `agent ${agent} of session ${session.id} is there and ended`;
    if (state.sessions.ended.has(session.id)) yield `session ${session.id} is live and ended`;
    // The process of a client that the entries name may outlive its sessions.
    const isAnchored = session.incarnations.some(i => i.anchor !== null);
    if (session.lostAt !== null && isAnchored && session.client === undefined) {
      yield `session ${session.id} has an anchor and is lost`;
    }
  }
  if (state.sessions.keptNames.size > state.limits.sessionNamesKeptMax)
    yield "more names of ended sessions are kept than may be";
  for (const id of state.sessions.keptNames.keys())
    if (state.sessions.live.has(id)) yield `the name of ${id} is kept, and it lives`;
  if (state.sessions.names.size !== names.size) yield "names of nobody are indexed";
  const fresh = rebuiltSessions(state.sessions);
  for (const name of [
    "names",
    "sortedNames",
    "places",
    "ids",
    "worktrees",
    "agents",
    "byProcess",
    "byPid",
    "suspended",
    "byNode",
  ] as const) {
    if (!isSame(state.sessions[name], fresh[name])) yield `the sessions' index ${name} is wrong`;
  }
  for (const [base, { count, from }] of state.sessions.numbered) {
    if (count !== fresh.numbered.get(base)?.count) yield `${count} names are numbered behind ${base}`;
    for (let n = 2; n < from; n += 1)
      if (!names.has(`${base}-${n}`)) yield `${base}-${n} is free, below ${from}`;
  }
  if (state.sessions.numbered.size !== fresh.numbered.size) yield "numbered names of nobody are indexed";
  const there = noSessions(new Set(), new Preimages(), new Revisions());
  for (const session of state.sessions.live.values())
    if (isPresent(state, session)) enterPresent(there, session);
  if (!isSame(state.sessions.present, there.present)) yield "who is present is noted wrong";
  yield* checkRoom(state);
}

function* checkRoom(state: BaseState): Generator<string> {
  const { live, idle, touched } = state.sessions;
  if (touched.size > 0) yield `${[...touched].join(", ")} were touched and not looked at`;
  if (live.size > state.limits.sessionsAnchoredMax) yield "there are more sessions than may be";
  let unanchored = 0;
  for (const session of live.values()) {
    const { id, incarnations } = session;
    if (incarnations.every(i => i.anchor === null)) unanchored += 1;
    if (isIdle(state, session) !== idle.has(id)) yield `whether ${id} makes room is noted wrong`;
  }
  if (unanchored > state.limits.sessionsMax) yield "there are more sessions without a process than may be";
  for (const id of idle) if (!live.has(id)) yield `${id} makes room and is not alive`;
}

/** Returns the sessions with their derived fields rebuilt. */
function rebuiltSessions({ live }: Sessions): Sessions {
  const fresh = noSessions(new Set(), new Preimages(), new Revisions());
  for (const session of live.values()) addSession(fresh, session);
  return fresh;
}
