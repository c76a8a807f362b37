/** Whom `to` means: nobody else than who lives in the sender's project. */
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { ActorRow } from "../../protocol/lock.ts";
import type { Actor } from "./entry.ts";
import type { Session, State } from "./state.ts";

/**
 * The one that `to` names: by its id; else by its name (a session's, an agent's `alice/Explore` or `Explore`); else
 * by the beginning of its id. Several of a kind are refused with the list.
 */
export function recipientOf(state: State, project: string, to: string): ActorRow | Refusal {
  const live = liveIn(state, project);
  const exact = live.find(s => s.id === to);
  if (exact !== undefined) return rowOf(exact);
  const named = [...live.filter(s => s.name === to).map(rowOf), ...live.flatMap(s => agentsOf(s, to))];
  const found = named.length > 0 ? named : live.filter(s => s.id.startsWith(to)).map(rowOf);
  const [only, another] = found;
  if (only === undefined) return gone(state, project, to, live);
  return another === undefined ? only : ambiguous(to, found);
}

/** Who wrote a message that is answered: that very session, however others are called. */
export function senderOf(state: State, project: string, { id, agent, name }: ActorRow): ActorRow | Refusal {
  const session = state.sessions.live.get(id);
  if (session === undefined || session.project !== project)
    return gone(state, project, name, liveIn(state, project));
  return agent === null ? rowOf(session) : { id, agent, name };
}

/** Every other session of the project, its main agent that is. */
export function everyoneElse(state: State, project: string, actor: Actor | null): ActorRow[] {
  return liveIn(state, project)
    .filter(s => s.id !== actor?.session)
    .map(rowOf);
}

/** A session's or an agent's inbox. */
export function inboxKey({ id, agent }: Pick<ActorRow, "id" | "agent">): string {
  return agent === null ? id : `${id}\u0000${agent}`;
}

function liveIn(state: State, project: string): Session[] {
  return [...state.sessions.live.values()].filter(s => s.project === project);
}

function rowOf({ id, name }: Session): ActorRow {
  return { id, agent: null, name };
}

/** The agents of a session that `to` names: by id, by name, or by name behind their session's. */
function agentsOf(session: Session, to: string): ActorRow[] {
  return [...session.agents].flatMap(([agent, name]) => {
    const full = `${session.name}/${name}`;
    return to === name || to === full || to === agent ? [{ id: session.id, agent, name: full }] : [];
  });
}

function ambiguous(to: string, found: readonly ActorRow[]): Refusal {
  const matches = found.slice(0, limits.recipientsNamedMax);
  const more = found.length - matches.length;
  const names = matches.map(m => `${m.name} (${m.agent === null ? m.id : `${m.id}, ${m.agent}`})`).join(", ");
  const error = `${to} can be ${names}${more > 0 ? ` or ${more} more` : ""}; say which by its id`;
  return refuse("recipient_ambiguous", error, { to, matches });
}

function gone(state: State, project: string, to: string, live: readonly Session[]): Refusal {
  const names = live.slice(0, limits.recipientsNamedMax).map(s => s.name);
  const here = names.length === 0 ? "nobody is here" : `here are ${names.join(", ")}`;
  const why = state.sessions.ended.has(to) ? "has ended" : `is nobody in ${project}`;
  return refuse("recipient_gone", `${to} ${why}, the message was not sent; ${here}`, { to });
}
