/** Finds the recipients of a message. Invariant: every recipient is alive and in the sender's project. */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import { limits } from "../../../protocol/limits.ts";
import type { ActorRow } from "../../../protocol/schemas/lock.ts";
import type { Actor } from "../actor.ts";
import type { BaseState, Session } from "../base-state.ts";
import { isShared } from "../nodes/table.ts";
import {
  nameKey,
  sessionsAlike,
  sessionsNamedLike,
  sessionsOf,
  sessionsWithAgent,
} from "../sessions/table.ts";

/**
 * Returns the recipient that `to` names: by its id; else by its name (a session's, an agent's `alice/Explore` or
 * `Explore`); else by the beginning of a session's name or id. Refuses an ambiguous name with the list. `undone` says what did not happen.
 */
export function recipientOf(
  state: BaseState,
  project: string,
  to: string,
  undone = "message not sent",
): ActorRow | Refusal {
  const { live, names } = state.sessions;
  const exact = live.get(to);
  if (exact?.project === project) return rowOf(exact);
  const called = live.get(names.get(nameKey(project, to)) ?? "");
  const agents = some(agentsCalled(state, project, to));
  const elsewhere =
    isShared(state) && called === undefined ? some(sessionsOnMachines(state, project, to)) : [];
  const named = [...(called === undefined ? [] : [rowOf(called)]), ...agents, ...elsewhere.map(rowOf)];
  const found = named.length > 0 ? named : some(sessionsBegunBy(state, project, to)).map(rowOf);
  const [only, another] = found;
  if (only === undefined) return gone(state, project, to, undone);
  return another === undefined ? only : ambiguous(to, found);
}

/** Yields the sessions that are called so on their machine: in a shared log names end with the machine's, `alice@laptop`. */
function* sessionsOnMachines(
  { sessions }: BaseState,
  project: string,
  name: string,
): Generator<Session, void> {
  // A machine's name has no @, and one within a session's name is no end of it.
  for (const session of sessionsNamedLike(sessions, project, `${name}@`))
    if (!session.name.includes("@", name.length + 1)) yield session;
}

/** Yields the sessions whose name or id begins with `to`, each once. */
function* sessionsBegunBy({ sessions }: BaseState, project: string, to: string): Generator<Session, void> {
  const seen = new Set<Session>();
  for (const alike of [sessionsNamedLike, sessionsAlike])
    for (const session of alike(sessions, project, to)) {
      if (!seen.has(session)) yield session;
      seen.add(session);
    }
}

/** Returns the sender of an answered message: by its id, never by its name, which another session may have now. */
export function senderOf(
  state: BaseState,
  project: string,
  { id, agent, name }: ActorRow,
): ActorRow | Refusal {
  const session = state.sessions.live.get(id);
  if (session === undefined || session.project !== project) return gone(state, project, name);
  return agent === null ? rowOf(session) : { id, agent, name };
}

/** Returns the main agents of all other sessions of the project. */
export function everyoneElse(state: BaseState, project: string, actor: Actor | null): ActorRow[] {
  const rows: ActorRow[] = [];
  for (const session of sessionsOf(state.sessions, project))
    if (session.id !== actor?.session) rows.push(rowOf(session));
  return rows;
}

/** Returns the live actors of the project, at most `max`: main agents first, then the agents in their sessions. */
export function everyoneIn({ sessions }: BaseState, project: string, max: number): ActorRow[] {
  const main: ActorRow[] = [];
  const agents: ActorRow[] = [];
  for (const session of sessionsOf(sessions, project)) {
    if (main.length === max) break;
    main.push(rowOf(session));
    for (const [agent, name] of session.agents) {
      if (main.length + agents.length >= max) break;
      agents.push({ id: session.id, agent, name: `${session.name}/${name}` });
    }
  }
  return [...main, ...agents].slice(0, max);
}

/** Returns the key of a session's or an agent's inbox. */
export function inboxKey({ id, agent }: Pick<ActorRow, "id" | "agent">): string {
  return agent === null ? id : `${id}\u0000${agent}`;
}

/** Returns the key of an actor's inbox. */
export function inboxOf({ session, agent }: Actor): string {
  return inboxKey({ id: session, agent });
}

/** Returns the first items, at most one more than a refusal names. */
function some<T>(all: Iterable<T>): T[] {
  const found: T[] = [];
  for (const one of all) {
    found.push(one);
    if (found.length > limits.recipientsNamedMax) break;
  }
  return found;
}

function rowOf({ id, name }: Session): ActorRow {
  return { id, agent: null, name };
}

/** Yields the agents that `to` names, in the order their sessions began; those named `session/agent` come last. */
function* agentsCalled({ sessions }: BaseState, project: string, to: string): Generator<ActorRow, void> {
  const seen = new Set<Session>();
  for (const session of sessionsWithAgent(sessions, project, to)) {
    seen.add(session);
    yield* agentsOf(session, to);
  }
  // Names may contain slashes, so every slash may separate session and agent.
  for (let at = to.indexOf("/"); at !== -1; at = to.indexOf("/", at + 1)) {
    const session = sessions.live.get(sessions.names.get(nameKey(project, to.slice(0, at))) ?? "");
    if (session !== undefined && !seen.has(session)) yield* agentsOf(session, to);
    if (session !== undefined) seen.add(session);
  }
}

/** Returns the agents of a session that `to` names: by id, by name, or as `session/agent`. */
function agentsOf(session: Session, to: string): ActorRow[] {
  return [...session.agents].flatMap(([agent, name]) => {
    const full = `${session.name}/${name}`;
    return to === name || to === full || to === agent ? [{ id: session.id, agent, name: full }] : [];
  });
}

function ambiguous(to: string, found: readonly ActorRow[]): Refusal {
  const matches = found.slice(0, limits.recipientsNamedMax);
  const more = found.length > matches.length ? " and others" : "";
  // Ids are long, and a whole name says it as well if no other one has it.
  const isClear = matches.every(
    ({ name }) => name !== to && matches.filter(m => m.name === name).length === 1,
  );
  const named = ({ id, agent, name }: ActorRow) =>
    isClear ? name : `${name} (${agent === null ? id : `${id}, ${agent}`})`;
  const error = `${to} can be ${matches.map(named).join(", ")}${more}; say which by its ${isClear ? "whole name" : "id"}`;
  return refuse("recipient_ambiguous", error, { to, matches });
}

function gone(state: BaseState, project: string, to: string, undone = "message not sent"): Refusal {
  const here = some(sessionsOf(state.sessions, project));
  const names = here.slice(0, limits.recipientsNamedMax).map(s => s.name);
  const others = names.length === 0 ? "no session is active" : `active: ${names.join(", ")}`;
  const why = state.sessions.ended.has(to)
    ? `${to} has ended`
    : `no session or agent named ${to} in ${project}`;
  return refuse("recipient_gone", `${why}; ${undone}; ${others}`, { to });
}
