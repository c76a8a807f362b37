/** Actors and the processes behind their sessions. */

/** A session, or an agent within it. `incarnation` tells two terminals with the same session id apart. */
export interface Actor {
  readonly session: string;
  readonly agent: string | null;
  readonly incarnation: number;
}

/** The process behind an incarnation, which ends when the process does. */
export interface Anchor {
  readonly pid: number;
  readonly startTime: string;
}

/** Returns a string unique to the actor; for the main agent of the first incarnation it is the session id. */
export function actorKey(actor: Actor): string {
  const session = actor.incarnation === 0 ? actor.session : `${actor.session}\u0001${actor.incarnation}`;
  return actor.agent === null ? session : `${session}\u0000${actor.agent}`;
}

export function sameActor(a: Actor, b: Actor): boolean {
  return a.session === b.session && a.agent === b.agent && a.incarnation === b.incarnation;
}
