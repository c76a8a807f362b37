/** How agents, sessions and files are named in replies and events. */

import { refuse } from "../../../protocol/codes.ts";
import { limits } from "../../../protocol/limits.ts";
import { personsNode } from "../../../protocol/names.ts";
import type { ActorRow } from "../../../protocol/schemas/lock.ts";
import { type Actor, type FileRef, sameActor } from "../frame/actors.ts";
import type { BaseState, Token } from "./base-state.ts";
import { keepAgentNames, removeAgent, type Session } from "./sessions.ts";

// The names of the agents within a session.

/** Returns an unnamed agent's name: the first 8 characters of its id. */
export function shortId(id: string): string {
  return id.slice(0, 8);
}

/** Whether a name is only made of the agent's id: its client said none. */
export function isShortId(name: string, agent: string): boolean {
  return name === shortId(agent) || name.startsWith(`${shortId(agent)}-`);
}

/** Returns the name of an agent, also of one that ended, without its session's. */
export function agentName(state: BaseState, session: string, agent: string): string {
  const live = state.sessions.live.get(session);
  return live?.agents.get(agent) ?? live?.endedAgents.get(agent) ?? shortId(agent);
}

/** Removes an agent that ended from its session. Its name is kept, unless that is only made of its id. */
export function forgetAgent(state: BaseState, session: Session, agent: string): void {
  const name = session.agents.get(agent);
  removeAgent(state.sessions, session, agent);
  if (name !== undefined) keepNames(state, session, [[agent, name]]);
}

/** Keeps the names of agents of the session that have ended; below rules 2 none is kept. */
export function keepNames(
  state: BaseState,
  session: Session,
  names: readonly (readonly [agent: string, name: string])[],
): void {
  if (state.rules < 2) return;
  const chosenNames = names.filter(([agent, name]) => !isShortId(name, agent));
  keepAgentNames(state.sessions, session, chosenNames, state.limits.endedAgentsMax);
}

/** Returns who can answer for the actor: itself, or the main agent of its session once it has ended. */
export function answererOf({ sessions }: BaseState, actor: Actor): Actor {
  const hasEnded = actor.agent !== null && sessions.live.get(actor.session)?.endedAgents.has(actor.agent);
  return hasEnded === true ? { ...actor, agent: null } : actor;
}

/** Returns `"<storeId>.<epoch>.<grant>"`; clients compare tokens by the pair (epoch, grant). */
export function tokenText(state: BaseState, token: Token): string {
  return `${state.storeId}.${token.epoch}.${token.grant}`;
}

export function actorRow(state: BaseState, actor: Actor): ActorRow {
  const session = state.sessions.live.get(actor.session)?.name ?? actor.session.slice(0, 8);
  const again = actor.incarnation === 0 ? "" : `#${actor.incarnation + 1}`;
  const agent = actor.agent === null ? "" : `/${agentName(state, actor.session, actor.agent)}`;
  const row = { id: actor.session, agent: actor.agent, name: `${session}${again}${agent}` };
  return actor.command === undefined ? row : { ...row, command: actor.command };
}

/** Returns the row of who speaks; null: the person of the machine whose log it is. */
export function speakerRow(state: BaseState, actor: Actor | null): ActorRow | null {
  return actor === null ? null : actorRow(state, actor);
}

/** Whether the row is a person's: of this machine, or of another one of a shared project. */
export function isPerson(row: ActorRow | null): boolean {
  return row === null || personsNode(row.id) !== null;
}

/** Whether the id is of a session of another machine, as it comes from a shared project: `ID@NODE`. */
export function isElsewhere(id: string): boolean {
  return /@[\w-]{1,64}$/.test(id);
}

/** A file by its key, with the unfolded path if the key is case-folded. */
export interface Spelled {
  readonly key: string;
  readonly path?: string | undefined;
}

/** Returns the file's unfolded path, or the key's path if only the key is known. */
export function pathOf(file: Spelled): string {
  return file.path ?? (file.key.slice(file.key.indexOf(":") + 1) || "/");
}

/** Returns an event's file lists, cut at `limits.eventFilesMax`. */
export function fileLists(files: readonly Pick<FileRef, "file" | "key" | "path">[]): {
  readonly files: readonly string[];
  readonly paths: readonly string[];
  readonly more?: number;
} {
  const shown = files.slice(0, limits.eventFilesMax);
  const lists = { files: shown.map(f => f.file), paths: shown.map(f => pathOf(f)) };
  return files.length > shown.length ? { ...lists, more: files.length - shown.length } : lists;
}

// Tells whether an actor is alive, its project, and which actors work for each other.

/** An actor with the agents that it works for. */
export interface Lineage {
  readonly actor: Actor;
  readonly ancestors: readonly (string | null)[];
}

/** Whether the actor's incarnation is alive. */
export function isAlive(state: BaseState, { session, incarnation }: Actor): boolean {
  return state.sessions.live.get(session)?.incarnations.some(i => i.ordinal === incarnation) ?? false;
}

/** Returns the project of the actor's session, or undefined if the session has ended. */
export function projectOf(state: BaseState, { session }: Actor): string | undefined {
  return state.sessions.live.get(session)?.project;
}

/** Whether both are the same actor, or one works for the other. */
export function sameLineage(a: Lineage, b: Lineage): boolean {
  if (sameActor(a.actor, b.actor)) return true;
  const sameProcess = a.actor.session === b.actor.session && a.actor.incarnation === b.actor.incarnation;
  return sameProcess && (a.ancestors.includes(b.actor.agent) || b.ancestors.includes(a.actor.agent));
}

/** Refuses a request of a session, or of an incarnation, that is not alive. */
export function noSession(state: BaseState, id: string): ReturnType<typeof refuse> {
  return state.sessions.ended.has(id) || state.sessions.live.has(id)
    ? refuse("session_ended", `session ${id} has ended; register it again before it acts`)
    : unknownSession(id);
}

export function unknownSession(id: string): ReturnType<typeof refuse> {
  return refuse("unknown_session", `no session ${id} is registered; send register first`);
}
