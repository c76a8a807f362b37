/** Who acts: a session, or an agent within it. */

/** Session, or an agent within it. `incarnation` tells two terminals with the same session id apart. */
export interface Actor {
  readonly session: string;
  readonly agent: string | null;
  readonly incarnation: number;
}

/** A process that stands for a session: its end is the session's end. */
export interface Anchor {
  readonly pid: number;
  readonly startTime: string;
}

/** One string an actor; the first incarnation's main agent is just its session id. */
export function actorKey(actor: Actor): string {
  const session = actor.incarnation === 0 ? actor.session : `${actor.session}\u0001${actor.incarnation}`;
  return actor.agent === null ? session : `${session}\u0000${actor.agent}`;
}

export function sameActor(a: Actor, b: Actor): boolean {
  return a.session === b.session && a.agent === b.agent && a.incarnation === b.incarnation;
}
